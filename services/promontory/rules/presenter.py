"""What callers are told: matches, views and commits as the messages of the game's proto package.

Of a commit that is told to several, each part is encoded once, and all messages are put together from the parts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from promontory.api.match.v1 import match_pb2, stream_pb2
from promontory.codec import conduct
from promontory.codec.outcomes import outcome_message
from promontory.codec.splicing import Splicing
from promontory.codec.terms import term_fields
from promontory.codec.times import duration, timestamp
from promontory.games.fairness import SCHEME
from promontory.games.kernel import Seat
from promontory.games.registry import AnyGame
from promontory.rules.domain import Happening, Match, Step
from promontory.rules.gallery import is_late
from promontory.rules.records import KIND_NUMBERS, origin_message
from promontory.rules.resuming import ResumeTokens
from promontory.rules.ruleset import Ruleset
from promontory.rules.watch import End, EndReason, Quiet, Snapshot, Update
from promontory.runtime import clock
from promontory.runtime.recent import Recent

REMEMBERED = 4096
"""Of how many matches is remembered what stays of them, about 500 bytes each."""

_END_REASONS = {
    EndReason.MATCH_CLOSED: stream_pb2.STREAM_END_REASON_MATCH_CLOSED,
    EndReason.SERVER_DRAINING: stream_pb2.STREAM_END_REASON_SERVER_DRAINING,
    EndReason.MAX_AGE: stream_pb2.STREAM_END_REASON_MAX_AGE,
    EndReason.SLOW_READER: stream_pb2.STREAM_END_REASON_SLOW_READER,
}


class Told(msgspec.Struct, frozen=True):
    """A `WatchMatchResponse`, encoded, and the version of the match that it brings its reader to."""

    version: int
    message: bytes


class _ForAudience(msgspec.Struct, frozen=True):
    """What an audience may see of a commit: events and view, encoded; and the update that tells of it."""

    events: list[bytes]
    view: bytes
    update: Told


class _Encoded(msgspec.Struct, frozen=True):
    """What was encoded of a commit: for all, the match after it and the `rest` of what they see; then by audience."""

    match: bytes
    rest: bytes
    by_audience: dict[Seat | None, _ForAudience] = {}


class _Lasting(msgspec.Struct, frozen=True):
    """What stays of a match, encoded, `since` it began as it did and its players sit as they do."""

    since: tuple[Any, ...]
    match: bytes


class Presenter:
    """Makes messages of the game's package. An audience is a seat, or None for spectators."""

    def __init__(self, ruleset: Ruleset, tokens: ResumeTokens | None = None) -> None:
        """Without `tokens`, what streams tell bears none to resume by."""
        self._ruleset, self._codec, self._tokens = ruleset, ruleset.codec, tokens
        self._pb: Any = ruleset.codec.messages
        self._commit, self._response = Splicing(self._pb.Commit), Splicing(self._pb.SubmitCommandResponse)
        self._update = Splicing(self._pb.WatchMatchResponse)
        self._told_lately = Recent[str, _Lasting](REMEMBERED)

    def match(self, match: Match) -> match_pb2.Match:
        """Return what everybody may know of `match`."""
        message = self._lasting(match)
        message.MergeFrom(self._passing(match))
        return message

    def _lasting(self, match: Match) -> match_pb2.Match:
        """Return what stays while the same players sit at their seats."""
        return match_pb2.Match(
            match_id=match.match_id,
            game=match.game,
            rules_version=match.rules_version,
            data_hash=match.data_hash,
            pool=match.setup.pool,
            rated=match.setup.rated,
            seats=[_seat(match, seat) for seat in range(len(match.setup.seats))],
            fairness=match_pb2.Fairness(scheme=SCHEME, commitment=match.commitment),
            create_time=timestamp(match.created_at_ms),
            variant=match.setup.variant or self._game(match).variants[0],
            **term_fields(match.setup.terms),
            forked_from=None if match.forked_from is None else origin_message(match.forked_from),
        )

    def _passing(self, match: Match) -> match_pb2.Match:
        """Return what may be another with each commit."""
        return match_pb2.Match(
            state=match_pb2.MATCH_STATE_CLOSED if match.is_closed else match_pb2.MATCH_STATE_OPEN,
            version=match.version,
            seats_to_act=match.to_act,
            outcome=None if match.result is None else outcome_message(match.result),
            fairness=match_pb2.Fairness(server_seed=match.server_seed) if match.server_seed else None,
            update_time=timestamp(match.updated_at_ms),
            clocks=clocks_of(match, match.updated_at_ms),
            offers=[conduct.encode_offer(offer) for offer in match.conduct.offers],
        )

    def view(self, match: Match, audience: Seat | None) -> Any:
        """Return the game as `audience` may see it."""
        return self._codec.encode_view(self._seen(match, audience))

    def hidden(self, match: Match) -> dict[str, Any]:
        """Return all that was hidden at the version of `match`: what each seat saw, and what none did."""
        game = self._game(match)
        piles = [match_pb2.HiddenPile(name=each.name, item_ids=each.item_ids) for each in game.hidden(match.state)]
        views = [self.view(match, seat) for seat in range(len(match.setup.seats))]
        return {"seat_views": views, "hidden_piles": piles}

    def events(self, match: Match, happened: Iterable[Happening], audience: Seat | None) -> list[Any]:
        """Return the events of `match` that `happened`, as `audience` may see them."""
        return [self._codec.encode_event(event) for event in self._redacted(match, happened, audience)]

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
        return self._pb.Commit(
            version=step.version,
            record_time=timestamp(step.match.updated_at_ms),
            events=events,
            match_events=[conduct.encode(event) for event in step.conduct],
        )

    def opening(self, first: Told, heartbeat_seconds: float) -> Told:
        """Return a watching stream's `first` message with how often there is a heartbeat."""
        interval = self._pb.WatchMatchResponse(heartbeat_interval=duration(round(1000 * heartbeat_seconds)))
        return Told(first.version, first.message + interval.SerializeToString())

    def update(self, update: Update, audience: Seat | None) -> Told:
        """Return the message of a watching stream for `update`; one of a commit is made once for an audience."""
        match update:
            case Step():
                return self._encoded_for(update, audience).update
            case Snapshot(match):
                kind = self._pb.WatchMatchResponse(snapshot=self._snapshot(update, audience))
            case Quiet(match):
                kind = self._pb.WatchMatchResponse(heartbeat=self._heartbeat(update, audience))
            case End(reason, match):
                kind = self._pb.WatchMatchResponse(end=self.end(reason, version=match.version))
        return self._told(match, audience, kind.SerializeToString())

    def end(self, reason: EndReason, *, version: int = 0) -> stream_pb2.StreamEnd:
        """Return the end of a stream that told a match up to `version`."""
        resumable = reason is not EndReason.MATCH_CLOSED
        return stream_pb2.StreamEnd(reason=_END_REASONS[reason], version=version, resumable=resumable)

    def _told(self, match: Match, audience: Seat | None, kind: bytes) -> Told:
        if self._tokens is None:
            return Told(match.version, kind)
        return Told(match.version, kind + self._update.part("resume_token", self._tokens.issue(match, audience)))

    def _snapshot(self, snapshot: Snapshot, audience: Seat | None) -> Any:
        return self._pb.Snapshot(
            match=self.match(snapshot.match),
            view=self.view(snapshot.match, audience),
            skipped_commits=snapshot.skipped,
            rewound=snapshot.rewound,
        )

    def _heartbeat(self, quiet: Quiet, audience: Seat | None) -> stream_pb2.Heartbeat:
        match, now_ms = quiet.match, clock.now_ms()
        is_past = is_late(match.setup, audience) and not match.is_closed
        return stream_pb2.Heartbeat(
            version=match.version,
            server_time=timestamp(now_ms),
            clocks=clocks_of(match, match.updated_at_ms if is_past else now_ms),
            absences=[
                stream_pb2.Absence(seat=seat, claimable_time=timestamp(from_ms))
                for seat, from_ms in quiet.absences.items()
            ],
        )

    def accepted(self, step: Step, seat: Seat) -> bytes:
        """Return the `SubmitCommandResponse` to commands of `seat`, encoded."""
        encoded, own, response = self._encoded(step), self._encoded_for(step, seat), self._response
        version: bytes = self._pb.SubmitCommandResponse(version=step.version).SerializeToString()
        events, view = response.parts("events", own.events), response.part("view", own.view)
        return version + events + view + response.part("match", encoded.match)

    def _encoded(self, step: Step) -> _Encoded:
        if step.told is None:
            rest = self._pb.Commit(
                version=step.version,
                record_time=timestamp(step.match.updated_at_ms),
                match_events=[conduct.encode(event) for event in step.conduct],
            )
            match = self._encoded_lasting(step.match) + self._passing(step.match).SerializeToString()
            step.told = _Encoded(match, rest.SerializeToString())
        encoded: _Encoded = step.told
        return encoded

    def _encoded_lasting(self, match: Match) -> bytes:
        """Return what stays of `match`, encoded once as long as matches that were told of lately are remembered."""
        since = match.commitment, match.created_at_ms, match.conduct.leavers, match.conduct.stand_ins
        lasting = self._told_lately.get(match.match_id)
        if lasting is None or lasting.since != since:
            lasting = _Lasting(since, self._lasting(match).SerializeToString())
            self._told_lately.keep(match.match_id, lasting)
        return lasting.match

    def _encoded_for(self, step: Step, audience: Seat | None) -> _ForAudience:
        encoded = self._encoded(step)
        own = encoded.by_audience.get(audience)
        if own is None:
            own = encoded.by_audience[audience] = self._encode_for(step, encoded, audience)
        return own

    def _encode_for(self, step: Step, encoded: _Encoded, audience: Seat | None) -> _ForAudience:
        part = self._commit.part
        events = list(map(self._codec.write_event, self._redacted(step.match, step.happened, audience)))
        view = self._codec.write_view(self._seen(step.match, audience))
        commit = encoded.rest + part("match", encoded.match) + self._commit.parts("events", events) + part("view", view)
        return _ForAudience(events, view, self._told(step.match, audience, self._update.part("commit", commit)))

    def _seen(self, match: Match, audience: Seat | None) -> Any:
        return self._game(match).view(match.state, audience)

    def _redacted(self, match: Match, happened: Iterable[Happening], audience: Seat | None) -> list[Any]:
        redact = self._game(match).redact
        return [redact(happening.state, happening.event, audience) for happening in happened]

    def _game(self, match: Match) -> AnyGame:
        return self._ruleset.pinned(match.rules_version, match.data_hash)


def clocks_of(match: Match, now_ms: int) -> list[match_pb2.SeatClock]:
    """Return what the clocks of `match` show at `now_ms`, in the order of seats; none without a time control."""
    if match.setup.time_control is None:
        return []
    return [
        match_pb2.SeatClock(
            seat=seat,
            remaining=duration(clock.remaining_at(now_ms)),
            deadline=None if clock.deadline_ms is None else timestamp(clock.deadline_ms),
            timeouts=clock.timeouts,
        )
        for seat, clock in enumerate(match.conduct.clocks)
    ]


def _seat(match: Match, seat: Seat) -> match_pb2.Seat:
    setup, leaver = match.setup.seats[seat], match.conduct.leaver(seat)
    return match_pb2.Seat(
        seat=seat,
        player_id=setup.player_id,
        kind=KIND_NUMBERS[setup.kind],
        bot_policy=setup.bot_policy,
        client_entropy=setup.client_entropy,
        left=conduct.LEAVE_CAUSE_NUMBERS[leaver.cause] if leaver else match_pb2.LEAVE_CAUSE_UNSPECIFIED,
        stand_in_policy=match.conduct.stand_in(seat),
    )
