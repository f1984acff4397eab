"""Requests that are malformed in every way: each is refused with a listed reason, and nothing else happens."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

import pytest

from promontory.api.match.v1 import match_pb2
from promontory.runtime.identity import SERVICE_SCOPES, Scope
from tests.support.hostile import GAME_NAMES, METHODS, Attacker, failure

BYTES = {
    "garbage": b"\xff" * 50,
    "truncated": b"\x0a\x7f",
    "nested without end": b"\x0b" * 60_000,
    "too large": bytes(100_000),
}
LONG = {"ascii": "a" * 60_000, "two bytes each": "é" * 30_000, "quotes": "'\"\\" * 20_000}
ODD = ["", "../../etc/passwd", "{x}", "a|b", "a\nb", "a\0b", "☃", "*", "tc-", "tc-zzz-aa", "tc-{x}-a", "TC-000-a"]
READING = ["GetMatch", "WatchMatch", "ListMatchEvents", "ExportMatch"]
NAMES = {
    **{f"{game}.{method}": "match_id" for game in GAME_NAMES for method in READING},
    "matchmaking.GetTicket": "ticket_id",
    "matchmaking.WatchTicket": "ticket_id",
    "matchmaking.CancelTicket": "ticket_id",
    "matchmaking.CreateTicket": "pool",
    "lobby.GetTable": "table_id",
    "lobby.JoinTable": "invite_code",
    "lobby.CreateTable": "game",
    "scoring.GetRating": "pool",
    "scoring.ListLeaderboard": "pool",
    "scoring.ListRatingHistory": "player_id",
    "admin.InspectMatch": "match_id",
    "admin.CancelMatch": "match_id",
    "admin.ReleaseObligation": "name",
    "admin.DropObligation": "name",
    "admin.SuspendPlayer": "player_id",
    "admin.DrainReplica": "replica_id",
}
INTEGERS = [-1, 2, 2**31 - 1, -(2**31)]
SEATED = ["GetMatch", "WatchMatch", "ListMatchEvents", "ListLegalCommands", "PreviewCommand", "SubmitCommand", "Resign"]
VERSIONS = {"GetMatch": "version", "WatchMatch": "after_version", "SubmitCommand": "expected_version"}
VERSIONED = {f"{game}.{method}": field for game in GAME_NAMES for method, field in VERSIONS.items()}
PAGED = [
    *(f"{game}.ListMatchEvents" for game in GAME_NAMES),
    *("lobby.ListMatches", "scoring.ListLeaderboard", "admin.ListActs", "admin.ListObligations"),
]
RESIGN: dict[str, Any] = {"resign": {}}

every_seat_method = pytest.mark.parametrize("method", [f"{game}.{method}" for game in GAME_NAMES for method in SEATED])


def request_of(method: str, matches: Mapping[str, str], **fields: Any) -> dict[str, Any]:
    """Return `fields` with what else a request of `method` needs."""
    names = METHODS[method].input_type.fields_by_name
    match_id = matches.get(method.partition(".")[0], "")
    usual = {"match_id": match_id, "request_id": "hostile", "commands": [RESIGN]}
    return {**{name: value for name, value in usual.items() if name in names}, **fields}


def intent(method: str) -> dict[str, Any]:
    """Return what names an intent that nobody had before, as far as a request of `method` does."""
    usual = {"reason": "hostile", "request_id": uuid.uuid4().hex}
    return {name: value for name, value in usual.items() if name in METHODS[method].input_type.fields_by_name}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("request_bytes", BYTES.values(), ids=BYTES)
async def test_bytes_that_are_no_request_are_refused(attacker: Attacker, method: str, request_bytes: bytes) -> None:
    """[style 7] Every failure has one ErrorInfo, with a listed reason and no text of Python's."""
    refused = await failure(attacker.send(method, request_bytes, attacker.stranger(method)))
    assert refused.code in {"INVALID_ARGUMENT", "RESOURCE_EXHAUSTED"}


@pytest.mark.parametrize(("method", "field"), NAMES.items())
@pytest.mark.parametrize("name", [*LONG.values(), *ODD], ids=[*LONG, *map(ascii, ODD)])
async def test_names_that_nothing_has_are_refused_with_a_status_that_arrives(
    attacker: Attacker, method: str, field: str, name: str
) -> None:
    """What a request says is not told back so broadly that the transport drops the whole status."""
    refused = await attacker.refused(method, attacker.stranger(method), **{**intent(method), field: name})
    assert refused.code in {"INVALID_ARGUMENT", "NOT_FOUND"}


