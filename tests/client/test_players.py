"""Players as the SDK meets them: their id, what is held about them, and leaving for good."""

# ruff: noqa: N802 - methods are named as in the protos

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from promontory import AsyncClient, Unauthenticated
from promontory.api.players.v1 import players_service_pb2 as pb
from promontory.client.players import PLAYERS
from promontory.runtime.errors import Kind, Refusal
from promontory.runtime.identity import caller
from promontory.runtime.players import token_revoked
from tests.client.conftest import HASTY
from tests.support.serving import Keys, served

NOON = Timestamp(seconds=1_700_000_000)


class Registry:
    """A service of players that is down for the first call of each method, and forgets in two steps."""

    def __init__(self) -> None:
        self.called: list[str] = []

    def _note(self, method: str) -> None:
        self.called.append(method)
        if self.called.count(method) == 1:
            raise Refusal(Kind.UNAVAILABLE, "PEER_UNAVAILABLE", "down", metadata={"retrySeconds": "0.001"})

    async def GetPlayer(self, request: pb.GetPlayerRequest, context: Any) -> pb.GetPlayerResponse:
        self._note("id")
        return pb.GetPlayerResponse(player_id=f"pl-{request.subject or caller().subject}")

    async def ExportPlayer(
        self, request: pb.ExportPlayerRequest, context: Any
    ) -> AsyncIterator[pb.ExportPlayerResponse]:
        yield pb.ExportPlayerResponse(chunk=b'{"player_id": ')
        self._note("export")
        yield pb.ExportPlayerResponse(chunk=f'"{request.player_id}"}}'.encode())

    async def ForgetPlayer(self, request: pb.ForgetPlayerRequest, context: Any) -> pb.ForgetPlayerResponse:
        self._note("forget")
        if self.called.count("forget") > 3:
            raise token_revoked()
        done = self.called.count("forget") == 3
        forgetting = pb.Forgetting(player_id=request.player_id, request_time=NOON, matches_resigned=2, pools=["pool"])
        forgetting.state = pb.FORGETTING_STATE_DONE if done else pb.FORGETTING_STATE_IN_PROGRESS
        forgetting.complete_time.CopyFrom(NOON) if done else None
        return pb.ForgetPlayerResponse(forgetting=forgetting)

    async def SuspendPlayer(self, request: Any, context: Any) -> Any:
        raise NotImplementedError

    RestorePlayer = SuspendPlayer


@pytest.fixture
async def client(keys: Keys) -> AsyncIterator[AsyncClient]:
    token = keys.as_player("ada")[0][1].removeprefix("Bearer ")
    async with (
        served([(PLAYERS, Registry())], keys) as address,
        AsyncClient(f"matchmaking={address}", token=token, timing=HASTY) as client,
    ):
        yield client


async def test_a_player_id_is_ones_own_or_that_of_a_subject(client: AsyncClient) -> None:
    assert [await client.player_id(), await client.player_id("ben")] == ["pl-ada", "pl-ben"]


async def test_an_export_that_breaks_off_is_begun_anew(client: AsyncClient) -> None:
    assert await client.export_player("pl-ada") == b'{"player_id": "pl-ada"}'


async def test_forgetting_tells_how_far_it_is(client: AsyncClient) -> None:
    begun, done = [await client.forget_player("pl-ada") for _ in range(2)]
    assert (begun.is_done, begun.complete_time, begun.matches_resigned, begun.pools) == (False, None, 2, ("pool",))
    assert (done.is_done, done.complete_time) == (True, datetime.fromtimestamp(NOON.seconds, UTC))


async def test_a_revoked_token_is_of_no_use_any_more(client: AsyncClient) -> None:
    for _ in range(2):
        await client.forget_player("pl-ada")
    with pytest.raises(Unauthenticated, match="revoked") as raised:
        await client.forget_player("pl-ada")
    assert raised.value.reason == "TOKEN_REVOKED"
