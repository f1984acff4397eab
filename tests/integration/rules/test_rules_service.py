"""The rules service over real gRPC on a real server: answers, refusals, and what must never pass."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from google.protobuf.message_factory import GetMessageClass

from promontory.codec.transcontinental import CODEC
from promontory.games.transcontinental.commands import DrawCard, EndWork, PlayMeld, Resign
from promontory.games.transcontinental.vocabulary import Source
from promontory.rules.audit import audit, shipped_rulesets
from promontory.rules.domain import SeatKind, SeatSetup, Setup
from promontory.rules.records import setup_message
from tests.support.rules_servers import DESCRIPTOR, METHODS, STREAMS, TWO_PLAYERS, Client
from tests.support.serving import reason_of
from tests.support.transcontinental import seeded

ClientOf = Callable[..., Client]
DRAW = DrawCard(0, Source.DECK)
NO_MATCH = "tc-000-" + "a" * 26


async def refusal(awaitable: Any) -> tuple[str, str]:
    """Return code and reason of a call that must fail."""
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await awaitable
    return error.value.code().name, reason_of(error.value)


async def first_of(stream: Any) -> Any:
    return await anext(aiter(stream))


async def test_a_match_is_created_shown_and_played(client_of: ClientOf, match_id: str) -> None:
    """[architecture 3] CreateMatch, GetMatch, ListLegalCommands, SubmitCommand."""
    ada = client_of("ada")
    shown = await ada.call("GetMatch", match_id=match_id, seat=0)
    legal = await ada.call("ListLegalCommands", match_id=match_id, seat=0)
    done = await ada.submit(match_id, DRAW, request_id="1", expected=shown.match.version)
    assert (shown.match.version, len(shown.view.hand_card_ids), list(shown.match.seats_to_act)) == (1, 10, [0])
    assert (legal.version, legal.legal) == (1, shown.view.legal)
    assert (done.version, len(done.view.hand_card_ids), done.match.version) == (2, 11, 2)
    assert {done.events[0].card_drawn.card_id} == {*done.view.hand_card_ids} - {*shown.view.hand_card_ids}


async def test_a_repeated_creation_returns_the_same_match_on_any_replica(client_of: ClientOf) -> None:
    """[CreateMatch] The id of the match follows from caller and request id."""
    request = {"request_id": "one match", "setup": setup_message(TWO_PLAYERS)}
    responses = await asyncio.gather(
        *(client_of("platform", replica=each % 2).call("CreateMatch", **request) for each in range(6))
    )
    assert len({response.SerializeToString() for response in responses}) == 1


async def test_a_creation_with_other_content_is_refused(client_of: ClientOf) -> None:
    """[REQUEST_ID_REUSED] Take a new id for a new intent."""
    platform = client_of("platform")
    await platform.create("reused")
    other = Setup(TWO_PLAYERS.seats, draw_start=True)
    assert await refusal(platform.create("reused", other)) == ("INVALID_ARGUMENT", "REQUEST_ID_REUSED")


async def test_a_seat_of_unknown_kind_is_a_bad_request(client_of: ClientOf) -> None:
    """Enums are closed by validation."""
    setup = setup_message(TWO_PLAYERS)
    setup.seats[0].kind = 9  # type: ignore[assignment]
    call = client_of("platform").call("CreateMatch", request_id="x", setup=setup)
    assert await refusal(call) == ("INVALID_ARGUMENT", "BAD_REQUEST")


async def test_a_repeated_submission_returns_the_same_bytes(client_of: ClientOf, match_id: str) -> None:
    """[SubmitCommand] Repeating it returns the first answer, however late, on any replica."""
    ada, other = client_of("ada"), client_of("ada", replica=1)
    first = await ada.submit(match_id, DRAW, request_id="once")
    await ada.submit(match_id, EndWork(0), request_id="then")
    await ada.call("Resign", match_id=match_id, seat=0, request_id="enough")
    assert await other.submit(match_id, DRAW, request_id="once") == first
    assert await ada.submit(match_id, DRAW, request_id="once") == first


async def test_a_submission_repeated_many_times_at_once_happens_once(client_of: ClientOf, match_id: str) -> None:
    """[R15] Effects = 1."""
    clients = [client_of("ada", replica=number % 2) for number in range(16)]
    answers = await asyncio.gather(*(each.submit(match_id, DRAW, request_id="once") for each in clients))
    assert len({answer.SerializeToString(deterministic=True) for answer in answers}) == 1
    assert (await clients[0].call("GetMatch", match_id=match_id)).match.version == 2


async def test_two_replicas_that_race_on_one_match_make_one_log(client_of: ClientOf, match_id: str) -> None:
    """[event_log O5] What is acknowledged is a total order; the losers are judged anew."""
    rivals = [client_of("ada", replica=number % 2) for number in range(8)]
    results = await asyncio.gather(
        *(each.submit(match_id, DRAW, request_id=f"{number}") for number, each in enumerate(rivals)),
        return_exceptions=True,
    )
    lost = [reason_of(result) for result in results if isinstance(result, grpc.aio.AioRpcError)]
    assert lost == ["WRONG_PHASE"] * 7
    assert (await rivals[0].call("GetMatch", match_id=match_id)).match.version == 2


async def test_a_refusal_says_why_and_cites_the_rule(client_of: ClientOf, match_id: str) -> None:
    """[style 7] FAILED_PRECONDITION for what a rule forbids now."""
    call = client_of("ada").submit(match_id, EndWork(0), request_id="1")
    assert await refusal(call) == ("FAILED_PRECONDITION", "WRONG_PHASE")


async def test_the_expected_version_is_kept_to(client_of: ClientOf, match_id: str) -> None:
    """[style 7] ABORTED when someone acted first; INVALID_ARGUMENT for a version still to come or none."""
    ada = client_of("ada")
    await ada.submit(match_id, DRAW, request_id="1")
    old = ada.submit(match_id, EndWork(0), request_id="2", expected=1)
    assert await refusal(old) == ("ABORTED", "VERSION_CONFLICT")
    ahead = ada.submit(match_id, EndWork(0), request_id="3", expected=9)
    assert await refusal(ahead) == ("INVALID_ARGUMENT", "VERSION_OUT_OF_RANGE")
    zero = ada.submit(match_id, EndWork(0), request_id="4", expected=0)
    assert await refusal(zero) == ("INVALID_ARGUMENT", "BAD_REQUEST")


async def test_a_preview_tells_and_changes_nothing(client_of: ClientOf, match_id: str) -> None:
    """[PreviewCommand] Ends where chance or hidden cards come in."""
    ada = client_of("ada")
    draw = await ada.call("PreviewCommand", match_id=match_id, seat=0, commands=[CODEC.encode_command(DRAW)])
    assert (draw.version, len(draw.events), draw.ends_early) == (1, 0, True)
    await ada.submit(match_id, DRAW, request_id="1")
    end = await ada.call("PreviewCommand", match_id=match_id, seat=0, commands=[CODEC.encode_command(EndWork(0))])
    assert (end.version, len(end.events), end.ends_early) == (2, 1, False)
    assert (await ada.call("GetMatch", match_id=match_id)).match.version == 2


async def test_a_closed_match_takes_no_commands_and_shows_everything(client_of: ClientOf, match_id: str) -> None:
    """[MATCH_OVER] Its outcome stands in the match; the seed is published, the log is shown in full and exported."""
    ada, eve = client_of("ada"), client_of("eve")
    open_export = first_of(eve.stream("ExportMatch", match_id=match_id))
    assert await refusal(open_export) == ("FAILED_PRECONDITION", "MATCH_OPEN")
    before = await eve.call("ListMatchEvents", match_id=match_id)
    resigned = await client_of("ben").call("Resign", match_id=match_id, seat=1, request_id="enough")
    late = await refusal(ada.submit(match_id, DRAW, request_id="late"))
    after = await eve.call("ListMatchEvents", match_id=match_id)
    assert late == ("FAILED_PRECONDITION", "MATCH_OVER")
    assert (len(resigned.match.fairness.server_seed), resigned.match.outcome.placements[0].place) == (32, 1)
    assert [len(page.commits[0].events[1].deck_shuffled.card_ids) for page in (before, after)] == [0, 77]


async def test_an_exported_match_passes_the_audit(client_of: ClientOf, match_id: str) -> None:
    """[fairness 5] With the closed log and nothing else."""
    ada = client_of("ada")
    await ada.submit(match_id, DRAW, request_id="1")
    await ada.submit(match_id, EndWork(0), request_id="2")
    await ada.call("Resign", match_id=match_id, seat=0, request_id="3")
    report = audit(await client_of("eve").export(match_id), shipped_rulesets())
    assert (report.cause, report.commits, report.places) == (None, 4, (2, 1))


async def test_a_house_bots_seat_is_played_by_the_platform(client_of: ClientOf) -> None:
    """[event_log 2.9] Bots submit by the same public API, under the service's identity."""
    platform = client_of("platform")
    setup = Setup((SeatSetup("bot:1", SeatKind.HOUSE_BOT, "greedy"), SeatSetup("ben")))
    match_id = await platform.create("against the house", setup)
    played = await platform.call("PlayAutomatically", match_id=match_id, seat=0, since_version=1, request_id="late")
    done = await platform.submit(match_id, EndWork(0), request_id="bot")
    assert (played.version, played.played, done.version) == (2, True, 3)
    theirs = client_of("bot:1").submit(match_id, EndWork(0), request_id="x")
    assert await refusal(theirs) == ("PERMISSION_DENIED", "SEAT_NOT_YOURS")


