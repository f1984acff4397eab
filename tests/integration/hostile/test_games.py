"""Every game under assault: near-commands, old requests, and what belongs to another match or another game."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Mapping
from typing import Any

import pytest
from google.protobuf.message_factory import GetMessageClass

from promontory.codec.registry import codec
from promontory.local.platform import Platform
from promontory.rules.audit import audit, shipped_rulesets
from tests.support.assault import PLAYERS, Assault, assail
from tests.support.hostile import GAME_NAMES, METHODS, Attacker, attacking, failure

PAIRS = [(game, other) for game in GAME_NAMES for other in GAME_NAMES if game != other]
RESIGN: dict[str, Any] = {"commands": [{"resign": {}}]}
OF_A_MATCH = [
    (f"{game}.{method.name}", other)
    for game, other in PAIRS
    for method in codec(game).service.methods
    if "match_id" in method.input_type.fields_by_name
]


@pytest.fixture(scope="module")
def assaults(platform: Platform) -> Mapping[str, Assault]:
    """For each game a match that was under assault, and is over."""

    async def play() -> list[Assault]:
        async with attacking(platform) as attacker:
            return [await assail(attacker, game, uuid.uuid4().hex) for game in GAME_NAMES]

    return {assault.game: assault for assault in asyncio.run(play())}


@pytest.fixture(params=GAME_NAMES)
def assault(assaults: Mapping[str, Assault], request: pytest.FixtureRequest) -> Assault:
    """A match of each game."""
    return assaults[request.param]


def changed(assault: Assault, request: bytes, **fields: Any) -> bytes:
    """Return a submission with other `fields`."""
    message: Any = GetMessageClass(METHODS[f"{assault.game}.SubmitCommand"].input_type).FromString(request)
    for field in fields:
        message.ClearField(field)
    message.MergeFrom(type(message)(**fields))
    raw: bytes = message.SerializeToString()
    return raw


async def exported(attacker: Attacker, assault: Assault) -> bytes:
    method = METHODS[f"{assault.game}.ExportMatch"]
    path = f"/{method.containing_service.full_name}/{method.name}"
    request = GetMessageClass(method.input_type)(match_id=assault.match_id).SerializeToString()
    call = attacker.channels[assault.game].unary_stream(path, None, None)(request, metadata=attacker.player("eve"))
    return b"".join([GetMessageClass(method.output_type).FromString(raw).chunk async for raw in call])


async def test_the_log_of_a_match_under_assault_verifies(attacker: Attacker, assault: Assault) -> None:
    """[event_log 2.7] Near-commands are refused in the platform's words, or are commands; nothing is there twice."""
    log = await exported(attacker, assault)
    ids = [line["command_id"] for line in map(json.loads, log.splitlines()) if "command_id" in line]
    assert (audit(log, shipped_rulesets()).ok, len(set(ids))) == (True, len(ids))
    assert len(assault.given) > 10


async def test_old_requests_get_their_first_answers(attacker: Attacker, assault: Assault) -> None:
    """[SubmitCommand] To the byte, when all is long over."""
    name = f"{assault.game}.SubmitCommand"
    again = [await attacker.send(name, each.request, attacker.player(each.player)) for each in assault.given]
    assert again == [each.answer for each in assault.given]


async def test_old_requests_are_nobody_elses(attacker: Attacker, assault: Assault) -> None:
    """[SEAT_NOT_YOURS] The answer to it is its seat's."""
    name, given = f"{assault.game}.SubmitCommand", assault.given[0]
    refused = await failure(attacker.send(name, given.request, attacker.player("eve")))
    assert (refused.code, refused.reason) == ("PERMISSION_DENIED", "SEAT_NOT_YOURS")


async def test_old_request_ids_do_not_stand_for_other_commands(attacker: Attacker, assault: Assault) -> None:
    """[REQUEST_ID_REUSED] Whatever the rules say of the other commands by now."""
    name, given = f"{assault.game}.SubmitCommand", assault.given[0]
    request = changed(assault, given.request, **RESIGN)
    refused = await failure(attacker.send(name, request, attacker.player(given.player)))
    assert (refused.code, refused.reason) == ("INVALID_ARGUMENT", "REQUEST_ID_REUSED")


@pytest.mark.parametrize("method", ["SubmitCommand", "PreviewCommand", "Resign"])
@pytest.mark.parametrize("seat", [0, 1])
async def test_nothing_is_taken_once_a_match_is_over(
    attacker: Attacker, assault: Assault, method: str, seat: int
) -> None:
    """[MATCH_OVER] From either seat."""
    name, fields = f"{assault.game}.{method}", {"match_id": assault.match_id, "seat": seat}
    known = METHODS[name].input_type.fields_by_name
    fields |= {field: value for field, value in {**RESIGN, "request_id": "late"}.items() if field in known}
    refused = await attacker.refused(name, attacker.player(PLAYERS[seat]), **fields)
    assert (refused.code, refused.reason) == ("FAILED_PRECONDITION", "MATCH_OVER")


@pytest.mark.parametrize(("game", "other"), PAIRS)
async def test_commands_of_another_game_are_refused_or_mean_something_here(
    attacker: Attacker, assaults: Mapping[str, Assault], game: str, other: str
) -> None:
    """[style 7] Their bytes may be a command here, too; then the match has gone on, and its log verifies."""
    match = Assault(game, await attacker.new_match(uuid.uuid4().hex, *PLAYERS, game=game))
    submit = f"{game}.SubmitCommand"
    for given in assaults[other].given:
        request = changed(assaults[other], given.request, match_id=match.match_id)
        await attacker.attempt(submit, request, attacker.player(given.player))
    resignation = {"match_id": match.match_id, "seat": 0, "request_id": "end", **RESIGN}
    await attacker.attempt(submit, changed(match, b"", **resignation), attacker.player(PLAYERS[0]))
    assert audit(await exported(attacker, match), shipped_rulesets()).ok


@pytest.mark.parametrize(("method", "other"), OF_A_MATCH)
async def test_matches_of_another_game_are_not_found(
    attacker: Attacker, matches: Mapping[str, str], method: str, other: str
) -> None:
    """[MATCH_NOT_FOUND] Each service knows the matches of its own game, whoever asks."""
    known = METHODS[method].input_type.fields_by_name
    usual = {"match_id": matches[other], "request_id": "x", "since_version": 1, **RESIGN}
    fields = {name: value for name, value in usual.items() if name in known}
    refused = await attacker.refused(method, attacker.service(), **fields)
    assert (refused.code, refused.reason) == ("NOT_FOUND", "MATCH_NOT_FOUND")
