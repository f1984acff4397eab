"""The `promontory` command: every process, the whole platform on one machine, and the tools around it."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from promontory import __version__
from promontory.client.starters import FIRST_GAME
from promontory.local.admin_commands import add_admin
from promontory.local.archive_commands import add_archive
from promontory.local.arguments import (
    Parsers,
    Run,
    access,
    access_options,
    command,
    count,
    data_option,
    group,
    json_option,
    output_option,
    print_json,
    seat_option,
    tell,
)
from promontory.local.backup_commands import add_backup, add_reconcile, add_restore
from promontory.local.check_commands import add_audit, add_versions
from promontory.local.container_commands import add_health, add_keys
from promontory.local.lobby_commands import add_matches, add_table
from promontory.local.player_commands import add_player
from promontory.local.rebuild_commands import add_load_functions
from promontory.local.replay_commands import add_replay
from promontory.local.watch_commands import add_watch


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command in `argv` and exit: 0 done, 1 failed, 2 wrong usage, 130 interrupted, 141 read no further."""
    arguments = parser().parse_args(argv)
    if arguments.end_with_input:
        threading.Thread(target=_end_with_input, daemon=True).start()
    run: Run = arguments.run
    try:
        code = run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        code = _read_no_further()
    except OSError as error:
        code = _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), arguments)
    except ModuleNotFoundError as error:
        code = _fail(f"this command needs the package {error.name}: pip install 'promontory[server]'", arguments)
    except Exception as error:  # noqa: BLE001 - the edge: people get a sentence, --debug the trace
        code = _fail(str(error) or type(error).__name__, arguments)
    sys.exit(code)


