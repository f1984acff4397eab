"""The rules service's process: built from its settings, and served."""

from __future__ import annotations

import secrets

from promontory.archive.opening import with_archive
from promontory.bots.registry import policy_names
from promontory.eventlog.port import EventLog, game_buckets
from promontory.eventlog.redis_streams import open_log
from promontory.games import fairness, registry
from promontory.rules.arbitration import Arbitration
from promontory.rules.forking import Forking
from promontory.rules.ledger import Ledger
from promontory.rules.matches import Matches
from promontory.rules.ports import DrawSeed, Presence
from promontory.rules.presence import LocalPresence
from promontory.rules.redis_presence import open_presence
from promontory.rules.resuming import ResumeTokens
from promontory.rules.ruleset import Ruleset, load_ruleset
from promontory.rules.seal import load_seals
from promontory.rules.servicer import RulesCases, RulesServicer
from promontory.rules.survey import Survey
from promontory.rules.traced_log import traced_log
from promontory.rules.usecases import Environment, Referee
from promontory.rules.watch import Hub, Pace
from promontory.runtime import clock, metrics, tracing
from promontory.runtime.allowance import Allowance, creations
from promontory.runtime.redis_trails import RedisTrails
from promontory.runtime.server import Service, serve
from promontory.runtime.settings import RulesSettings, SettingsError, game_files


async def main(game_name: str, settings: RulesSettings) -> None:
    """Referee the matches of the game called `game_name` until SIGTERM.

    Raises:
        UnknownGameError: there is no such game.
        ValueError: a data file is malformed.
        OSError: a data file cannot be read.
        SealKeyError: there is no usable seal key.
        SettingsError: the archive's address is malformed.
        UnsafeServer: the event log's server would lose matches.
        LibraryMissing: the server lacks the functions; `promontory load-functions` loads them.
    """
    ruleset = load_ruleset(game_name, data_files(game_name, settings.data_files))
    async with open_log(settings.redis_url, clock=clock.now_ms, require_aof=settings.require_aof) as log:
        await log.agree_on_buckets(settings.buckets)
        archived = await with_archive(log, settings.archive_url)
        if tracing.is_on():
            archived = traced_log(archived, RedisTrails(log.caller))
        async with open_presence(settings.redis_url, clock=clock.now_ms) as presence:
            await serve(compose(ruleset, archived, settings, presence=presence), settings)


def data_files(game_name: str, setting: str) -> list[bytes]:
    """Return the contents of the operator's data files for a game, of those that `setting` names for all games.

    Raises:
        SettingsError: the setting is not of the form `game=path,game=path`, or names a game that there is not.
        OSError: a file cannot be read.
    """
    files = game_files(setting)
    names = [game.name for game in registry.GAMES]
    if strange := files.keys() - set(names):
        text = f"PROMONTORY_DATA_FILES names {', '.join(sorted(strange))}; there are the games {', '.join(names)}"
        raise SettingsError(text)
    return [file.read_bytes() for file in files.get(game_name, ())]


def draw_seed() -> bytes:
    """Return a server seed from the operating system's randomness."""
    return secrets.token_bytes(fairness.SEED_BYTES)


def archive_after_ms(settings: RulesSettings) -> int | None:
    """Return how long after its end a match is to be archived, or None where matches are not."""
    return round(1000 * settings.archive_after_seconds) if settings.archive_url else None


def compose(
    ruleset: Ruleset,
    log: EventLog,
    settings: RulesSettings,
    *,
    seed: DrawSeed = draw_seed,
    presence: Presence | None = None,
) -> Service:
    """Return the service of `ruleset`'s game on `log`; this process alone knows who is there unless `presence` does."""
    presence = presence or LocalPresence(clock.now_ms)
    game, ledger = ruleset.game, Ledger(ruleset, archive_after_ms=archive_after_ms(settings))
    metrics.ARCHIVE_AFTER_SECONDS.labels(game=game.name).set(settings.archive_after_seconds)
    matches = Matches(log, ledger, game=game.name, cached=settings.cached_matches)
    seals = load_seals(settings.seal_key_file)
    environment = Environment(seals, seed, frozenset(policy_names(game.name)), settings.buckets, presence)
    pace = Pace(settings.heartbeat_seconds, settings.max_stream_seconds)
    tokens = ResumeTokens(seals.derived_key("resume tokens"))
    hub = Hub(matches, game_buckets(ruleset.code, settings.buckets), game=game.name, pace=pace, tokens=tokens)
    referee = Referee(ruleset, ledger, matches, environment)
    hold_ms = round(1000 * settings.clock_hold_seconds)
    arbitration = Arbitration(ledger, matches, seals=seals, presence=presence, hold_ms=hold_ms)
    forking = Forking(ledger, matches, environment, Allowance(creations(settings.max_creations_per_minute)))
    servicer = RulesServicer(ruleset, RulesCases(referee, arbitration, forking), hub)
    return Service(
        servicers=[(ruleset.codec.service, servicer)],
        beside=[hub.follow_feed(), hub.sweep(), Survey(log, ruleset, every_seconds=settings.survey_seconds).run()],
        drain=[hub.drain],
        replica=f"rules.{game.name}",
    )
