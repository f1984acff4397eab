"""Recomputing a pool's ratings from the logs of its matches, to prove that what is recorded follows from them."""

from __future__ import annotations

import hashlib

import msgspec

from promontory.api.scoring.v1.scoring_service_pb2 import ListLeaderboardResponse
from promontory.codec.stored import canonical
from promontory.eventlog.port import START, Commit, EventLog, LogCorrupt
from promontory.scoring.domain import PlayerForgotten, PoolRatings, Tally, tally
from promontory.scoring.ladders import commits_after
from promontory.scoring.messages import standing_message
from promontory.scoring.records import closed_match, command_id_of, encode, is_match, recorded, stream_of


class Difference(msgspec.Struct, frozen=True):
    """Where the record and the recomputation part: the rating log's commit, its match if it is known, and the cause."""

    version: int
    match_id: str
    cause: str


class Rebuilt(msgspec.Struct, frozen=True):
    """What a rebuild found.

    `leaderboard_sha256` is the hex SHA-256 of the recomputed leaderboard's bytes; `equal` if every record is, to the
    byte, what the matches' logs give; otherwise `first_difference` says where it first is not.
    """

    pool: str
    matches: int
    players: int
    leaderboard_sha256: str
    equal: bool
    first_difference: Difference | None

    def sentence(self) -> str:
        """Return the finding in one sentence."""
        counted = f"{self.pool}: {self.matches} matches, {self.players} players"
        where = self.first_difference
        if where is None:
            return f"{counted}; every rating follows from the logs, to the byte (leaderboard {self.leaderboard_sha256})"
        return f"{counted}; differs from the logs at entry {where.version}, match {where.match_id}: {where.cause}"


async def rebuild_pool(log: EventLog, pool: str) -> Rebuilt:
    """Recompute the ratings of `pool` from the logs of its matches, in the order of its rating log, and compare.

    Players who were forgotten, which no match's log tells, are forgotten where the rating log says so.
    Changes nothing. Goes on past a record that differs, with what it should have been, and stops at one that cannot be
    read.
    """
    rebuild = _Rebuild(log, pool)
    await rebuild.run()
    standings = rebuild.ratings.standings(version=rebuild.ratings.version)
    leaderboard = ListLeaderboardResponse(entries=map(standing_message, standings))
    return Rebuilt(
        pool=pool,
        matches=rebuild.ratings.matches,
        players=len(standings),
        leaderboard_sha256=hashlib.sha256(canonical(leaderboard)).hexdigest(),
        equal=rebuild.difference is None,
        first_difference=rebuild.difference,
    )


class _Rebuild:
    def __init__(self, log: EventLog, pool: str) -> None:
        self._log, self._pool, self._stream = log, pool, stream_of(pool)
        self.ratings = PoolRatings()
        self.difference: Difference | None = None

    async def run(self) -> None:
        try:
            async for commit in commits_after(self._log, self._stream, START):
                await self._redo(commit)
        except LogCorrupt as error:
            self._differ(error.version, "", str(error))

    async def _redo(self, commit: Commit) -> None:
        record = recorded(self._stream, commit)
        if isinstance(record, PlayerForgotten):
            self.ratings.apply(record)
            return
        recomputed, cause = await self._recomputed(record)
        if not cause and encode(recomputed) != commit.events[0].payload:
            cause = "the record is not what the match's log gives"
        if not cause and commit.command_id != command_id_of(record.match_id):
            cause = f"the command id {commit.command_id!r} does not keep the match from counting again"
        if cause:
            self._differ(commit.version, record.match_id, cause)
        self.ratings.apply(recomputed)

    async def _recomputed(self, record: Tally) -> tuple[Tally, str]:
        """Return what the match's log gives and "", or what is recorded and why nothing else can be had."""
        if self.ratings.tally_of(record.match_id):
            return record, "the match counts a second time"
        try:
            commits = await self._log.read(record.match_id)
            if not is_match(commits):
                return record, "the match's log is gone"
            match = closed_match(record.match_id, commits)
        except (LogCorrupt, ValueError) as error:
            return record, str(error)
        if not match.counts or match.pool != self._pool:
            return record, "the match does not count in this pool"
        if not record.create_time_ms:
            match = msgspec.structs.replace(match, create_time_ms=0)
        return tally(match, self.ratings), ""

    def _differ(self, version: int, match_id: str, cause: str) -> None:
        self.difference = self.difference or Difference(version, match_id, cause)