def request_for(method: str, match_id: str, seat: int) -> dict[str, Any]:
    """Return the fields of a well-formed request of `method`."""
    fields: dict[str, Any] = {
        "match_id": match_id,
        "seat": seat,
        "request_id": "r",
        "setup": setup_message(TWO_PLAYERS),
    }
    fields["since_version"] = 1
    fields["data_hash"] = bytes(32)
    fields["version"] = fields["ending"] = 1
    known = GetMessageClass(DESCRIPTOR.methods_by_name[method].input_type).DESCRIPTOR.fields_by_name
    if "commands" in known:
        fields["commands"] = [CODEC.encode_command(DrawCard(seat, Source.DECK))]
    return {name: value for name, value in fields.items() if name in known}


async def answer_to(client: Client, method: str, fields: dict[str, Any]) -> Any:
    if method in STREAMS:
        return await first_of(client.stream(method, **fields))
    return await client.call(method, **fields)


SEATED = [method for method in METHODS if "seat" in DESCRIPTOR.methods_by_name[method].input_type.fields_by_name]
MATCHED = [method for method in METHODS if method not in ("CreateMatch", "GetGameData")]


@pytest.mark.parametrize("method", SEATED)
@pytest.mark.parametrize("name", ["ben", "eve", "platform"])
async def test_no_method_serves_a_seat_to_anyone_but_its_player(
    client_of: ClientOf, match_id: str, method: str, name: str
) -> None:
    """[event_log 5.1] The matrix of methods and roles: no unexpected OK."""
    code, reason = await refusal(answer_to(client_of(name), method, request_for(method, match_id, 0)))
    assert (code, reason) in {
        ("PERMISSION_DENIED", "SEAT_NOT_YOURS"),
        ("PERMISSION_DENIED", "SCOPE_MISSING"),
        ("FAILED_PRECONDITION", "NOT_A_HOUSE_BOT"),
    }
    assert (await client_of("eve").call("GetMatch", match_id=match_id)).match.version == 1


