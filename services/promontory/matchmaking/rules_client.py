"""Creating matches at the rules service of any game, and asking it how one stands."""

from __future__ import annotations

from collections.abc import Mapping

from promontory.api.match.v1 import match_pb2
from promontory.client.stubs import Stub
from promontory.codec.outcomes import result_of
from promontory.codec.registry import codec
from promontory.codec.terms import term_fields, terms_of
from promontory.games.registry import UnknownGameError, entry_of_match
from promontory.matchmaking.domain import Made, Place, Proposal
from promontory.matchmaking.listing import Ended, Listed
from promontory.matchmaking.ports import CreationRefused, Played
from promontory.runtime import clock
from promontory.runtime.errors import Kind, Refusal
from promontory.runtime.peers import Peer, peer_errors

_FINAL = ("INVALID_ARGUMENT", "FAILED_PRECONDITION")
_NO_SUCH_MATCH = ("NOT_FOUND", "INVALID_ARGUMENT")
_OUT_ALREADY = ("MATCH_OVER", "SEAT_LEFT", "MATCH_NOT_FOUND")
_ANOTHER_REPLICA_MAY = ("RULES_VERSION_UNKNOWN", "LOG_CORRUPT")


class RulesClient:
    """The port `Rules`, over the channel to each game's service."""

    def __init__(self, peers: Mapping[str, Peer]) -> None:
        self._peers = peers
        self._stubs = {game: Stub(peer.channel, codec(game).service) for game, peer in peers.items()}

    async def create_match(self, proposal: Proposal) -> Made:
        """Return the match of `proposal`, created now or earlier; see `Rules.create_match`."""
        peer, game = self._peer(proposal.game), codec(proposal.game)
        request = game.messages.CreateMatchRequest(request_id=proposal.request_id, setup=_setup(proposal))
        try:
            with peer_errors(f"rules.{proposal.game}"):
                response = await self._stubs[proposal.game].CreateMatch(request, **peer.call())
        except Refusal as refusal:
            raise _final(refusal) or refusal from refusal
        created_ms = response.match.create_time.ToMilliseconds() or clock.now_ms()
        return Made(game.service.full_name, response.match.match_id, created_ms)

    async def find_match(self, match_id: str) -> Played | None:
        """Return a match as it now is, or None if there is none; see `Rules.find_match`."""
        try:
            game = entry_of_match(match_id).name
        except UnknownGameError:
            return None
        peer, request = self._peer(game), codec(game).messages.GetMatchRequest(match_id=match_id)
        try:
            with peer_errors(f"rules.{game}"):
                response = await self._stubs[game].GetMatch(request, **peer.call())
        except Refusal as refusal:
            if refusal.metadata.get("code") in _NO_SUCH_MATCH:
                return None
            raise
        return played(response.match)

    async def resign(self, match: Listed, player: str, *, request_id: str) -> bool:
        """Resign `match` for `player`; see `Resigning.resign`."""
        peer, seat = self._peer(match.game), match.players.index(player)
        request = codec(match.game).messages.ResignRequest(match_id=match.match_id, seat=seat, request_id=request_id)
        try:
            with peer_errors(f"rules.{match.game}"):
                await self._stubs[match.game].Resign(request, **peer.call())
        except Refusal as refusal:
            if refusal.metadata.get("reason") in _OUT_ALREADY:
                return False
            raise
        return True

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


def played(match: match_pb2.Match) -> Played:
    """Return what a rules service's message says of a match."""
    return Played(
        listed=Listed(
            match_id=match.match_id,
            game=match.game,
            players=tuple(seat.player_id for seat in match.seats),
            policies=tuple(seat.bot_policy for seat in match.seats),
            created_ms=match.create_time.ToMilliseconds(),
            pool=match.pool,
            rated=match.rated,
            stand_in=match.stand_in_policy,
            spectator_delay=match.spectator_delay,
            ended=ended(match.outcome, match.update_time.ToMilliseconds()) if match.HasField("outcome") else None,
        ),
        variant=match.variant,
        is_fork=match.HasField("forked_from"),
        terms=terms_of(match),
    )


def ended(outcome: match_pb2.Outcome, closed_ms: int) -> Ended:
    """Return how a match ended that was closed at `closed_ms`. Raises `Undecodable`."""
    result = result_of(outcome)
    return Ended(result.reason, closed_ms, result.places, result.scores)


def _setup(proposal: Proposal) -> match_pb2.MatchSetup:
    return match_pb2.MatchSetup(
        seats=[_seat(place) for place in proposal.places],
        pool=proposal.pool,
        rated=proposal.rated,
        draw_start=proposal.draw_start,
        variant=proposal.variant,
        **term_fields(proposal.terms),
    )


def _seat(place: Place) -> match_pb2.SeatSetup:
    entrant = place.entrant
    return match_pb2.SeatSetup(
        player_id=entrant.player,
        kind=match_pb2.SEAT_KIND_HOUSE_BOT if entrant.policy else match_pb2.SEAT_KIND_PLAYER,
        bot_policy=entrant.policy,
        client_entropy=entrant.entropy,
    )
