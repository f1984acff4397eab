"""Between a match and its log: the commits that record what happened, and the fold that tells it again."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from promontory.codec import conduct
from promontory.codec.conduct import MatchCancelled, MatchEvent, TurnTimedOut
from promontory.codec.port import Undecodable
from promontory.eventlog.port import START, Commit, LogCorrupt, Position, Proposed, StoredEvent
from promontory.games import fairness
from promontory.games.kernel import Seat
from promontory.games.registry import AnyGame
from promontory.rules import clocks, records
from promontory.rules.conduct import Act, Conduct
from promontory.rules.domain import (
    HASHED_EVERY,
    CommitMeta,
    Decision,
    Match,
    Setup,
    Step,
    awaiting_after,
    happenings,
    nobody,
    obligations,
    repeated_after,
    standing_after,
)
from promontory.rules.ruleset import Ruleset

CREATE = "create"
"""The command id of every match's first commit."""

Reveal = Callable[[], bytes]
"""Returns the match's server seed."""


class Intent(msgspec.Struct, frozen=True):
    """Who wants a commit, by which commands or act, and under which name.

    `follow_up` if the actor's task goes on by itself after it.
    """

    command_id: str
    fingerprint: str
    actor: Seat | None = None
    commands: tuple[bytes, ...] = ()
    act: Act | None = None
    follow_up: bool = False


class Draft(msgspec.Struct, frozen=True):
    """A commit that is not in the log yet: what to append, and the step it will be."""

    proposed: Proposed
    step: Step

    def committed(self, head: bytes) -> Step:
        """Return the step, now that the log's head is `head`."""
        position = Position(self.step.version, head)
        return Step(replace(self.step.match, position=position), self.step.happened, self.step.conduct)


class Seed(msgspec.Struct, frozen=True):
    """The server's seed of a new match, plain and sealed."""

    plain: bytes
    sealed: bytes


def new_match(game: AnyGame, match_id: str, setup: Setup, *, seed: Seed, now_ms: int) -> Match:
    """Return a match before its first commit."""
    return Match(
        match_id=match_id,
        game=game.name,
        rules_version=game.rules_version,
        data_hash=game.data_hash,
        setup=setup,
        commitment=fairness.commitment(match_id, seed.plain),
        sealed_seed=seed.sealed,
        position=START,
        awaiting=nobody(len(setup.seats)),
        state=game.initial(len(setup.seats)),
        conduct=unbegun(setup),
        created_at_ms=now_ms,
        updated_at_ms=now_ms,
    )


def unbegun(setup: Setup) -> Conduct:
    """Return where a match stands beside the game before its first commit."""
    return Conduct(clocks.wound(setup.time_control, len(setup.seats)))


