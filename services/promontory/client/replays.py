"""Finished matches, version by version, as any seat saw them or in full: from their audit files, without a server."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from promontory.client.matches import ForkOrigin, MatchOutcome, origin_of
from promontory.client.recordings import Recorded, Recording, RecordingError, read
from promontory.codec.conduct import MatchEvent
from promontory.codec.registry import codec
from promontory.games import registry
from promontory.games.kernel import Pile
from promontory.games.registry import AnyGame


class Frame(msgspec.Struct, frozen=True):
    """A match at `version` as one seat saw it, or a spectator, when it was recorded (UTC).

    `view` is the game's own view struct; `events` led to this version, and `match_events` happened beside the game, and
    before them. `to_act` are the seats that might act. `outcome` is set in the last frame.
    """

    version: int
    record_time: datetime
    view: Any
    events: tuple[Any, ...]
    match_events: tuple[MatchEvent, ...]
    to_act: tuple[int, ...]
    outcome: MatchOutcome | None = None


class FullFrame(msgspec.Struct, frozen=True):
    """A match at `version` with nothing hidden; see `Frame`.

    `views` are those of all seats in their order, and `hidden` are the piles that no seat could see. `state` is the
    game's own: what the rules go on from.
    """

    version: int
    record_time: datetime
    views: tuple[Any, ...]
    hidden: tuple[Pile, ...]
    events: tuple[Any, ...]
    match_events: tuple[MatchEvent, ...]
    to_act: tuple[int, ...]
    state: Any
    outcome: MatchOutcome | None = None


class Replay:
    """A finished match whose every version can be looked at, at once and in any order.

    replay = await client.replay(match_id)
    for frame in replay.frames(seat=0):
        print(frame.version, frame.events)
    """

    def __init__(self, recording: Recording, game: AnyGame) -> None:
        """Play the `recording` by the rules of `game`, which are those that it is pinned to."""
        created = recording.created
        self.match_id, self.rules_version = created.match_id, created.rules_version
        self.players = tuple(seat.player_id for seat in created.setup.seats)
        self.pool, self.rated = created.setup.pool, created.setup.rated
        self.forked_from: ForkOrigin | None = origin_of(created)
        self.game = game
        self._steps = list(_steps(recording, game))

    @property
    def last(self) -> int:
        """The last version; the first is 1."""
        return len(self._steps)

    @property
    def outcome(self) -> MatchOutcome:
        """How the match ended."""
        outcome = self._steps[-1].commit.outcome
        assert outcome is not None, "a recording ends with the end of its match"  # noqa: S101 - for the checker
        return outcome

    def at(self, version: int, *, seat: int | None = None) -> Frame:
        """Return the match at `version` as `seat`, or a spectator, saw it.

        Raises `IndexError` for a version or a seat that the match does not have.
        """
        step, game = self._step(version), self.game
        if seat is not None and not 0 <= seat < len(self.players):
            raise IndexError(f"the match has the seats 0 to {len(self.players) - 1}, not {seat}")
        return Frame(
            version=version,
            record_time=step.commit.record_time,
            view=game.view(step.state, seat),
            events=tuple(
                game.redact(state, event, seat) for state, event in zip(step.states, step.commit.events, strict=True)
            ),
            match_events=step.commit.match_events,
            to_act=self._to_act(step),
            outcome=step.commit.outcome,
        )

    def full(self, version: int) -> FullFrame:
        """Return the match at `version` with nothing hidden. Raises `IndexError` if it has no such version."""
        step, game = self._step(version), self.game
        return FullFrame(
            version=version,
            record_time=step.commit.record_time,
            views=tuple(game.view(step.state, seat) for seat in range(len(self.players))),
            hidden=game.hidden(step.state),
            events=step.commit.events,
            match_events=step.commit.match_events,
            to_act=self._to_act(step),
            state=step.state,
            outcome=step.commit.outcome,
        )

    def frames(self, *, seat: int | None = None, first: int = 1) -> Iterator[Frame]:
        """Yield the match as `seat`, or a spectator, saw it, at each version from `first` on."""
        return (self.at(version, seat=seat) for version in range(first, self.last + 1))

    def _step(self, version: int) -> _Step:
        if not 1 <= version <= self.last:
            raise IndexError(f"the match has the versions 1 to {self.last}, not {version}")
        return self._steps[version - 1]

    def _to_act(self, step: _Step) -> tuple[int, ...]:
        return () if step.commit.outcome else self.game.to_act(step.state)


class _Step(msgspec.Struct, frozen=True):
    """A commit, the states after each of its events, and that after all of them."""

    commit: Recorded
    states: tuple[Any, ...]
    state: Any


def replay_file(file: Path, data: Sequence[bytes] = ()) -> Replay:
    """Return the match in an audit file, played with the cards or tiles that come with its game or are in `data`.

    Raises:
        RecordingError: it is no audit file, or was played with others.
        UnknownGameError, UnknownRulesError: this distribution lacks its rules.
        OSError: it cannot be read.
    """
    recording = read(file.read_bytes())
    created = recording.created
    entry = registry.entry(created.game)
    game = entry.load(rules_version=created.rules_version)
    for own in data:
        if hashlib.sha256(own).digest() == created.data_hash:
            game = entry.load(own, rules_version=created.rules_version)
    if game.data_hash != created.data_hash:
        wanted, option = created.data_hash.hex(), f"--game-data {entry.name}=FILE"
        raise RecordingError(f"it is played with data whose SHA-256 is {wanted}; name that file: {option}")
    return Replay(recording, game)


def _steps(recording: Recording, game: AnyGame) -> Iterator[_Step]:
    state = game.initial(len(recording.created.setup.seats))
    for commit in recording.commits(codec(game.name)):
        states = []
        for event in commit.events:
            state = game.evolve(state, event)
            states.append(state)
        yield _Step(commit, tuple(states), state)
