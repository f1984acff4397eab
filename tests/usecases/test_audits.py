"""The audit of ratings: what is recorded of a match must follow from the match, and from what was before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from promontory.client import rating_record
from promontory.client.rating_record import FORMAT, RatingRecord
from promontory.client.ratings import Rating, RatingChange
from promontory.local.audits import Finding, audit_file, exit_code, is_match, rating_faults
from promontory.rules.audit import AuditReport, shipped_rulesets
from promontory.rules.audit import audit_file as audit_alone
from promontory.scoring import domain
from tests.golden.record import DIRECTORY
from tests.house.source import ROOT

Output = pytest.CaptureFixture[str]

RATED, UNRATED = DIRECTORY / "transcontinental" / "points.jsonl", DIRECTORY / "transcontinental" / "resigned.jsonl"
RULESETS = shipped_rulesets()
BEFORE = (domain.Rating(27.5, 6.25, 12), domain.Rating())
REPORT = audit_alone(RATED, RULESETS)


def shown(player: str, rating: domain.Rating) -> Rating:
    """Return a rating as the API shows it."""
    return Rating(player, rating.mu, rating.sigma, rating.points, rating.matches)


def record(report: AuditReport = REPORT) -> RatingRecord:
    """Return what the match of `report` made of its players' ratings."""
    after = domain.rate(BEFORE, report.places)
    changes = tuple(
        RatingChange(player, seat, place, score, shown(player, BEFORE[seat]), shown(player, after[seat]))
        for seat, (player, place, score) in enumerate(zip(report.players, report.places, report.scores, strict=True))
    )
    return RatingRecord(FORMAT, report.match_id, report.pool, changes)


def audited(directory: Path, raw: bytes, *, match: Path = RATED) -> Finding:
    """Audit a match with a rating record beside it."""
    file = directory / "match.jsonl"
    file.write_bytes(match.read_bytes())
    rating_record.file_beside(file).write_bytes(raw)
    return audit_file(file, RULESETS)


def test_a_match_is_right_with_its_ratings(tmp_path: Path) -> None:
    """The model gives the same from what was before."""
    finding = audited(tmp_path, rating_record.encode(record()))
    assert (finding.report.cause, finding.ratings, exit_code([finding])) == (None, True, 0)
    assert finding.sentence().endswith("(house-greedy-1 1., ben 2.), and so are its ratings")
    assert finding.fields()["ratings"] is True


def changed(**changes: Any) -> RatingRecord:
    """Return the record with the first seat's change changed."""
    first, *others = record().changes
    return replace(record(), changes=(replace(first, **changes), *others))


def rated(part: str, **changes: Any) -> RatingRecord:
    """Return the record with the first seat's rating before or after the match changed."""
    return changed(**{part: replace(getattr(record().changes[0], part), **changes)})


@pytest.mark.parametrize(
    ("forge", "cause"),
    [
        (lambda: replace(record(), match_id="tc-000-x"), "not of this match"),
        (lambda: replace(record(), pool="transcontinental.casual"), "not of this match and its pool"),
        (lambda: replace(record(), changes=record().changes[:1]), "are not those of the match"),
        (lambda: replace(record(), changes=record().changes[::-1]), "are not those of the match"),
        (lambda: replace(record(), changes=()), "are not those of the match"),
        (lambda: changed(player_id="eve"), "are not those of the match"),
        (lambda: changed(seat=1), "are not those of the match"),
        (lambda: changed(place=2), "are not those of the match"),
        (lambda: changed(score=0), "are not those of the match"),
        (lambda: rated("after", mu=27.6), "does not follow"),
        (lambda: rated("after", sigma=6.2), "does not follow"),
        (lambda: rated("after", matches=12), "does not follow"),
        (lambda: rated("after", points=1500.0), "does not follow"),
        (lambda: rated("before", mu=27.4), "does not follow"),
        (lambda: rated("before", sigma=6.3), "does not follow"),
        (lambda: rated("before", matches=13), "does not follow"),
        (lambda: rated("before", points=1500.0), "does not follow"),
        (lambda: rated("before", player_id="eve"), "does not follow"),
        (lambda: replace(record(), format="promontory-ratings/2"), "its format is"),
    ],
)
def test_a_record_that_does_not_follow_is_found(forge: Callable[[], RatingRecord], cause: str) -> None:
    """Whichever value is another one."""
    assert cause in next(rating_faults(REPORT, rating_record.encode(forge())))


def test_a_match_with_a_wrong_record_is_wrong(tmp_path: Path) -> None:
    """[docs/audit] The file, not a commit: the match itself may be right."""
    finding = audited(tmp_path, rating_record.encode(rated("after", mu=27.6)))
    assert (finding.report.ok, finding.report.version, exit_code([finding])) == (False, 0, 1)
    assert finding.sentence().endswith(
        "the file is wrong: its rating record: the rating of house-greedy-1 after the match does not follow from what"
        " it was before"
    )


@pytest.mark.parametrize("raw", [b"", b"{}", b"[1]", b"\xff"])
def test_what_is_no_record_is_found(raw: bytes) -> None:
    assert list(rating_faults(REPORT, raw))


def test_a_match_that_is_not_rated_changes_no_ratings(tmp_path: Path) -> None:
    """A record of it would be made up."""
    report = audit_alone(UNRATED, RULESETS)
    finding = audited(tmp_path, rating_record.encode(record(report)), match=UNRATED)
    assert "the match is not rated" in (finding.report.cause or "")


def test_without_a_record_the_match_alone_is_audited() -> None:
    """A file on its own proves what it proves."""
    finding = audit_file(RATED, RULESETS)
    assert (finding.report.ok, finding.ratings) == (True, False)
    assert finding.sentence().endswith("(house-greedy-1 1., ben 2.)")


@pytest.mark.parametrize(
    ("reports", "code"),
    [
        ([AuditReport(ok=True)], 0),
        ([AuditReport(ok=True), AuditReport(ok=False, undecided=True)], 2),
        ([AuditReport(ok=False), AuditReport(ok=False, undecided=True)], 1),
    ],
)
def test_the_exit_code_tells_wrong_from_undecided(reports: list[AuditReport], code: int) -> None:
    """[docs/audit] For scripts."""
    assert exit_code([Finding("x", report) for report in reports]) == code


def test_a_file_called_like_a_match_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"tc-0a7-{'a' * 26}"
    monkeypatch.chdir(tmp_path)
    assert [is_match(name), is_match("match.jsonl")] == [True, False]
    Path(name).touch()
    assert not is_match(name)


def test_the_documented_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    """[docs/audit] On a match that was exported."""
    monkeypatch.chdir(tmp_path)
    Path("match.jsonl").write_bytes(UNRATED.read_bytes())
    text = (ROOT / "docs" / "audit.md").read_text("utf-8")
    exec(text.partition("```python\n")[2].partition("```")[0], {})  # noqa: S102 - our own text
    assert "all right" in capsys.readouterr().out
