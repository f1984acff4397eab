"""Every refusal reaches the caller as the class of its status code, with its reason and values."""

from __future__ import annotations

import pickle

import pytest

import promontory
from promontory import AsyncClient, PromontoryError, VersionConflict
from promontory.client.errors import Incompatible, understanding
from promontory.codec.port import Undecodable
from promontory.games.transcontinental.commands import DrawCard, EndWork
from promontory.games.transcontinental.vocabulary import Source
from promontory.runtime.errors import Kind, Refusal, malformed
from tests.client.conftest import Connect, World
from tests.client.services import POOL

CLASSES = [
    (Kind.MALFORMED, promontory.InvalidArgument),
    (Kind.UNAUTHENTICATED, promontory.Unauthenticated),
    (Kind.NOT_ALLOWED, promontory.PermissionDenied),
    (Kind.NOT_FOUND, promontory.NotFound),
    (Kind.FORBIDDEN_NOW, promontory.FailedPrecondition),
    (Kind.EXISTS, promontory.AlreadyExists),
    (Kind.CONFLICT, promontory.Aborted),
    (Kind.TOO_MANY, promontory.ResourceExhausted),
    (Kind.UNAVAILABLE, promontory.Unavailable),
    (Kind.NO_SUCH_METHOD, promontory.Unimplemented),
    (Kind.FAULT, promontory.Internal),
]


async def failure(client: AsyncClient) -> PromontoryError:
    """Return how looking at the match fails."""
    with pytest.raises(PromontoryError) as caught:
        await client.spectate("transcontinental", "tc-000-test").look()
    return caught.value


@pytest.mark.parametrize(("kind", "expected"), CLASSES, ids=lambda value: getattr(value, "name", ""))
async def test_each_status_code_has_its_class(
    world: World, connect: Connect, kind: Kind, expected: type[PromontoryError]
) -> None:
    world.faults.refuse("GetMatch", Refusal(kind, "SOME_REASON", "it cannot be", metadata={"seat": 3}))
    error = await failure(connect(retry_seconds=0))
    assert type(error) is expected
    assert (error.reason, error.message, error.metadata) == ("SOME_REASON", "it cannot be", {"seat": "3"})
    assert str(error) == "SOME_REASON: it cannot be"


def test_every_kind_of_failure_is_tested() -> None:
    assert {kind for kind, _ in CLASSES} == set(Kind)


async def test_a_refused_move_cites_its_rule(world: World, client: AsyncClient) -> None:
    """[Transcontinental 3.1] The first decision of a turn is the draw."""
    with pytest.raises(promontory.FailedPrecondition) as caught:
        await client.seat("transcontinental", world.referee.match_id, 0).submit(EndWork(0))
    assert caught.value.reason == "WRONG_PHASE"
    assert "Transcontinental" in caught.value.metadata["rule"]


async def test_a_version_conflict_tells_the_current_version(world: World, client: AsyncClient) -> None:
    seated = client.seat("transcontinental", world.referee.match_id, 0)
    await seated.submit(DrawCard(0, Source.DECK))
    with pytest.raises(VersionConflict) as caught:
        await seated.submit(EndWork(0), expected_version=1)
    assert caught.value.current_version == 2


async def test_malformed_fields_are_named(world: World, client: AsyncClient) -> None:
    world.faults.refuse("GetMatch", malformed("version", "must be at least 1"))
    error = await failure(client)
    assert error.fields == {"version": "must be at least 1"}


async def test_a_limit_says_how_long_to_wait(world: World, client: AsyncClient) -> None:
    limit = Refusal(Kind.TOO_MANY, "LIMIT_REACHED", "slower", metadata={"limit": 5, "retrySeconds": 7})
    world.faults.refuse("GetMatch", limit)
    error = await failure(client)
    assert error.retry_after == 7


async def test_a_failure_of_the_transport_has_its_codes_name_as_the_reason() -> None:
    async with AsyncClient("127.0.0.1:1", retry_seconds=0) as client:
        error = await failure(client)
    assert type(error) is promontory.Unavailable
    assert (error.reason, error.metadata, error.retry_after) == ("UNAVAILABLE", {}, None)


async def test_a_token_that_does_not_verify_is_refused(connect: Connect) -> None:
    error = await failure(connect(token="no.such.token"))
    assert type(error) is promontory.Unauthenticated
    assert (error.reason, error.metadata["cause"]) == ("TOKEN_INVALID", "does not verify")


async def test_the_seat_of_another_player_is_refused(world: World, connect: Connect) -> None:
    with pytest.raises(promontory.PermissionDenied, match="SEAT_NOT_YOURS"):
        await connect("bob").seat("transcontinental", world.referee.match_id, 0).submit(EndWork(0))


def test_an_error_survives_pickling() -> None:
    error = VersionConflict("moved", reason="VERSION_CONFLICT", metadata={"currentVersion": "4"}, retry_after=1.5)
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert (type(again), str(again), again.current_version) == (VersionConflict, str(error), 4)
    assert again.retry_after == 1.5


def test_an_answer_that_is_not_understood_asks_for_a_newer_sdk() -> None:
    with pytest.raises(Incompatible, match=r"SDK_OUTDATED.*phase: has the unknown value 9"), understanding():
        raise Undecodable("phase", "has the unknown value 9")


async def test_a_state_that_the_sdk_does_not_know_is_not_passed_over(world: World, client: AsyncClient) -> None:
    ticket = await client.enter(POOL)
    world.queue.tickets[ticket.ticket_id].state = 9  # type: ignore[assignment]
    with pytest.raises(Incompatible, match="state: has the unknown value 9"):
        await ticket.seat()
