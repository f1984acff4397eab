"""Ratings: what a match changes, and a pool's ratings as its rating log tells them. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import count
from operator import attrgetter

import msgspec
from openskill.models import BradleyTerryPart

NEW_MU = 25.0
NEW_SIGMA = 25.0 / 3.0
NEW_POINTS = 1500.0
POINTS_PER_MU = 40.0
ASSURED_SIGMAS = 3.0
KEPT_BOARDS = 8

_MODEL = BradleyTerryPart(mu=NEW_MU, sigma=NEW_SIGMA)


class Rating(msgspec.Struct, frozen=True):
    """An estimate of skill: normal with mean `mu` and standard deviation `sigma`, from `matches` rated matches."""

    mu: float = NEW_MU
    sigma: float = NEW_SIGMA
    matches: int = 0

    @property
    def points(self) -> float:
        """What people read: 1500 for a new player."""
        return NEW_POINTS + POINTS_PER_MU * (self.mu - NEW_MU)

    @property
    def assured_points(self) -> float:
        """The points that the player's skill exceeds almost surely: three standard deviations below `points`."""
        return self.points - ASSURED_SIGMAS * POINTS_PER_MU * self.sigma


NEW_RATING = Rating()


class Finish(msgspec.Struct, frozen=True):
    """How one seat came off: its player, its finishing place from 1 (ties share the better one), its final score."""

    seat: int
    player_id: str
    place: int
    score: int


class ClosedMatch(msgspec.Struct, frozen=True):
    """What a closed match's log says about its end; `fingerprint` stands for the whole log."""

    match_id: str
    game: str
    pool: str
    rated: bool
    finishes: tuple[Finish, ...]
    create_time_ms: int
    close_time_ms: int
    fingerprint: str

    @property
    def counts(self) -> bool:
        """Whether the match changes ratings: it is rated, has a pool, and nobody played against themselves."""
        players = {finish.player_id for finish in self.finishes}
        return self.rated and bool(self.pool) and len(players) == len(self.finishes) > 1


class Change(msgspec.Struct, frozen=True):
    """What a match changed for one seat's player."""

    finish: Finish
    before: Rating
    after: Rating


class Tally(msgspec.Struct, frozen=True):
    """What a match changed, in the order of seats; `create_time_ms` is 0 in records of before that was noted."""

    match_id: str
    game: str
    pool: str
    changes: tuple[Change, ...]
    create_time_ms: int
    close_time_ms: int

    @property
    def begun_ms(self) -> int:
        """When the match was created, or closed where an old record does not tell."""
        return self.create_time_ms or self.close_time_ms


class PlayerForgotten(msgspec.Struct, frozen=True):
    """A player was taken from a pool's leaderboard.

    Matches that were created by `forget_time_ms` count no longer for the player, whenever they end and are tallied.
    """

    player_id: str
    pool: str
    forget_time_ms: int


class RatingStep(msgspec.Struct, frozen=True):
    """One step of a player's history; `version` is the commit of the rating log that made it."""

    version: int
    match_id: str
    change: Change
    create_time_ms: int
    close_time_ms: int


class Standing(msgspec.Struct, frozen=True):
    """A player's place in a pool: the rank from 1, equal players sharing the better one."""

    rank: int
    player_id: str
    rating: Rating


