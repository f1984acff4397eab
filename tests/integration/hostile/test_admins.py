"""What only admins may do, and only admins' service: tried by everybody else, and again under old request ids."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from promontory.runtime.identity import ADMIN_AUDIENCE, SERVICE_SCOPES, Scope
from tests.integration.hostile.test_identity import good
from tests.support.hostile import GAME_NAMES, METHODS, Attacker, bearer
from tests.support.serving import Metadata

ADMINS_ONLY = [method for method in METHODS if method.startswith("admin.")]
BESIDE = [method for method in METHODS if method.startswith("replica.")]
Who = Callable[[Attacker], Metadata]

NO_ADMINS: dict[str, tuple[Who, str]] = {
    "player": (lambda attacker: attacker.player("ada"), "TOKEN_INVALID"),
    "player with the scope": (lambda attacker: bearer(good(attacker.player_key, scope="admin")), "TOKEN_INVALID"),
    "admin without the scope": (
        lambda attacker: bearer(good(attacker.player_key, aud=ADMIN_AUDIENCE)),
        "SCOPE_MISSING",
    ),
    "service": (lambda attacker: attacker.service(), "TOKEN_INVALID"),
    "service for the audience": (
        lambda attacker: bearer(_of_service(attacker, aud=ADMIN_AUDIENCE)),
        "SCOPE_MISSING",
    ),
}
NOT_ADMINS_SERVICE: dict[str, tuple[Who, str]] = {
    "player with the scope": (
        lambda attacker: bearer(good(attacker.player_key, scope="replica:drain")),
        "SCOPE_MISSING",
    ),
    "admin": (lambda attacker: attacker.admin(), "TOKEN_INVALID"),
    "service without the scope": (
        lambda attacker: attacker.service(SERVICE_SCOPES - {Scope.DRAIN_REPLICA}),
        "SCOPE_MISSING",
    ),
}


def _of_service(attacker: Attacker, **changed: Any) -> str:
    own = {"sub": "service:test", "iss": "promontory-services", "scope": "admin"}
    return good(attacker.service_key, **own, **changed)


@pytest.mark.parametrize("method", ADMINS_ONLY)
@pytest.mark.parametrize(("who", "reason"), NO_ADMINS.values(), ids=NO_ADMINS)
async def test_nobody_else_is_an_admin(attacker: Attacker, method: str, who: Who, reason: str) -> None:
    """[event_log 5.1] Neither by a scope nor by an audience alone, and no service at all."""
    assert (await attacker.refused(method, who(attacker))).reason == reason


@pytest.mark.parametrize("method", BESIDE)
@pytest.mark.parametrize(("who", "reason"), NOT_ADMINS_SERVICE.values(), ids=NOT_ADMINS_SERVICE)
async def test_only_admins_service_looks_at_processes_and_drains_them(
    attacker: Attacker, method: str, who: Who, reason: str
) -> None:
    """[ReplicaService] Not an admin's own token either, since the act would be on no record."""
    assert (await attacker.refused(method, who(attacker))).reason == reason


@pytest.mark.parametrize("name", ["", "scoring-00000000", "a" * 60_000])
async def test_a_process_is_not_drained_by_the_name_of_another(attacker: Attacker, name: str) -> None:
    """[REPLICA_UNKNOWN] What was at its address before is gone already."""
    refused = await attacker.refused("replica.Drain", attacker.service(), replica_id=name)
    assert (refused.code, refused.reason) == ("NOT_FOUND", "REPLICA_UNKNOWN")


@pytest.mark.parametrize("game", GAME_NAMES)
async def test_a_cancellation_s_request_id_does_not_stand_for_another(attacker: Attacker, game: str) -> None:
    """[REQUEST_ID_REUSED] The same again is answered as before, although the match is over."""
    match_id = await attacker.new_match(uuid.uuid4().hex, "ada", "ben", game=game)
    fields = {"match_id": match_id, "note": "sorry", "request_id": "once"}
    first = await attacker.call(f"{game}.CancelMatch", attacker.service(), **fields)
    assert await attacker.call(f"{game}.CancelMatch", attacker.service(), **fields) == first
    refused = await attacker.refused(f"{game}.CancelMatch", attacker.service(), **{**fields, "note": "not sorry"})
    assert (refused.code, refused.reason) == ("INVALID_ARGUMENT", "REQUEST_ID_REUSED")
    refused = await attacker.refused(f"{game}.CancelMatch", attacker.service(), **{**fields, "request_id": "twice"})
    assert (refused.code, refused.reason) == ("FAILED_PRECONDITION", "MATCH_OVER")


OTHERWISE: Mapping[str, tuple[str, dict[str, Any]]] = {
    "another player": ("admin.RestorePlayer", {"player_id": "zoe", "reason": "hostile"}),
    "another reason": ("admin.RestorePlayer", {"player_id": "yan", "reason": "none"}),
    "another act": ("admin.DropObligation", {"name": "tally|tc-000-a", "reason": "hostile"}),
    "another act on a process": ("admin.DrainReplica", {"replica_id": "scoring-00000000", "reason": "hostile"}),
}


@pytest.mark.parametrize(("method", "fields"), OTHERWISE.values(), ids=OTHERWISE)
async def test_an_act_s_request_id_does_not_stand_for_another(
    attacker: Attacker, method: str, fields: dict[str, Any]
) -> None:
    """[REQUEST_ID_REUSED] The same again is the same act, and another admin's is another one."""
    eve, act = attacker.admin("eve"), {"player_id": "yan", "reason": "hostile", "request_id": "act"}
    first = await attacker.call("admin.RestorePlayer", eve, **act)
    assert await attacker.call("admin.RestorePlayer", eve, **act) == first
    refused = await attacker.refused(method, eve, **fields, request_id="act")
    assert (refused.code, refused.reason) == ("INVALID_ARGUMENT", "REQUEST_ID_REUSED")
    other = await attacker.call("admin.RestorePlayer", attacker.admin("fay"), **act)
    assert other.act.number != first.act.number