@pytest.mark.parametrize("method", SEATED)
@pytest.mark.parametrize("seat", [-1, 2, 2**31 - 1])
async def test_no_method_serves_a_seat_that_does_not_exist(
    client_of: ClientOf, match_id: str, method: str, seat: int
) -> None:
    """[SEAT_OUT_OF_RANGE] See the match's seats."""
    caller = client_of("platform" if method == "PlayAutomatically" else "ada")
    call = answer_to(caller, method, request_for(method, match_id, seat))
    assert await refusal(call) == ("INVALID_ARGUMENT", "SEAT_OUT_OF_RANGE")


@pytest.mark.parametrize("method", MATCHED)
@pytest.mark.parametrize(("match_id", "expected"), [(NO_MATCH, "MATCH_NOT_FOUND"), ("No Match", "BAD_REQUEST")])
async def test_no_method_finds_a_match_that_does_not_exist(
    client_of: ClientOf, method: str, match_id: str, expected: str
) -> None:
    """[MATCH_NOT_FOUND] A read never creates anything."""
    caller = client_of("platform" if method in ("PlayAutomatically", "EnforceClock", "CancelMatch") else "ada")
    assert (await refusal(answer_to(caller, method, request_for(method, match_id, 0))))[1] == expected


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("metadata", [(), (("authorization", "Bearer x.y.z"),), (("authorization", "Basic abc"),)])
async def test_no_method_answers_without_a_token_that_verifies(
    client_of: ClientOf, match_id: str, method: str, metadata: Any
) -> None:
    """[TOKEN_INVALID] Get a new token."""
    nobody = Client(client_of("ada").channel, metadata)
    call = answer_to(nobody, method, request_for(method, match_id, 0))
    assert await refusal(call) == ("UNAUTHENTICATED", "TOKEN_INVALID")