def _read_no_further() -> int:
    """Write nothing more to whoever read the output and has gone, as `head` does; that is no failure to tell of."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    top = argparse.ArgumentParser(
        prog="promontory", description="Ranked, turn-based board games: play them, write bots for them, run them."
    )
    top.add_argument("--version", action="version", version=f"promontory {__version__}")
    top.add_argument("--debug", action="store_true", help="show the trace of an error")
    top.add_argument("--end-with-input", action="store_true", help=argparse.SUPPRESS)
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add in (
        _up,
        _demo,
        _bot,
        _arena,
        _leaderboard,
        _show,
        add_watch,
        add_matches,
        add_table,
        add_replay,
        _export,
        add_audit,
        add_versions,
        _token,
        add_player,
        _serve,
        _relay,
        _work,
        add_load_functions,
        add_keys,
        add_health,
        add_archive,
        add_admin,
        add_backup,
        add_restore,
        add_reconcile,
    ):
        add(commands)
    return top


def _up(commands: Parsers) -> None:
    up = command(commands, "up", _run_up, "Run the whole platform on this machine until Ctrl-C.")
    data_option(up)
    up.add_argument("--any-ports", action="store_true", help="take any free ports instead of the usual ones")
    up.add_argument("--workers", type=count, default=1, metavar="N", help="worker processes (default: %(default)s)")


def _run_up(arguments: argparse.Namespace) -> int:
    from promontory.local import up

    return up.run(arguments.data_dir, any_ports=arguments.any_ports, workers=arguments.workers)


def _demo(commands: Parsers) -> None:
    demo = command(commands, "demo", _run_demo, "Play rated matches of house bots from ticket to leaderboard.")
    demo.add_argument("--matches", type=count, default=30, metavar="N", help="matches to play (default: %(default)s)")
    demo.add_argument("--game", action="append", metavar="GAME", help="a game to play; may be repeated (default: all)")
    demo.add_argument("--export-dir", type=Path, metavar="DIR", help="keep one audit file per finished match here")
    json_option(demo)


def _run_demo(arguments: argparse.Namespace) -> int:
    from promontory.local import demo

    options = demo.Options(
        matches=arguments.matches, games=tuple(arguments.game or ()), export_directory=arguments.export_dir
    )
    return demo.run(options, as_json=arguments.json)


def _bot(commands: Parsers) -> None:
    actions = group(commands, "bot", "Write a bot of your own and let it play.", of="action")
    new = command(actions, "new", _run_bot_new, "Write a first bot to a new file.")
    new.add_argument("file", type=Path, help="the file to write; its name ends in .py")
    new.add_argument("--game", default=FIRST_GAME, help="the game it plays (default: %(default)s)")
    new.add_argument("--search", action="store_true", help="a bot that searches ahead with the referee's own rules")
    run = command(actions, "run", _run_bot, "Enter a bot into a pool's queue and let it play.")
    run.epilog = "Exit code 0: all matches were played; 1: the run failed, or every command of the bot was refused."
    run.add_argument("file", type=Path, help="a Python file with a function choose(view, rng)")
    run.add_argument("--pool", required=True, help="the pool to enter, for example transcontinental.ranked")
    run.add_argument("--matches", type=count, default=1, metavar="N", help="matches to play (default: %(default)s)")
    run.add_argument(
        "--concurrent",
        type=count,
        default=1,
        metavar="K",
        help="matches at a time (default: %(default)s); one waits in the queue while the others are played, so a bot"
        " gains by it whose matches last longer than its wait",
    )
    run.add_argument("--seed", type=int, help="seed of the bot's random numbers (default: another one each run)")
    run.add_argument("--resume", action="store_true", help="first go on with matches that an earlier run left open")
    access_options(run)
    json_option(run)


def _run_bot_new(arguments: argparse.Namespace) -> int:
    from promontory.client import arena_command, bot_command
    from promontory.games import registry
    from promontory.matchmaking.pools import shipped_pools

    file, game = arguments.file, arguments.game
    bot_command.new(file, game, search=arguments.search)
    pool = next((pool.id for pool in shipped_pools() if pool.game == game), "POOL")
    seats = registry.seat_counts(registry.game(game).seats)
    print(f"wrote {file}; let it play: promontory bot run {file} --pool {pool}")
    measure = arena_command.command_line(game, str(file))
    print(f"measure it in seconds, with a policy for each of {seats} seats: {measure}")
    return 0


def _run_bot(arguments: argparse.Namespace) -> int:
    from promontory.client import bot_command
    from promontory.client.bot import BotPlan
    from promontory.client.bot_events import Narrator

    plan = BotPlan(
        arguments.pool,
        matches=arguments.matches,
        concurrent=arguments.concurrent,
        seed=arguments.seed,
        resume=arguments.resume,
    )
    result = asyncio.run(bot_command.run(arguments.file, plan, access(arguments), on_event=Narrator(tell)))
    if arguments.json:
        print_json(result)
    else:
        print(result)
    return 1 if result.never_played else 0


def _arena(commands: Parsers) -> None:
    arena = command(commands, "arena", _run_arena, "Measure bot policies against each other with the rules alone.")
    arena.add_argument("--game", default=FIRST_GAME, help="the game (default: %(default)s)")
    arena.add_argument(
        "--policies",
        help="as many as there are to be seats, comma separated: the game's own, which are greedy and random, or bots'"
        " files, FILE.py (default: greedy, and random for each further seat that the game needs)",
    )
    arena.add_argument("--games", type=count, default=200, metavar="N", help="games to play (default: %(default)s)")
    arena.add_argument("--seed", type=int, default=1, help="seed of deals and policies (default: %(default)s)")
    json_option(arena)


def _run_arena(arguments: argparse.Namespace) -> int:
    from promontory.bots.arena import Plan
    from promontory.client import arena_command

    named = arguments.policies
    policies = arena_command.usual_policies(arguments.game) if named is None else tuple(named.split(","))
    plan = Plan(policies, games=arguments.games, seed=arguments.seed)
    progress = arena_command.progress_line(sys.stderr.write) if sys.stderr.isatty() else None
    result = arena_command.run(arguments.game, plan, progress=progress)
    if arguments.json:
        print_json(result)
    else:
        print(arena_command.report(result))
    return 0


def _leaderboard(commands: Parsers) -> None:
    board = command(commands, "leaderboard", _run_leaderboard, "Show the players of a pool, the best first.")
    board.add_argument("--pool", required=True, help="the pool, for example transcontinental.ranked")
    access_options(board)
    json_option(board)


def _run_leaderboard(arguments: argparse.Namespace) -> int:
    from promontory.client import reading

    entries = asyncio.run(reading.leaderboard(access(arguments), arguments.pool))
    if arguments.json:
        print_json(entries)
    else:
        print(reading.leaderboard_text(arguments.pool, entries))
    return 0


def _show(commands: Parsers) -> None:
    show = command(commands, "show", _run_show, "Show how a match stands, as a seat or a spectator may see it.")
    show.add_argument("match", help="the match's id")
    seat_option(show)
    show.add_argument("--at", type=count, metavar="VERSION", help="an earlier version (default: the latest)")
    access_options(show)
    json_option(show)


def _run_show(arguments: argparse.Namespace) -> int:
    from promontory.client import match_text, reading

    look = reading.look(access(arguments), arguments.match, seat=arguments.seat, version=arguments.at)
    update, game = asyncio.run(look)
    if arguments.json:
        print_json(update)
    else:
        print(match_text.match_text(update, game))
    return 0


def _export(commands: Parsers) -> None:
    summary = "Write the audit file of a finished match, and beside it what it made of ratings."
    export = command(commands, "export", _run_export, summary)
    export.add_argument("match", help="the match's id")
    output_option(export, usual="MATCH.jsonl")
    access_options(export)


def _run_export(arguments: argparse.Namespace) -> int:
    from promontory.client import rating_record, reading

    file = arguments.output or Path(f"{arguments.match}.jsonl")
    file.write_bytes(asyncio.run(reading.export(access(arguments), arguments.match)))
    beside = asyncio.run(rating_record.keep(access(arguments), arguments.match, file))
    print(f"wrote {file}{f' and {beside}' if beside else ''}; check it: promontory audit {file}")
    return 0


def _token(commands: Parsers) -> None:
    token = command(commands, "token", _run_token, "Mint a player's token with the development key.")
    token.add_argument("--player", required=True, help="the player's id: 1 to 64 of a-z, 0-9, _, -, ., :")
    token.add_argument("--admin", action="store_true", help="an admin's token instead, for `promontory admin`")
    token.add_argument("--hours", type=float, default=24, help="how long it is good (default: %(default)s)")
    data_option(token)


def _run_token(arguments: argparse.Namespace) -> int:
    from promontory.local.keys import KeyRing

    ring = KeyRing(arguments.data_dir / "keys")
    ring.require()
    mint = ring.admin_token if arguments.admin else ring.player_token
    print(mint(arguments.player, life=timedelta(hours=arguments.hours)))
    return 0


def _serve(commands: Parsers) -> None:
    summary = "Run one service until SIGTERM; settings come from PROMONTORY_*."
    services = group(commands, "serve", summary, of="service")
    rules = command(services, "rules", _run_rules, "Referee the matches of one game.")
    rules.add_argument("--game", required=True, help="the game's name, for example transcontinental")
    command(services, "matchmaking", _run_matchmaking, "Queue tickets, make matches, keep the lobby.")
    command(services, "scoring", _run_scoring, "Tally matches and keep the ratings.")
    command(
        services, "admin", _run_admin, "Let admins look into the platform and mend it; apart from what players call."
    )


def _run_rules(arguments: argparse.Namespace) -> int:
    from promontory.rules.main import main as rules_main
    from promontory.runtime.settings import RulesSettings

    return _serve_process(f"rules.{arguments.game}", RulesSettings, lambda found: rules_main(arguments.game, found))


def _run_matchmaking(_: argparse.Namespace) -> int:
    from promontory.matchmaking.main import main as matchmaking_main
    from promontory.runtime.settings import MatchmakingSettings

    return _serve_process("matchmaking", MatchmakingSettings, matchmaking_main)


def _run_scoring(_: argparse.Namespace) -> int:
    from promontory.runtime.settings import ScoringSettings
    from promontory.scoring.main import main as scoring_main

    return _serve_process("scoring", ScoringSettings, scoring_main)


def _run_admin(_: argparse.Namespace) -> int:
    from promontory.admin.main import main as admin_main
    from promontory.runtime.settings import AdminSettings

    return _serve_process("admin", AdminSettings, admin_main)


def _relay(commands: Parsers) -> None:
    command(commands, "relay", _run_relay, "Hand the logs' obligations to the workers until SIGTERM.")


def _run_relay(_: argparse.Namespace) -> int:
    from promontory.relay.main import main as relay_main
    from promontory.runtime.settings import RelaySettings

    return _serve_process("relay", RelaySettings, relay_main)


def _work(commands: Parsers) -> None:
    command(commands, "work", _run_work, "Play bots' turns and tally finished matches until SIGTERM.")


def _run_work(_: argparse.Namespace) -> int:
    from promontory.runtime import process
    from promontory.runtime.settings import WorkerSettings, load
    from promontory.workers.main import run_worker

    settings = load(WorkerSettings)
    process.begin("worker", settings)
    return run_worker(settings)


def _serve_process(name: str, kind: type[Any], serve: Callable[[Any], Any]) -> int:
    from promontory.runtime import process, server
    from promontory.runtime.settings import load

    settings: Any = load(kind)
    process.begin(name, settings)
    process.trace(name, settings)
    server.run(serve(settings))
    return 0


def _end_with_input() -> None:
    """Stop as on SIGTERM when standard input ends: the platform that started this process is gone."""
    while os.read(sys.stdin.fileno(), 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _fail(sentence: str, arguments: argparse.Namespace) -> int:
    if arguments.debug:
        raise  # noqa: PLE0704 - called from the handler of the error
    print(f"promontory: {sentence}", file=sys.stderr)
    return 1
