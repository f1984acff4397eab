"""`promontory replay`: a finished match, step by step, as text or JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from promontory.client.access import Access
from promontory.client.match_text import happenings, outcome_text, title, waiting_text
from promontory.client.recordings import RecordingError
from promontory.client.replays import Frame, FullFrame, Replay, replay_file
from promontory.games.drawing import draw
from promontory.games.text import listed, words


class Angle(msgspec.Struct, frozen=True):
    """How to look at a match: as `seat` saw it, as a spectator did (None), or with nothing hidden if `full`."""

    seat: int | None = None
    full: bool = False

    def frame(self, replay: Replay, version: int) -> Frame | FullFrame:
        """Return a version of a match as it is looked at. Raises `IndexError` if there is no such version or seat."""
        return replay.full(version) if self.full else replay.at(version, seat=self.seat)


async def fetch(access: Access, match_id: str) -> Replay:
    """Return a finished match. Raises `FailedPrecondition` while it is open, `NotFound` if there is none."""
    async with access.client() as client:
        return await client.replay(match_id)


def read(file: Path, data: Sequence[bytes]) -> Replay:
    """Return the match in an audit file; see `replay_file`."""
    try:
        return replay_file(file, data)
    except RecordingError as error:
        raise RecordingError(f"{file}: {error}") from error


def heading(replay: Replay) -> str:
    """Return which match it is, and who played it."""
    return "\n".join(title(replay, f"{replay.last} versions", seats=replay.players))


def step_text(replay: Replay, frame: Frame | FullFrame) -> str:
    """Return a version of a match for people to read: what happened, and what it led to."""
    happened = happenings((*frame.match_events, *frame.events))
    lines = [f"version {frame.version} of {replay.last}, {frame.record_time:%Y-%m-%d %H:%M:%S}", *happened]
    lines.append(waiting_text(frame.to_act) if frame.outcome is None else outcome_text(frame.outcome))
    return "\n".join([*lines, *_tables(replay, frame)])


def step_json(frame: Frame | FullFrame) -> str:
    """Return a version of a match as a line of JSON; events come with their kind."""
    fields = {**msgspec.structs.asdict(frame), **_kinds(frame)}
    fields.pop("state", None)
    return msgspec.json.encode(fields).decode()


def _kinds(frame: Frame | FullFrame) -> dict[str, list[object]]:
    return {
        name: [{"kind": type(event).__name__, **msgspec.to_builtins(event)} for event in getattr(frame, name)]
        for name in ("events", "match_events")
    }


def _tables(replay: Replay, frame: Frame | FullFrame) -> Iterator[str]:
    if isinstance(frame, Frame):
        yield from ("", draw(replay.game, frame.view))
        return
    for seat, view in enumerate(frame.views):
        yield from ("", f"seen by seat {seat}, {replay.players[seat]}", draw(replay.game, view))
    for pile in frame.hidden:
        yield from ("", listed(f"{words(pile.name)}, top first", pile.item_ids))
