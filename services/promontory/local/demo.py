"""The demonstration: house bots play rated matches through every process, from ticket to leaderboard."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
import uvloop

from promontory import AsyncClient, MatchSummary, PromontoryError, Timing
from promontory.api.matchmaking.v1 import matchmaking_service_pb2 as pb
from promontory.client.asynchronous import RETRY_SECONDS
from promontory.client.connection import Connection, Remote
from promontory.client.ratings import LeaderboardEntry
from promontory.client.seats import new_request_id
from promontory.client.tickets import MATCHMAKING
from promontory.local.demo_display import Display
from promontory.local.platform import GAME_NAMES, Platform
from promontory.local.redis_spare import spare_database
from promontory.local.scrape import Scrape, scrape
from promontory.matchmaking.domain import Pool
from promontory.matchmaking.pools import load_pools
from promontory.rules.audit import audit, shipped_rulesets
from promontory.runtime import clock
from promontory.runtime.identity import Scope
from promontory.runtime.settings import given

DEMO_POOLS = Path(__file__).with_name("demo_pools.toml")
MATCH_SECONDS = 120
TALLY_SECONDS = 30
WATCH_SECONDS = 0.5


class Options(msgspec.Struct, frozen=True):
    """What to play: how many matches, of which games (none: all), and where to keep the audit files."""

    matches: int = 30
    games: tuple[str, ...] = ()
    export_directory: Path | None = None


class MatchResult(msgspec.Struct, frozen=True):
    """One match of the demonstration; `places` and `scores` in the order of seats."""

    match_id: str
    game: str
    players: tuple[str, ...]
    places: tuple[int, ...]
    scores: tuple[int, ...]
    version: int
    audited: bool


class Standing(msgspec.Struct, frozen=True):
    """A line of a leaderboard, which is ranked by `assured_points`."""

    pool: str
    rank: int
    player: str
    assured_points: float
    points: float
    matches: int


class Result(msgspec.Struct, frozen=True):
    """What the demonstration found; the figures are read from the processes' Prometheus endpoints.

    Commands are overtaken where another seat was quicker, which happens where several are to act: they are given anew.
    """

    finished: int
    failed: int
    seconds: float
    matches_per_minute: float
    events_appended: int
    commands_accepted: int
    commands_overtaken: int
    commands_rejected: int
    commands_per_second: float
    p50_ms: float
    p99_ms: float
    audit_ok: bool
    leaderboard: tuple[Standing, ...]
    results: tuple[MatchResult, ...]


def run(options: Options, *, as_json: bool) -> int:
    """Play the demonstration, show it, and return the exit code: 0 if every match finished and was audited.

    Raises `ValueError` for a game without a pool, `DatabaseInUse` if a server is given that is not empty.
    """
    demo_pools(options.games)
    with Display(options.matches, quiet=as_json) as display:
        if url := given("redis_url"):
            with spare_database(url):
                result = _play(options, display, redis_url=url)
        else:
            result = _play(options, display)
    display.show(result)
    complete = result.finished == options.matches and not result.failed and result.audit_ok
    return 0 if complete else 1


def _play(options: Options, display: Display, *, redis_url: str | None = None) -> Result:
    settings = {"PROMONTORY_POOLS_FILE": str(DEMO_POOLS)}
    with tempfile.TemporaryDirectory(prefix="promontory-") as home:
        display.say("starting the event log, matchmaking, rules, scoring, relay and a worker")
        with Platform(Path(home), redis_url=redis_url, settings=settings) as platform:
            result = uvloop.run(Demonstration(platform, options, display).play())
        display.say("stopped every process")
    return result


class Demonstration:
    """One run on a platform that is up."""

    def __init__(self, platform: Platform, options: Options, display: Display) -> None:
        self._platform, self._options, self._display = platform, options, display
        house = platform.keys.service("demo", frozenset({Scope.ENTER_HOUSE_BOT}))
        self._client = AsyncClient(platform.endpoints, token=house.token)
        connection = Connection(platform.endpoints, token=house.token, retry_seconds=RETRY_SECONDS, timing=Timing())
        self._queue = Remote(connection, MATCHMAKING)
        self._planned = spread(demo_pools(options.games), options.matches)
        self._rulesets = shipped_rulesets()
        self._followed: dict[str, asyncio.Task[None]] = {}
        self._results: list[MatchResult] = []

    async def play(self) -> Result:
        """Play all matches, wait for their tallies, and return what came out."""
        async with self._client:
            started = clock.monotonic()
            watching = asyncio.create_task(self._watch_progress())
            await asyncio.gather(*(self._play_pool(pool, n) for pool, n in self._planned))
            seconds = clock.monotonic() - started
            watching.cancel()
            self._display.figures(await self._scrape())
            leaderboard = await self._leaderboard()
            figures = await self._scrape()
        return self._result(figures, seconds, leaderboard)

    async def _play_pool(self, pool: Pool, matches: int) -> None:
        places = iter(range(matches * pool.seats))
        await asyncio.gather(*(self._keep_playing(pool, bot.player, places) for bot in pool.house_bots))

    async def _keep_playing(self, pool: Pool, bot: str, places: Iterator[int]) -> None:
        for _ in places:
            request = pb.CreateTicketRequest(request_id=new_request_id(), pool=pool.id, house_bot=bot)
            answer = await self._queue.call("CreateTicket", request)
            seat = await self._client.ticket(answer.ticket.ticket_id).seat()
            if seat.match_id not in self._followed:
                self._followed[seat.match_id] = asyncio.create_task(self._follow(pool.game, seat.match_id))
            await self._followed[seat.match_id]

    async def _follow(self, game: str, match_id: str) -> None:
        try:
            async with asyncio.timeout(MATCH_SECONDS):
                async for update in self._client.spectate(game, match_id):
                    match = update.match
            raw = await self._client.export_match(game, match_id)
        except (TimeoutError, PromontoryError) as error:
            self._display.say(f"{match_id} did not finish: {error or 'it took too long'}")
            return
        self._keep(match_id, raw)
        result = _result_of(match, audited=audit(raw, self._rulesets, secrecy=False).ok)
        self._results.append(result)
        self._display.finished(result)

    def _keep(self, match_id: str, raw: bytes) -> None:
        if (directory := self._options.export_directory) is not None:
            directory.mkdir(parents=True, exist_ok=True)
            (directory / f"{match_id}.jsonl").write_bytes(raw)

    async def _scrape(self) -> Scrape:
        return await scrape(ready.metrics for ready in self._platform.ready.values())

    async def _watch_progress(self) -> None:
        while True:
            with suppress(OSError):
                self._display.figures(await self._scrape())
            await asyncio.sleep(WATCH_SECONDS)

    async def _leaderboard(self) -> tuple[Standing, ...]:
        lines = [await self._settled_leaderboard(pool, matches) for pool, matches in self._planned]
        return tuple(standing for each in lines for standing in each)

    async def _settled_leaderboard(self, pool: Pool, matches: int) -> list[Standing]:
        deadline = clock.monotonic() + TALLY_SECONDS
        while True:
            entries = [entry async for entry in self._client.leaderboard(pool.id)]
            tallied = sum(entry.rating.matches for entry in entries)
            if tallied >= matches * pool.seats or clock.monotonic() > deadline:
                return [_standing(pool, entry) for entry in entries]
            await asyncio.sleep(WATCH_SECONDS)

    def _result(self, figures: Scrape, seconds: float, leaderboard: tuple[Standing, ...]) -> Result:
        accepted, overtaken = (
            int(figures.total("promontory_commands_total", outcome=outcome)) for outcome in ("accepted", "conflict")
        )
        return Result(
            finished=len(self._results),
            failed=len(self._followed) - len(self._results),
            seconds=round(seconds, 2),
            matches_per_minute=round(60 * len(self._results) / seconds, 1),
            events_appended=int(figures.total("promontory_appended_events_total")),
            commands_accepted=accepted,
            commands_overtaken=overtaken,
            commands_rejected=int(figures.total("promontory_commands_total")) - accepted - overtaken,
            commands_per_second=round(accepted / seconds, 1),
            p50_ms=round(1000 * figures.quantile("promontory_command_duration_seconds", 0.5), 2),
            p99_ms=round(1000 * figures.quantile("promontory_command_duration_seconds", 0.99), 2),
            audit_ok=bool(self._results) and all(result.audited for result in self._results),
            leaderboard=leaderboard,
            results=tuple(self._results),
        )


def spread(pools: Sequence[Pool], matches: int) -> list[tuple[Pool, int]]:
    """Return how many of `matches` each pool plays: as many of each game, and as many of each number of seats."""
    by_game: dict[str, list[Pool]] = {}
    for pool in pools:
        by_game.setdefault(pool.game, []).append(pool)
    games = zip(by_game.values(), _shares(matches, len(by_game)), strict=True)
    return [pair for same, n in games for pair in zip(same, _shares(n, len(same)), strict=True)]


def _shares(total: int, parts: int) -> list[int]:
    """Return `total` in `parts` shares that differ by one at most, the greater ones first."""
    each, more = divmod(total, parts)
    return [each + (part < more) for part in range(parts)]


def _result_of(match: MatchSummary, *, audited: bool) -> MatchResult:
    placements = match.outcome.placements if match.outcome else ()
    return MatchResult(
        match_id=match.match_id,
        game=match.game,
        players=tuple(seat.player_id for seat in match.seats),
        places=tuple(placement.place for placement in placements),
        scores=tuple(placement.score for placement in placements),
        version=match.version,
        audited=audited,
    )


def _standing(pool: Pool, entry: LeaderboardEntry) -> Standing:
    rating = entry.rating
    return Standing(
        pool=pool.id,
        rank=entry.rank,
        player=rating.player_id,
        assured_points=round(entry.assured_points, 1),
        points=round(rating.points, 1),
        matches=rating.matches,
    )


def demo_pools(games: Sequence[str] = ()) -> Sequence[Pool]:
    """Return the demonstration's pools of `games`, or of all games. Raises `ValueError` for a game without one."""
    wanted = games or GAME_NAMES
    found = [pool for pool in load_pools(DEMO_POOLS) if pool.game in wanted]
    if missing := set(wanted) - {pool.game for pool in found}:
        raise ValueError(f"no pool of {', '.join(sorted(missing))}; there are the games {', '.join(GAME_NAMES)}")
    return found
