"""Automatic play by the games' rules services."""

from __future__ import annotations

from collections.abc import Mapping

from promontory.client.stubs import Stub
from promontory.codec.registry import codec
from promontory.relay.domain import BotTurn
from promontory.relay.ports import GameUnavailable
from promontory.runtime.errors import Refusal
from promontory.runtime.identity import ServiceIdentity
from promontory.runtime.peers import Peer, peer_errors

NOTHING_LEFT = frozenset({"MATCH_OVER", "MATCH_NOT_FOUND", "NOT_A_HOUSE_BOT", "SEAT_OUT_OF_RANGE"})
"""The reasons that say that nobody will ever have to play this turn."""


class RulesClient:
    """An `AutomaticPlay` that calls the service of each game at its address in `targets`."""

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

    async def aclose(self) -> None:
        """Close the channels."""
        for peer in self._peers.values():
            await peer.aclose()
