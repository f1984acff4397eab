"""How every error becomes a status that clients can act on."""

from __future__ import annotations

import ast
from importlib import import_module
from typing import Any

import grpc
import pytest
from google.rpc import code_pb2, error_details_pb2

from promontory.api.match.v1.errors_pb2 import ErrorReason
from promontory.eventlog import port as log
from promontory.games.kernel import Malformed, Rejected
from promontory.rules.ports import SealBroken
from promontory.runtime.errors import MAX_FIELDS, MAX_VALUE_BYTES, Kind, Refusal, as_refusal, malformed, status
from promontory.runtime.limits import Limit, limit_reached
from tests.house.source import MODULES, PACKAGE, tree_of

SHARED = {name.removeprefix("ERROR_REASON_") for name in ErrorReason.DESCRIPTOR.values_by_name}
GAMES = sorted(file.parts[-3] for file in (PACKAGE / "api").glob("*/v1/errors_pb2.py") if file.parts[-3] != "match")
RAISERS = {"Refusal": 1, "Rejected": 0, "Malformed": 0}
"""What takes a reason, and as which of its arguments."""


def details(refusal: Refusal) -> dict[str, Any]:
    """Return the details of the status of `refusal`, by the names of their messages."""
    pb = error_details_pb2
    kinds = (pb.ErrorInfo, pb.BadRequest, pb.RetryInfo, pb.QuotaFailure)
    found = [(kind(), packed) for packed in status(refusal).details for kind in kinds if packed.Is(kind.DESCRIPTOR)]
    return {message.DESCRIPTOR.name: message for message, packed in found if packed.Unpack(message)}


