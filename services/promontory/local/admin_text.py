"""What admins look at, as people read it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from promontory.client.admin import Act, CommitSummary, Inspection, Obligation, OpenMatch, Replica
from promontory.client.match_text import outcome_text, waiting_text
from promontory.client.matches import MatchSummary
from promontory.games.text import counted, listed, table, words
from promontory.runtime import clock


def inspection_text(match_id: str, found: Inspection) -> str:
    """Return how a match stands, what is owed to it, and its last commits."""
    lines = [f"{match_id}: {found.log_state}, version {found.version}, head {found.head}"]
    if found.problem:
        lines.append(f"PROBLEM: {found.problem}")
    if found.match is not None:
        match = found.match
        rated = "rated" if match.rated else "not rated"
        lines.append(f"{match.rules_version}, {match.pool or 'private'}, {rated}")
        lines.append(listed("seats", (f"{each.seat} {each.player_id}" for each in match.seats)))
        lines.append(_standing(match, found.version))
    lines += ["", "owed:", *_obligations(found.obligations)] if found.obligations else ["", "nothing is owed"]
    return "\n".join([*lines, "", *_commits(found.commits)])


def _standing(match: MatchSummary, version: int) -> str:
    """Return how a match stands, and at which version if spectators are behind the log's."""
    stands = waiting_text(match.seats_to_act) if match.outcome is None else outcome_text(match.outcome)
    if match.version >= version:
        return stands
    behind = f"at version {match.version}, as spectators see it, {counted(version - match.version, 'commit')} behind"
    return f"{behind}: {stands}"


def _commits(commits: Sequence[CommitSummary]) -> list[str]:
    if not commits:
        return []
    rows = [
        (str(each.version), _time(each.record_time), _seat(each), each.command_id, ", ".join(each.events))
        for each in commits
    ]
    return table("><<<<", [("version", "recorded", "by", "command id", "events"), *rows])


def _seat(commit: CommitSummary) -> str:
    return "platform" if commit.seat is None else f"seat {commit.seat}"


def wanted_obligations(found: Iterable[Obligation], *, kind: str | None, due: bool) -> list[Obligation]:
    """Return those of a kind, or of all, and only what is `due` by now if so; the earliest due first."""
    now = clock.now()
    fitting = (each for each in found if kind in (None, each.kind) and not (due and each.due_time > now))
    return sorted(fitting, key=lambda each: each.due_time)


def obligations_text(found: Sequence[Obligation]) -> str:
    """Return obligations as a table."""
    return "\n".join(_obligations(found)) if found else "nothing is owed"


def _obligations(found: Sequence[Obligation]) -> list[str]:
    rows = [(each.name, _time(each.due_time), str(each.attempts), "PARKED" if each.parked else "") for each in found]
    return table("<<><", [("obligation", "due", "attempts", ""), *rows])


def open_matches_text(found: Sequence[OpenMatch]) -> str:
    """Return open matches as a table."""
    if not found:
        return "no match is open"
    rows = [
        (each.match_id, each.rules_version, each.data_hash[:12], each.pool or "private", ", ".join(each.players))
        for each in found
    ]
    return "\n".join(table("<<<<<", [("match", "rules", "data", "pool", "players"), *rows]))


def replicas_text(found: Sequence[Replica]) -> str:
    """Return processes as a table."""
    rows = [
        (
            each.replica_id or each.service,
            each.problem or each.state,
            each.address,
            each.host,
            each.release,
            _time(each.start_time) if each.start_time else "",
            str(each.open_streams),
        )
        for each in found
    ]
    return "\n".join(table("<<<<<<>", [("process", "state", "address", "host", "release", "since", "streams"), *rows]))


def acts_text(found: Sequence[Act]) -> str:
    """Return acts as a table."""
    if not found:
        return "no admin has done anything"
    rows = [
        (
            str(each.number),
            _time(each.begin_time),
            each.admin_id,
            words(each.kind),
            each.target,
            _end(each),
            each.reason,
        )
        for each in found
    ]
    return "\n".join(table("><<<<<<", [("act", "begun", "admin", "what", "on", "came of it", "why"), *rows]))


def _end(act: Act) -> str:
    said = act.refusal or act.remark
    return f"{act.state}: {said}" if said else act.state


def _time(time: datetime) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S")
