"""What callers are told: matches, views and commits as the messages of the game's proto package."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from promontory.api.match.v1 import match_pb2, stream_pb2
from promontory.codec.times import timestamp
from promontory.games.fairness import SCHEME
from promontory.games.kernel import Seat
from promontory.games.registry import AnyGame
from promontory.rules.domain import Happening, Match, SeatSetup, Step
from promontory.rules.records import KIND_NUMBERS, outcome_message
from promontory.rules.ruleset import Ruleset
from promontory.rules.watch import End, EndReason, Quiet, Snapshot, Update
from promontory.runtime import clock

_END_REASONS = {
    EndReason.MATCH_CLOSED: stream_pb2.STREAM_END_REASON_MATCH_CLOSED,
    EndReason.SERVER_DRAINING: stream_pb2.STREAM_END_REASON_SERVER_DRAINING,
    EndReason.MAX_AGE: stream_pb2.STREAM_END_REASON_MAX_AGE,
    EndReason.SLOW_READER: stream_pb2.STREAM_END_REASON_SLOW_READER,
}


class Presenter:
    """Makes messages of the game's package. An audience is a seat, or None for spectators."""

    def __init__(self, ruleset: Ruleset) -> None:
        self._ruleset, self._codec = ruleset, ruleset.codec
        self._pb: Any = ruleset.codec.messages

    def match(self, match: Match) -> match_pb2.Match:
        """Return what everybody may know of `match`."""
        state = match_pb2.MATCH_STATE_CLOSED if match.is_closed else match_pb2.MATCH_STATE_OPEN
        return match_pb2.Match(
            match_id=match.match_id,
            game=match.game,
            rules_version=match.rules_version,
            data_hash=match.data_hash,
            pool=match.setup.pool,
            rated=match.setup.rated,
            seats=[_seat(number, seat) for number, seat in enumerate(match.setup.seats)],
            state=state,
            version=match.version,
            seats_to_act=match.to_act,
            outcome=None if match.result is None else outcome_message(match.result),
            fairness=match_pb2.Fairness(scheme=SCHEME, commitment=match.commitment, server_seed=match.server_seed),
            create_time=timestamp(match.created_at_ms),
            update_time=timestamp(match.updated_at_ms),
            variant=match.setup.variant or self._game(match).variants[0],
        )

    def view(self, match: Match, audience: Seat | None) -> Any:
        """Return the game as `audience` may see it."""
        return self._codec.encode_view(self._game(match).view(match.state, audience))

    def events(self, match: Match, happened: Iterable[Happening], audience: Seat | None) -> list[Any]:
        """Return the events of `match` that `happened`, as `audience` may see them."""
        game, encode = self._game(match), self._codec.encode_event
        return [encode(game.redact(happening.state, happening.event, audience)) for happening in happened]

    def legal(self, legal: Any) -> Any:
        """Return the legal commands of a seat, for that seat."""
        return self._codec.encode_legal(legal)

    def listed(self, step: Step, audience: Seat | None, *, full: bool) -> Any:
        """Return a commit for a list, without match and view; with nothing hidden if `full`."""
        events = (
            [self._codec.encode_event(happening.event) for happening in step.happened]
            if full
            else self.events(step.match, step.happened, audience)
        )
        return self._pb.Commit(version=step.version, record_time=timestamp(step.match.updated_at_ms), events=events)

    def update(self, update: Update, audience: Seat | None) -> Any:
        """Return the message of a watching stream for `update`; one of a commit is made once for an audience."""
        match update:
            case Snapshot(match):
                snapshot = self._pb.Snapshot(match=self.match(match), view=self.view(match, audience))
                return self._pb.WatchMatchResponse(snapshot=snapshot)
            case Step():
                return self._told(update, audience)
            case Quiet(version):
                heartbeat = stream_pb2.Heartbeat(version=version, server_time=timestamp(clock.now_ms()))
                return self._pb.WatchMatchResponse(heartbeat=heartbeat)
            case End(reason, version):
                resumable = reason is not EndReason.MATCH_CLOSED
                end = stream_pb2.StreamEnd(reason=_END_REASONS[reason], version=version, resumable=resumable)
                return self._pb.WatchMatchResponse(end=end)

    def commit(self, step: Step, audience: Seat | None) -> Any:
        """Return a commit with all that `audience` may see, made once for whoever submitted and whoever watches."""
        return self._told(step, audience).commit

    def _told(self, step: Step, audience: Seat | None) -> Any:
        told = step.told.get(audience)
        if told is None:
            told = step.told[audience] = self._pb.WatchMatchResponse(commit=self._commit(step, audience))
        return told

    def _commit(self, step: Step, audience: Seat | None) -> Any:
        return self._pb.Commit(
            version=step.version,
            record_time=timestamp(step.match.updated_at_ms),
            events=self.events(step.match, step.happened, audience),
            match=self.match(step.match),
            view=self.view(step.match, audience),
        )

    def _game(self, match: Match) -> AnyGame:
        return self._ruleset.pinned(match.rules_version, match.data_hash)


def _seat(number: Seat, seat: SeatSetup) -> match_pb2.Seat:
    return match_pb2.Seat(
        seat=number,
        player_id=seat.player_id,
        kind=KIND_NUMBERS[seat.kind],
        bot_policy=seat.bot_policy,
        client_entropy=seat.client_entropy,
    )
