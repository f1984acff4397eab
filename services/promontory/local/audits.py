"""Audits of files and of matches that are fetched: the match by the rules, the ratings by the model."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

import msgspec

from promontory.client import rating_record, reading
from promontory.client.access import Access
from promontory.client.errors import PromontoryError
from promontory.client.rating_record import RatingRecord
from promontory.client.ratings import RatingChange
from promontory.eventlog.audit_file import Header
from promontory.games.registry import entry_of_match
from promontory.rules.audit import AuditReport, audit, shipped_rulesets
from promontory.rules.ruleset import Ruleset
from promontory.scoring.domain import Rating, rate

MATCH_ID = re.compile(r"[a-z]{2}-[0-9a-f]{3}-[a-z2-7]{26}")
MOST_HEADER_BYTES = 1000
CLOSE_ENOUGH = 1e-9
"""By what part a recomputed rating may differ: the last digits of a power are not the same on every machine."""

Data = Mapping[str, Sequence[bytes]]
"""Files that matches are played with, by game."""


class Finding(msgspec.Struct, frozen=True):
    """What was found of one match; `ratings` tells whether there was a rating record, which is checked as well."""

    source: str
    report: AuditReport
    ratings: bool = False

    @property
    def is_wrong(self) -> bool:
        """Whether something does not hold; a match that cannot be judged is neither right nor wrong."""
        return not self.report.ok and not self.report.undecided

    def sentence(self) -> str:
        """Return the finding in one sentence."""
        ratings = ", and so are its ratings" if self.ratings and self.report.ok else ""
        source = "" if self.source == self.report.match_id else f"{self.source}: "
        return f"{source}{self.report.sentence()}{ratings}"

    def fields(self) -> dict[str, object]:
        """Return the finding for JSON."""
        fields: dict[str, object] = msgspec.to_builtins(self.report)
        return {"file": self.source, **fields, "ratings": self.ratings}


def audit_file(file: Path, rulesets: Sequence[Ruleset], *, files: Mapping[str, Path] = MappingProxyType({})) -> Finding:
    """Check an audit file, and the rating record beside it if there is one.

    A fork is also checked against its original if that is among `files`, by match id. A file that cannot be read leaves
    the match undecided.
    """
    beside = rating_record.file_beside(file)
    try:
        raw, record = file.read_bytes(), beside.read_bytes() if beside.exists() else None
    except OSError as error:
        return Finding(str(file), _unread(error.strerror or str(error)))
    report = audit(raw, rulesets)
    if report.forked_from in files:
        report = audit(raw, rulesets, originals=[files[report.forked_from].read_bytes()])
    return Finding(str(file), report) if record is None else _with_ratings(str(file), report, record)


async def audit_match(access: Access, match_id: str, data: Data) -> Finding:
    """Fetch a finished match with its cards or tiles, its ratings and the match it was forked from, and check all.

    A match that cannot be fetched is left undecided. Raises `EndpointError` if nothing says where the platform is.
    """
    game = entry_of_match(match_id).name
    try:
        fetched = await rating_record.fetch(access, match_id)
    except PromontoryError as error:
        return Finding(match_id, _unread(str(error)))
    rulesets = shipped_rulesets({**data, game: [*data.get(game, ()), fetched.data]})
    report = audit(fetched.raw, rulesets)
    if report.forked_from:
        report = audit(fetched.raw, rulesets, originals=await _originals(access, report.forked_from))
    if report.match_id not in ("", match_id):
        return Finding(match_id, _wrong(report, f"the service gave another match: {report.match_id}"))
    if fetched.ratings is None:
        return Finding(match_id, report)
    return _with_ratings(match_id, report, rating_record.encode(fetched.ratings))


async def _originals(access: Access, match_id: str) -> list[bytes]:
    """Return the audit file of the match that another one was forked from, if it can be had."""
    with suppress(PromontoryError):
        return [await reading.export(access, match_id)]
    return []


def by_match(files: Iterable[Path]) -> dict[str, Path]:
    """Return those of `files` that say of which match they are, by its id; nothing else of them is read."""
    found: dict[str, Path] = {}
    for file in files:
        with suppress(OSError, ValueError), file.open("rb") as lines:
            found[msgspec.json.decode(lines.readline(MOST_HEADER_BYTES), type=Header).match_id] = file
    return found


def is_match(source: str) -> bool:
    """Tell whether `source` names a match, and not a file."""
    return MATCH_ID.fullmatch(source) is not None and not Path(source).exists()


def _with_ratings(source: str, report: AuditReport, raw: bytes) -> Finding:
    if not report.ok:
        return Finding(source, report, ratings=True)
    fault = next(rating_faults(report, raw), None)
    return Finding(source, report if fault is None else _wrong(report, f"its rating record: {fault}"), ratings=True)


def rating_faults(report: AuditReport, raw: bytes) -> Iterator[str]:
    """Yield what is wrong with the rating record `raw` of the match that `report` says is right."""
    try:
        record = rating_record.decode(raw)
    except ValueError as error:
        yield str(error)
        return
    if (record.match_id, record.pool) != (report.match_id, report.pool) or not report.rated:
        yield "it is not of this match and its pool, or the match is not rated"
        return
    yield from _outcome_faults(report, record)
    yield from _model_faults(record)


def _outcome_faults(report: AuditReport, record: RatingRecord) -> Iterator[str]:
    told = [(change.seat, change.player_id, change.place, change.score) for change in record.changes]
    if told != list(zip(range(len(report.players)), report.players, report.places, report.scores, strict=True)):
        yield "its seats, players, places and scores are not those of the match"
    if len(set(report.players)) < len(report.players):
        yield "a player holds several seats, so the match does not count"


def _model_faults(record: RatingRecord) -> Iterator[str]:
    before = [Rating(change.before.mu, change.before.sigma, change.before.matches) for change in record.changes]
    after = rate(before, [change.place for change in record.changes])
    for change, expected in zip(record.changes, after, strict=True):
        if not _is_rated(change, expected):
            yield f"the rating of {change.player_id} after the match does not follow from what it was before"


def _is_rated(change: RatingChange, expected: Rating) -> bool:
    found = Rating(change.after.mu, change.after.sigma, change.after.matches)
    pairs = [(found.mu, expected.mu), (found.sigma, expected.sigma), (change.after.points, expected.points)]
    pairs.append((change.before.points, Rating(change.before.mu).points))
    names = {change.player_id, change.before.player_id, change.after.player_id}
    is_close = all(math.isclose(one, other, rel_tol=CLOSE_ENOUGH) for one, other in pairs)
    return is_close and found.matches == expected.matches and len(names) == 1


def _wrong(report: AuditReport, cause: str) -> AuditReport:
    return msgspec.structs.replace(report, ok=False, version=0, cause=cause)


def _unread(cause: str) -> AuditReport:
    return AuditReport(ok=False, version=0, cause=f"cannot be read: {cause}", undecided=True)


def exit_code(findings: Sequence[Finding]) -> int:
    """Return 0 if all are right, 1 if one is wrong, 2 if none is wrong but one could not be read or judged."""
    if any(each.is_wrong for each in findings):
        return 1
    return 0 if all(each.report.ok for each in findings) else 2