@pytest.mark.parametrize(
    ("error", "kind", "reason", "metadata"),
    [
        (
            Refusal(Kind.EXISTS, "TICKET_OPEN", "x", metadata={"ticketId": "t"}),
            "EXISTS",
            "TICKET_OPEN",
            {"ticketId": "t"},
        ),
        (Rejected("NOT_A_MELD", rule="T 4", size=2), "FORBIDDEN_NOW", "NOT_A_MELD", {"rule": "T 4", "size": "2"}),
        (Malformed("UNKNOWN_CARD", rule="T 1"), "MALFORMED", "UNKNOWN_CARD", {"rule": "T 1"}),
        (log.VersionConflict(7), "CONFLICT", "VERSION_CONFLICT", {"currentVersion": "7"}),
        (log.CommandIdReused(3), "MALFORMED", "REQUEST_ID_REUSED", {"version": "3"}),
        (log.StreamClosed(9), "FORBIDDEN_NOW", "MATCH_OVER", {"version": "9"}),
        (log.LogCorrupt("tc-1", 4, "torn"), "FORBIDDEN_NOW", "LOG_CORRUPT", {"version": "4"}),
        (log.EventLogUnavailable("lost"), "UNAVAILABLE", "EVENT_LOG_UNAVAILABLE", {}),
        (log.Fenced("7"), "UNAVAILABLE", "EVENT_LOG_UNAVAILABLE", {}),
        (SealBroken("secret"), "FAULT", "INTERNAL", {}),
        (KeyError("secret"), "FAULT", "INTERNAL", {}),
        (RecursionError("secret"), "FAULT", "INTERNAL", {}),
        (TimeoutError("secret"), "FAULT", "INTERNAL", {}),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_every_error_has_its_code_reason_and_values(
    error: Exception, kind: str, reason: str, metadata: dict[str, str]
) -> None:
    """[style 7] One `ErrorInfo`; an unforeseen error shows nothing of itself."""
    refusal = as_refusal(error)
    found = details(refusal)["ErrorInfo"]
    assert (refusal.kind.name, found.reason, found.domain) == (kind, reason, "promontory.api")
    assert dict(found.metadata) == metadata
    assert "secret" not in str(status(refusal))


@pytest.mark.parametrize(
    ("reason", "values", "sentence"),
    [
        ("MATCH_OVER", {"closeReason": "drawn"}, "the match is over: drawn"),
        ("SEAT_LEFT", {"seat": 2, "cause": "resigned"}, "the player of seat 2 has left"),
        ("ABORT_TOO_LATE", {}, "offer to cancel it, or resign"),
        ("NOTHING_TO_CLAIM", {"claimableSeconds": 5}, "in 5 s"),
        ("NOTHING_TO_CLAIM", {}, "nobody can be claimed"),
        ("ENDING_IMPOSSIBLE", {"cause": "house_bots"}, "house bots agree to nothing in a rated match"),
        ("ENDING_IMPOSSIBLE", {"cause": "already_offered"}, "has offered that already"),
        ("NO_OFFER", {}, "no offer of anybody else"),
        ("OF_LATER", {}, "OF_LATER"),
    ],
)
def test_who_may_not_end_a_match_like_that_is_told_in_words(reason: str, values: Any, sentence: str) -> None:
    """[docs/clocks] What no rule of a game forbids is refused in a sentence, with the same values beside it."""
    refusal = as_refusal(Rejected(reason, rule="conduct", **values))
    assert sentence in refusal.message
    assert refusal.metadata == {"rule": "conduct", **values}


@pytest.mark.parametrize("kind", Kind)
def test_a_kind_is_a_code_of_its_own(kind: Kind) -> None:
    """The code goes over the wire as gRPC numbers it."""
    found = status(Refusal(kind, "REASON", "words"))
    assert code_pb2.Code.Name(found.code) == kind.value.name
    assert (found.message, [each.value for each in Kind].count(kind.value)) == ("words", 1)


@pytest.mark.parametrize("kind", Kind)
def test_only_what_is_unavailable_says_by_itself_when_to_repeat(kind: Kind) -> None:
    """[style 7] UNAVAILABLE comes with `RetryInfo`."""
    assert ("RetryInfo" in details(Refusal(kind, "REASON", "x"))) == (kind.value is grpc.StatusCode.UNAVAILABLE)


@pytest.mark.parametrize("seconds", [1, 30, "45"])
def test_a_limit_says_how_long_to_wait(seconds: int | str) -> None:
    """[errors LIMIT_REACHED] Wait as long as the `RetryInfo` says."""
    refusal = Refusal(Kind.TOO_MANY, "LIMIT_REACHED", "x", metadata={"retrySeconds": seconds})
    assert details(refusal)["RetryInfo"].retry_delay.seconds == int(seconds)


def test_a_limit_is_named_as_a_quota_that_failed() -> None:
    """[errors LIMIT_REACHED] It is called like its setting, and the wait may be a part of a second."""
    found = details(limit_reached(Limit.COMMANDS, 20, "slower", retry_seconds=0.15))
    (violation,) = found["QuotaFailure"].violations
    assert (violation.quota_id, violation.description) == ("max_commands_per_second", "slower")
    assert dict(found["ErrorInfo"].metadata) == {
        "limitName": "max_commands_per_second",
        "limit": "20",
        "retrySeconds": "0.15",
    }
    assert found["RetryInfo"].retry_delay.ToMilliseconds() == 150


def test_a_limit_that_waiting_does_not_help_asks_for_none() -> None:
    assert "RetryInfo" not in details(limit_reached(Limit.REQUEST_BYTES, 20, "too large"))


def test_a_malformed_field_is_named_for_programs_and_people() -> None:
    """[style 7] INVALID_ARGUMENT comes with `BadRequest` field violations."""
    refusal = malformed("setup.pool", "is empty")
    (violation,) = details(refusal)["BadRequest"].field_violations
    assert (violation.field, violation.description) == ("setup.pool", "is empty")
    assert (refusal.message, dict(refusal.metadata)) == ("setup.pool: is empty", {"field": "setup.pool"})


def test_a_refusal_with_nothing_malformed_has_no_field_violations() -> None:
    assert details(Refusal(Kind.NOT_FOUND, "MATCH_NOT_FOUND", "x")).keys() == {"ErrorInfo"}


@pytest.mark.parametrize("text", ["x" * 90_000, "é" * 90_000, "\U0001f682" * 90_000, "\ud800" * 90_000])
def test_a_status_always_fits_the_metadata_it_travels_in(text: str) -> None:
    """A longer one would be dropped on the way, with its reason; base64 and escapes add to it."""
    fields = {f"{number}{text}": text for number in range(100)}
    found = status(Refusal(Kind.MALFORMED, "BAD_REQUEST", text, fields=fields, metadata={"field": text, "b": text}))
    escaped = sum(1 if 32 <= byte < 127 else 3 for byte in found.message.encode())
    assert len(found.SerializeToString()) * 4 / 3 + escaped < 8192
    (_, bad_request) = (each for each in found.details)
    assert len(bad_request.value) <= MAX_FIELDS * (2 * MAX_VALUE_BYTES + 10)


def reasons_of(game: str) -> set[str]:
    """Return the reasons that are the game's own."""
    reasons = import_module(f"promontory.api.{game}.v1.errors_pb2").RefusalReason
    return {name.removeprefix("REFUSAL_REASON_") for name in reasons.DESCRIPTOR.values_by_name}


def reasons_in(module: str) -> list[tuple[str, str]]:
    """Return what raises or returns a refusal in `module`, with its reason, where that is a literal."""
    calls = [
        node for node in ast.walk(tree_of(module)) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    given = [(call.func.id, call.args[RAISERS[call.func.id] :][:1]) for call in calls if call.func.id in RAISERS]  # type: ignore[attr-defined]
    return [(name, argument.value) for name, (argument,) in given if isinstance(argument, ast.Constant)]


@pytest.mark.parametrize("module", MODULES)
def test_every_reason_in_the_code_is_listed_in_the_protos(module: str) -> None:
    """[style 7] `ErrorReason` lists what all services share, a game's `RefusalReason` what it refuses."""
    own = set[str]().union(*(reasons_of(game) for game in GAMES if module.startswith(f"games/{game}/")))
    listed = {"Refusal": SHARED, "Rejected": SHARED | own, "Malformed": SHARED | own}
    assert [reason for name, reason in reasons_in(module) if reason not in listed[name]] == []


def test_the_code_is_really_searched() -> None:
    """Both ways to refuse are found, in services and in games."""
    found = {module: dict(reasons_in(module)).keys() for module in MODULES}
    assert found["games/transcontinental/decider.py"] == {"Rejected", "Malformed"}
    assert found["matchmaking/usecases.py"] == {"Refusal"}
    assert sum(len(reasons_in(module)) for module in MODULES) > 40


@pytest.mark.parametrize("game", GAMES)
def test_no_reason_is_listed_twice(game: str) -> None:
    """What all games share is not repeated by one."""
    assert {"UNSPECIFIED"} == SHARED & reasons_of(game)