@pytest.mark.parametrize("method", ["CreateMatch", *MATCHED])
async def test_bytes_that_are_no_request_are_refused_and_change_nothing(
    client_of: ClientOf, match_id: str, method: str
) -> None:
    """[R20] No crash, no INTERNAL status, no state change on rejection."""
    random, ada = seeded(METHODS.index(method)), client_of("ada")
    codes = set()
    for _ in range(40):
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await ada.raw(method, random.randbytes(random.randint(1, 60)))
        codes.add(error.value.code().name)
    assert codes <= {"INVALID_ARGUMENT", "PERMISSION_DENIED", "NOT_FOUND"}
    assert (await ada.call("GetMatch", match_id=match_id)).match.version == 1


@pytest.mark.parametrize("method", METHODS)
async def test_requests_with_flipped_bits_are_refused_or_answered_but_never_a_fault(
    client_of: ClientOf, match_id: str, method: str
) -> None:
    """[R20] Structure-aware mutation: never INTERNAL, never UNKNOWN."""
    random, ada = seeded(METHODS.index(method)), client_of("ada")
    fields = request_for(method, match_id, 0)
    whole = GetMessageClass(DESCRIPTOR.methods_by_name[method].input_type)(**fields).SerializeToString()
    codes = set()
    for _ in range(40):
        changed = bytearray(whole)
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
        codes.add(await code_of(ada, method, bytes(changed)))
    assert not codes & {"INTERNAL", "UNKNOWN", "UNAVAILABLE"}


async def code_of(client: Client, method: str, request: bytes) -> str:
    try:
        await client.raw(method, request)
    except grpc.aio.AioRpcError as error:
        return str(error.code().name)
    return "OK"


async def test_a_request_that_is_too_large_is_refused(client_of: ClientOf, match_id: str) -> None:
    """[event_log 5.2] At most 64 KiB; what the transport itself refuses has the same code."""
    ada = client_of("ada")
    large = ada.submit(match_id, PlayMeld(0, ("x" * 100_000,)), request_id="1")
    assert await refusal(large) == ("RESOURCE_EXHAUSTED", "LIMIT_REACHED")
    assert await code_of(ada, "SubmitCommand", bytes(10_000_000)) == "RESOURCE_EXHAUSTED"


async def test_an_unknown_command_and_no_command_and_too_many_are_bad_requests(
    client_of: ClientOf, match_id: str
) -> None:
    """[SubmitCommand] 1 to 16 commands, each of exactly one kind."""
    ada = client_of("ada")
    fields = {"match_id": match_id, "seat": 0, "request_id": "x"}
    cases: list[list[dict[str, Any]]] = [[], [{}], [{"resign": {}}] * 17]
    for commands in cases:
        call = ada.call("SubmitCommand", commands=commands, **fields)
        assert await refusal(call) == ("INVALID_ARGUMENT", "BAD_REQUEST")


@pytest.mark.parametrize("request_id", ["", "x" * 129, "tab\t", "ü"])
async def test_a_request_id_that_is_none_is_a_bad_request(client_of: ClientOf, match_id: str, request_id: str) -> None:
    """1 to 128 printable ASCII characters."""
    ada = client_of("ada")
    assert (await refusal(ada.submit(match_id, DRAW, request_id=request_id)))[1] == "BAD_REQUEST"
    assert (await refusal(ada.call("Resign", match_id=match_id, seat=0, request_id=request_id)))[1] == "BAD_REQUEST"


async def test_an_unknown_card_is_a_bad_request_that_names_it(client_of: ClientOf, match_id: str) -> None:
    """[UNKNOWN_CARD] A card id names no card of the deck."""
    ada = client_of("ada")
    call = ada.submit(match_id, PlayMeld(0, ("no card",)), request_id="1")
    assert await refusal(call) == ("INVALID_ARGUMENT", "UNKNOWN_CARD")


async def test_a_resignation_is_accepted_once_and_again(client_of: ClientOf, match_id: str) -> None:
    """[Resign] Idempotent, also together with the command of the same name."""
    ada = client_of("ada")
    first = await ada.call("Resign", match_id=match_id, seat=0, request_id="1")
    again = await ada.call("Resign", match_id=match_id, seat=0, request_id="1")
    same = await ada.submit(match_id, Resign(0), request_id="1")
    assert (again, same.version, same.match) == (first, first.version, first.match)