class PoolRatings:
    """A pool's ratings, folded from its tallies in the order of its rating log.

    What has been folded stays, so every question can be asked as of an earlier `version` of the log. Only of players
    who were forgotten nothing is told, as of whatever version; the ratings of others rest on theirs all the same.
    """

    def __init__(self) -> None:
        self.version = 0
        self._tallies: dict[str, Tally] = {}
        self._histories: dict[str, list[RatingStep]] = {}
        self._boards: dict[int, Sequence[Standing]] = {}
        self._forgotten: dict[str, int] = {}
        """When players were forgotten, in ms since the epoch."""

    def apply(self, entry: Tally | PlayerForgotten) -> None:
        """Fold the next entry of the rating log in."""
        self.version += 1
        if isinstance(entry, Tally):
            self._count(entry)
        else:
            before_ms = self._forgotten.get(entry.player_id, 0)
            self._forgotten[entry.player_id] = max(before_ms, entry.forget_time_ms)
            self._boards.clear()

    def _count(self, tally: Tally) -> None:
        self._tallies[tally.match_id] = tally
        for change in tally.changes:
            step = RatingStep(self.version, tally.match_id, change, tally.begun_ms, tally.close_time_ms)
            self._histories.setdefault(change.finish.player_id, []).append(step)

    def tally_of(self, match_id: str) -> Tally | None:
        """Return what the match changed, or None if it has not been tallied."""
        return self._tallies.get(match_id)

    def rating(self, player_id: str) -> Rating:
        """Return the player's rating now; that of a new player if there is none yet."""
        steps = self.history(player_id, version=self.version)
        return steps[-1].change.after if steps else NEW_RATING

    def rating_before(self, player_id: str, create_time_ms: int) -> Rating:
        """Return the rating with which the player enters the tally of a match that was created at `create_time_ms`.

        A match from before the player was forgotten goes on from the rating of then, for the sake of the others in it.
        """
        forgotten_ms = self._forgotten.get(player_id)
        if forgotten_ms is None or create_time_ms > forgotten_ms:
            return self.rating(player_id)
        then = [step for step in self._histories.get(player_id, []) if step.create_time_ms <= forgotten_ms]
        return then[-1].change.after if then else NEW_RATING

    def history(self, player_id: str, *, version: int) -> Sequence[RatingStep]:
        """Return the player's steps up to `version`, the oldest first; none from before the player was forgotten."""
        steps = self._histories.get(player_id, [])
        steps = steps[: bisect_right(steps, version, key=attrgetter("version"))]
        forgotten_ms = self._forgotten.get(player_id)
        return steps if forgotten_ms is None else [step for step in steps if step.create_time_ms > forgotten_ms]

    def standings(self, *, version: int) -> Sequence[Standing]:
        """Return the players as of `version`, by assured points, the best first; equal ones by their id.

        The tables of the versions asked for last are kept, since a list is read page after page.
        """
        if version not in self._boards:
            while len(self._boards) >= KEPT_BOARDS:
                del self._boards[next(iter(self._boards))]
            self._boards[version] = self._board(version)
        return self._boards[version]

    def _board(self, version: int) -> Sequence[Standing]:
        histories = ((player_id, self.history(player_id, version=version)) for player_id in self._histories)
        rated = [(player_id, steps[-1].change.after) for player_id, steps in histories if steps]
        return _ranked(sorted(rated, key=lambda each: (-each[1].assured_points, each[0])))

    @property
    def matches(self) -> int:
        """How many matches have been tallied."""
        return len(self._tallies)


def tally(match: ClosedMatch, ratings: PoolRatings) -> Tally:
    """Return what `match` changes, given the ratings before it.

    Openskill's Bradley-Terry model with partial pairing, each seat a team of one, places shared by ties.
    """
    begun_ms = match.create_time_ms or match.close_time_ms
    before = [ratings.rating_before(finish.player_id, begun_ms) for finish in match.finishes]
    after = rate(before, [finish.place for finish in match.finishes])
    changes = map(Change, match.finishes, before, after)
    times = match.create_time_ms, match.close_time_ms
    return Tally(match.match_id, match.game, match.pool, tuple(changes), *times)


def rate(before: Sequence[Rating], places: Sequence[int]) -> tuple[Rating, ...]:
    """Return the ratings after a match between players rated `before` that finished in `places`."""
    teams = [[_MODEL.rating(mu=rating.mu, sigma=rating.sigma)] for rating in before]
    rated = _MODEL.rate(teams, ranks=[float(place) for place in places])
    return tuple(
        Rating(team[0].mu, team[0].sigma, rating.matches + 1) for team, rating in zip(rated, before, strict=True)
    )


def _ranked(rated: Sequence[tuple[str, Rating]]) -> Sequence[Standing]:
    standings: list[Standing] = []
    for position, (player_id, rating) in zip(count(1), rated, strict=False):
        best = standings[-1] if standings else None
        is_equal = best is not None and best.rating.assured_points == rating.assured_points
        standings.append(Standing(best.rank if best and is_equal else position, player_id, rating))
    return standings
