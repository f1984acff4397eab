"""Creating matches at the rules service of any game."""

from __future__ import annotations

from collections.abc import Mapping

from promontory.api.match.v1 import match_pb2
from promontory.client.stubs import Stub
from promontory.codec.registry import codec
from promontory.matchmaking.domain import Made, Place, Proposal
from promontory.matchmaking.ports import CreationRefused
from promontory.runtime import clock
from promontory.runtime.errors import Kind, Refusal
from promontory.runtime.peers import Peer, peer_errors

_FINAL = ("INVALID_ARGUMENT", "FAILED_PRECONDITION")
_ANOTHER_REPLICA_MAY = ("RULES_VERSION_UNKNOWN", "LOG_CORRUPT")


class RulesClient:
    """The port `Rules`, over the channel to each game's service."""

    def __init__(self, peers: Mapping[str, Peer]) -> None:
        self._peers = peers
        self._stubs = {game: Stub(peer.channel, codec(game).service) for game, peer in peers.items()}

    async def create_match(self, proposal: Proposal) -> Made:
        """Return the match of `proposal`, created now or earlier; see `Rules.create_match`."""
        peer, game = self._peer(proposal.game), codec(proposal.game)
        request = game.messages.CreateMatchRequest(request_id=proposal.id, setup=_setup(proposal))
        try:
            with peer_errors(f"rules.{proposal.game}"):
                response = await self._stubs[proposal.game].CreateMatch(request, **peer.call())
        except Refusal as refusal:
            raise _final(refusal) or refusal from refusal
        return Made(game.service.full_name, response.match.match_id, clock.now_ms())

    def _peer(self, game: str) -> Peer:
        if game not in self._peers:
            text = f"this server knows no address of the rules service of {game}"
            raise Refusal(Kind.UNAVAILABLE, "PEER_UNAVAILABLE", text, metadata={"peer": f"rules.{game}"})
        return self._peers[game]


def _final(refusal: Refusal) -> CreationRefused | None:
    """Return the refusal of a match for good that `refusal` is, or None.

    A match that exists, but that this replica of the rules service cannot read, is not refused for good.
    """
    code, reason = str(refusal.metadata.get("code", "")), str(refusal.metadata.get("reason", ""))
    return CreationRefused(code, reason) if code in _FINAL and reason not in _ANOTHER_REPLICA_MAY else None


def _setup(proposal: Proposal) -> match_pb2.MatchSetup:
    return match_pb2.MatchSetup(
        seats=[_seat(place) for place in proposal.places],
        pool=proposal.pool,
        rated=proposal.rated,
        draw_start=proposal.draw_start,
        variant=proposal.variant,
    )


def _seat(place: Place) -> match_pb2.SeatSetup:
    entrant = place.entrant
    return match_pb2.SeatSetup(
        player_id=entrant.player,
        kind=match_pb2.SEAT_KIND_HOUSE_BOT if entrant.policy else match_pb2.SEAT_KIND_PLAYER,
        bot_policy=entrant.policy,
        client_entropy=entrant.entropy,
    )
