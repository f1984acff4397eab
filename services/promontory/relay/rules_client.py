"""Automatic play and clocks by the games' rules services."""

from __future__ import annotations

from collections.abc import Mapping

from promontory.client.stubs import Stub
from promontory.codec.registry import codec
from promontory.codec.times import ms_of
from promontory.relay.domain import BotTurn, ClockDue
from promontory.relay.ports import Enforced, GameUnavailable
from promontory.runtime.errors import Refusal
from promontory.runtime.identity import ServiceIdentity
from promontory.runtime.peers import Peer, peer_errors

NOTHING_LEFT = frozenset({"MATCH_OVER", "MATCH_NOT_FOUND", "NOT_A_HOUSE_BOT", "SEAT_OUT_OF_RANGE"})
"""The reasons that say that nobody will ever have to play this turn."""


class RulesClient:
    """An `AutomaticPlay` and a `Clockwork` that call the service of each game at its address in `targets`."""

    def __init__(self, targets: Mapping[str, str], identity: ServiceIdentity) -> None:
        self._peers = {game: Peer(target, identity) for game, target in targets.items()}
        self._stubs = {game: Stub(peer.channel, codec(game).service) for game, peer in self._peers.items()}

    async def play(self, turn: BotTurn, *, request_id: str) -> bool:
        """Play the rules' automatic command; see `AutomaticPlay.play`."""
        request = codec(turn.game).messages.PlayAutomaticallyRequest(
            match_id=turn.match_id, seat=turn.seat, since_version=turn.since_version, request_id=request_id
        )
        try:
            with peer_errors(turn.game):
                response = await self._stubs[turn.game].PlayAutomatically(request, **self._peers[turn.game].call())
        except Refusal as error:
            if error.metadata.get("reason") in NOTHING_LEFT:
                return False
            raise GameUnavailable(f"{error} ({error.metadata})") from error
        played: bool = response.played
        return played

    async def enforce(self, due: ClockDue) -> Enforced:
        """Record that time ran out in a match, if it did; see `Clockwork.enforce`."""
        request = codec(due.game).messages.EnforceClockRequest(match_id=due.match_id)
        try:
            with peer_errors(due.game):
                response = await self._stubs[due.game].EnforceClock(request, **self._peers[due.game].call())
        except Refusal as error:
            raise GameUnavailable(f"{error} ({error.metadata})") from error
        due_in = ms_of(response.due_in) / 1000 if response.HasField("due_in") else None
        return Enforced(response.enforced, due_in)

    async def aclose(self) -> None:
        """Close the channels."""
        for peer in self._peers.values():
            await peer.aclose()
