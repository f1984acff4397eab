"""`promontory audit` and `promontory versions`: is what was played right, and can what is played go on?"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from promontory.local.arguments import (
    Parsers,
    access,
    access_options,
    command,
    count_line,
    data_option,
    game_data,
    game_data_option,
    json_option,
    print_json,
    redis_url,
    tell,
)


def add_audit(commands: Parsers) -> None:
    """Add `promontory audit`."""
    summary = "Check finished matches: hash chain, draws, every decision, clocks, what was shown, outcome, ratings."
    audit = command(commands, "audit", _run_audit, summary)
    audit.epilog = "Exit code 0: all are right; 1: one is wrong; 2: one could not be read or judged, and none is wrong."
    audit.add_argument(
        "matches",
        nargs="+",
        metavar="FILE|MATCH",
        help="an audit file, and the rating record FILE.ratings.json beside it if there is one; or the id of a"
        " finished match, to fetch it and its ratings from the platform",
    )
    game_data_option(audit)
    access_options(audit)
    json_option(audit, instead="a JSON list")


def _run_audit(arguments: argparse.Namespace) -> int:
    from promontory.local import audits

    try:
        findings = list(_audited(arguments))
    except (OSError, ValueError, LookupError) as error:
        tell(f"promontory: {f'{error.filename}: {error.strerror}' if isinstance(error, OSError) else error}")
        return 2
    if arguments.json:
        print_json([finding.fields() for finding in findings])
    return audits.exit_code(findings)


def _audited(arguments: argparse.Namespace) -> Iterator[Any]:
    from promontory.local import audits
    from promontory.rules.audit import shipped_rulesets

    data = game_data(arguments)
    rulesets = shipped_rulesets(data)
    files = audits.by_match(Path(source) for source in arguments.matches if not audits.is_match(source))
    show = count_line(f"of {len(arguments.matches)}") if len(arguments.matches) > 1 else None
    for number, source in enumerate(arguments.matches, start=1):
        if audits.is_match(source):
            finding = asyncio.run(audits.audit_match(access(arguments), source, data))
        else:
            finding = audits.audit_file(Path(source), rulesets, files=files)
        if not arguments.json:
            print(finding.sentence(), flush=True)
        if show is not None:
            show(number)
        yield finding


def add_versions(commands: Parsers) -> None:
    """Add `promontory versions`."""
    summary = "Count the open matches of each rules version, with the data they are played with."
    versions = command(commands, "versions", _run_versions, summary)
    versions.epilog = "Exit code 1: there are open matches that cannot be served with the rules and the data here."
    game_data_option(versions)
    data_option(versions)
    json_option(versions, instead="a JSON list")


def _run_versions(arguments: argparse.Namespace) -> int:
    from promontory.local import versions
    from promontory.runtime.settings import given

    rulesets = versions.installed(given("data_files") or "", game_data(arguments))
    found = asyncio.run(versions.survey(redis_url(arguments), rulesets, progress=count_line("open matches")))
    if arguments.json:
        print_json(found)
    else:
        print(versions.text(found))
    return 0 if all(each.served for each in found) else 1