@pytest.mark.parametrize(("method", "field"), NAMES.items())
async def test_names_that_are_no_text_are_refused(attacker: Attacker, method: str, field: str) -> None:
    """Invalid UTF-8 is no request."""
    number = METHODS[method].input_type.fields_by_name[field].number
    refused = await failure(attacker.send(method, bytes([number << 3 | 2, 2]) + b"\xc3\x28", attacker.stranger(method)))
    assert (refused.code, refused.reason) == ("INVALID_ARGUMENT", "BAD_REQUEST")


@pytest.mark.parametrize("game", GAME_NAMES)
async def test_a_creation_with_a_thousand_faults_is_refused_with_a_status_that_arrives(
    attacker: Attacker, game: str
) -> None:
    """One violation for each fault, but not without end."""
    setup = match_pb2.MatchSetup(seats=[match_pb2.SeatSetup(client_entropy=bytes(33))] * 1000)
    refused = await attacker.refused(f"{game}.CreateMatch", attacker.service(), request_id="faulty", setup=setup)
    assert (refused.code, refused.reason) == ("INVALID_ARGUMENT", "BAD_REQUEST")


@every_seat_method
@pytest.mark.parametrize("seat", INTEGERS)
async def test_seats_that_no_match_has_are_refused(
    attacker: Attacker, matches: Mapping[str, str], method: str, seat: int
) -> None:
    """[SEAT_OUT_OF_RANGE] From 0 to the last one."""
    refused = await attacker.refused(method, attacker.player("ada"), **request_of(method, matches, seat=seat))
    assert (refused.code, refused.reason) == ("INVALID_ARGUMENT", "SEAT_OUT_OF_RANGE")


@every_seat_method
@pytest.mark.parametrize("who", ["ben", "eve"])
async def test_nobody_looks_or_acts_from_the_seat_of_another(
    attacker: Attacker, matches: Mapping[str, str], method: str, who: str
) -> None:
    """[SEAT_NOT_YOURS] Neither the opponent nor a spectator, with whatever method."""
    refused = await attacker.refused(method, attacker.player(who), **request_of(method, matches, seat=0))
    assert (refused.code, refused.reason) == ("PERMISSION_DENIED", "SEAT_NOT_YOURS")


@every_seat_method
async def test_no_service_looks_or_acts_from_the_seat_of_a_player(
    attacker: Attacker, matches: Mapping[str, str], method: str
) -> None:
    """[event_log 5.1] The binding of seat and subject comes from the log, but for players who are to be forgotten."""
    service = attacker.service(SERVICE_SCOPES - {Scope.FORGET_PLAYER})
    refused = await attacker.refused(method, service, **request_of(method, matches, seat=0))
    assert (refused.code, refused.reason) == ("PERMISSION_DENIED", "SEAT_NOT_YOURS")


@pytest.mark.parametrize("version", [0, -1, -(2**63), 2, 2**63 - 1])
@pytest.mark.parametrize(("method", "field"), VERSIONED.items())
async def test_versions_that_a_match_has_not_are_refused(
    attacker: Attacker, matches: Mapping[str, str], method: str, field: str, version: int
) -> None:
    """[VERSION_OUT_OF_RANGE] From 1 to the last one."""
    fields = request_of(method, matches, **{"seat": 0, field: version})
    refused = await attacker.refused(method, attacker.player("ada"), **fields)
    assert refused.code == "INVALID_ARGUMENT"


@pytest.mark.parametrize("size", [-1, 501, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("method", PAGED)
async def test_pages_of_impossible_sizes_are_refused(
    attacker: Attacker, matches: Mapping[str, str], method: str, size: int
) -> None:
    """[BAD_REQUEST] The most entries to return have a limit."""
    pool = {"pool": "transcontinental.ranked"} if method.startswith("scoring") else {}
    fields = request_of(method, matches, page_size=size, **pool)
    assert (await attacker.refused(method, attacker.ada(method), **fields)).reason == "BAD_REQUEST"


@pytest.mark.parametrize("token", ["x", "1-abc", "AAAA", "====", "☃", "-1", "٣", "A" * 28, "A" * 60_000])
@pytest.mark.parametrize("method", PAGED)
async def test_forged_page_tokens_are_refused(
    attacker: Attacker, matches: Mapping[str, str], method: str, token: str
) -> None:
    """[PAGE_TOKEN_INVALID] Not one of this list's."""
    pool = {"pool": "transcontinental.ranked"} if method.startswith("scoring") else {}
    fields = request_of(method, matches, page_token=token, **pool)
    assert (await attacker.refused(method, attacker.ada(method), **fields)).reason == "PAGE_TOKEN_INVALID"