class Ledger:
    """Writes and reads the commits of one game's matches, which are archived `archive_after_ms` after they end."""

    def __init__(self, ruleset: Ruleset, *, archive_after_ms: int | None = None) -> None:
        self._ruleset = ruleset
        self._archive_after_ms = archive_after_ms
        self._codec = ruleset.codec

    def game_of(self, match: Match) -> AnyGame:
        """Return the rules that `match` is pinned to, or raise the refusal `RULES_VERSION_UNKNOWN`."""
        return self._ruleset.pinned(match.rules_version, match.data_hash)

    def encoded(self, commands: Sequence[Any]) -> tuple[bytes, ...]:
        """Return `commands` as they are stored and fingerprinted."""
        return tuple(map(self._codec.write_command, commands))

    def draft(self, match: Match, decision: Decision, intent: Intent, *, reveal: Reveal, now_ms: int) -> Draft:
        """Return the commit that records `decision`; once the match is over, it publishes the seed `reveal` returns."""
        after = self._after(match, decision, actor=intent.actor, now_ms=now_ms)
        if after.is_closed:
            after = replace(after, server_seed=reveal())
        meta = self._meta(after, intent)
        follow_up = intent.actor if intent.follow_up else None
        proposed = Proposed(
            events=self._stored(match, decision, after),
            command_id=intent.command_id,
            fingerprint=intent.fingerprint,
            meta=records.encode_meta(meta),
            closes=after.is_closed,
            due=obligations(match, after, follow_up=follow_up, archive_after_ms=self._archive_after_ms),
            recorded_at_ms=now_ms if match.setup.is_timed else None,
        )
        return Draft(proposed, Step(after, decision.happened, decision.conduct))

    def _stored(self, match: Match, decision: Decision, after: Match) -> tuple[StoredEvent, ...]:
        stored = [records.store_created(_created(match))] if match.version == 0 else []
        stored += [StoredEvent(*conduct.store(event)) for event in decision.conduct]
        stored += records.store_events(self._codec, [each.event for each in decision.happened])
        if after.result is not None:
            stored.append(records.store_closed(records.Closed(after.result, after.server_seed)))
        return tuple(stored)

    def _meta(self, after: Match, intent: Intent) -> CommitMeta:
        is_hashed = after.version % HASHED_EVERY == 0
        return CommitMeta(
            recorded_at_ms=after.updated_at_ms,
            actor=intent.actor,
            commands=intent.commands,
            act=intent.act,
            state_hash=records.state_hash(after.state) if is_hashed else "",
        )

    def _after(
        self, match: Match, decision: Decision, *, actor: Seat | None, now_ms: int, position: Position | None = None
    ) -> Match:
        """Return `match` after one more commit, at `position`, or at one whose head is not known yet."""
        game, version, happened = self.game_of(match), match.version + 1, decision.happened
        state = happened[-1].state if happened else match.state
        conduct, result, to_act = standing_after(match, game, decision, actor=actor, now_ms=now_ms)
        return replace(
            match,
            position=position or Position(version),
            awaiting=awaiting_after(match.awaiting, to_act, version=version, actor=actor if happened else None),
            state=state,
            conduct=conduct,
            updated_at_ms=now_ms,
            repeated=repeated_after(match, game, decision, actor=actor),
            result=result,
        )

    def step(self, match_id: str, match: Match | None, commit: Commit) -> Step:
        """Return what `commit` says; `match` is the fold before it, None before the first.

        Raises `LogCorrupt` if it does not follow, and the refusal `RULES_VERSION_UNKNOWN`.
        """
        try:
            return self._step(match_id, match, commit)
        except Undecodable as error:
            raise LogCorrupt(match_id, commit.version, str(error)) from error

    def _step(self, match_id: str, match: Match | None, commit: Commit) -> Step:
        meta = records.decode_meta(commit.meta)
        stored = commit.events
        if match is None:
            match, stored = self._opened(match_id, commit, meta), stored[1:]
        closing = stored[-1] if stored and stored[-1].type == records.MATCH_CLOSED else None
        decision = self._decision(match, stored[:-1] if closing else stored)
        position, now_ms = commit.position, meta.recorded_at_ms
        after = self._after(match, decision, actor=meta.actor, now_ms=now_ms, position=position)
        if closing is not None or after.is_closed:
            after = self._closed(after, closing)
        if meta.state_hash and meta.state_hash != records.state_hash(after.state):
            raise Undecodable("meta", "the state's hash is another one")
        return Step(after, decision.happened, decision.conduct)

    def _opened(self, match_id: str, commit: Commit, meta: CommitMeta) -> Match:
        created = records.restore_created(commit.events[0])
        if created.match_id != match_id or created.game != self._ruleset.game.name:
            raise Undecodable(records.MATCH_CREATED, "is of another match")
        game = self._ruleset.pinned(created.rules_version, created.data_hash)
        if len(created.setup.seats) not in game.seats:
            raise Undecodable("setup.seats", "are too many or too few")
        return Match(
            **msgspec.structs.asdict(created),
            position=START,
            awaiting=nobody(len(created.setup.seats)),
            state=game.initial(len(created.setup.seats)),
            conduct=unbegun(created.setup),
            created_at_ms=meta.recorded_at_ms,
            updated_at_ms=meta.recorded_at_ms,
        )

    def _decision(self, match: Match, stored: Sequence[StoredEvent]) -> Decision:
        if not stored:
            raise Undecodable("events", "hold nothing that happened")
        beside: tuple[MatchEvent, ...] = ()
        if records.is_beside_the_game(stored[0]):
            leading = itertools.takewhile(records.is_beside_the_game, stored)
            beside = tuple(self._conduct_event(match, event) for event in leading)
        events = records.restore_events(self._codec, stored[len(beside) :])
        return Decision(happenings(self.game_of(match), match.state, events), beside)

    def _conduct_event(self, match: Match, stored: StoredEvent) -> MatchEvent:
        event = conduct.restore(stored.type, stored.payload)
        if not isinstance(event, MatchCancelled) and not 0 <= event.seat < len(match.setup.seats):
            raise Undecodable("seat", "does not exist")
        if isinstance(event, TurnTimedOut) and match.setup.time_control is None:
            raise Undecodable(stored.type, "stands in a match without a clock")
        return event

    def _closed(self, after: Match, closing: StoredEvent | None) -> Match:
        if closing is None:
            raise Undecodable(records.MATCH_CLOSED, "is missing")
        closed = records.restore_closed(closing)
        if closed.result != after.result:
            raise Undecodable(records.MATCH_CLOSED, "tells another outcome than the game's")
        return replace(after, server_seed=closed.server_seed)


def _created(match: Match) -> records.Created:
    return records.Created(
        match.match_id,
        match.game,
        match.rules_version,
        match.data_hash,
        match.setup,
        match.commitment,
        match.sealed_seed,
        match.forked_from,
    )
