"""What a rated match made of its players' ratings, as a file beside the match's audit file."""

from __future__ import annotations

from pathlib import Path

import msgspec

from promontory.client.access import Access
from promontory.client.asynchronous import AsyncClient
from promontory.client.endpoints import EndpointError
from promontory.client.errors import PromontoryError
from promontory.client.matches import MatchSummary
from promontory.client.ratings import RatingChange
from promontory.games.registry import entry_of_match

FORMAT = "promontory-ratings/1"
SUFFIX = ".ratings.json"


class RatingRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The changes that a match made, in the order of seats; the audit recomputes what is after from what was before."""

    format: str
    match_id: str
    pool: str
    changes: tuple[RatingChange, ...]


class Fetched(msgspec.Struct, frozen=True):
    """A finished match as the services tell it.

    `raw` is its audit file, `data` the cards or tiles it was played with. `ratings` is None if it changed none, if it
    has not been tallied yet, or if a player's history is no longer told.
    """

    raw: bytes
    data: bytes
    ratings: RatingRecord | None


async def fetch(access: Access, match_id: str) -> Fetched:
    """Return a finished match. Raises `FailedPrecondition` while it is open, `NotFound` if there is none."""
    async with access.client() as client:
        watched = client.spectate(entry_of_match(match_id).name, match_id)
        raw = await watched.export()
        match = (await watched.look()).match
        return Fetched(raw, await watched.data(), await _ratings(client, match))


async def _ratings(client: AsyncClient, match: MatchSummary) -> RatingRecord | None:
    if not match.rated or match.outcome is None or not match.outcome.placements:
        return None
    found = [await _change(client, match, seat.player_id) for seat in match.seats]
    changes = tuple(change for change in found if change is not None)
    return RatingRecord(FORMAT, match.match_id, match.pool, changes) if len(changes) == len(found) else None


async def _change(client: AsyncClient, match: MatchSummary, player: str) -> RatingChange | None:
    """Return what the match made of a player's rating, looked up from the latest match back."""
    async for step in client.rating_history(match.pool, player):
        if step.match_id == match.match_id:
            return step.change
    return None


async def keep(access: Access, match_id: str, file: Path) -> Path | None:
    """Write the rating record of a finished match beside its audit file, and return where; None if there is none.

    Where the ratings cannot be read, `access` is told so.
    """
    try:
        async with access.client() as client:
            match = (await client.spectate(entry_of_match(match_id).name, match_id).look()).match
            record = await _ratings(client, match)
    except (EndpointError, PromontoryError) as error:
        if access.tell is not None:
            access.tell(f"without the ratings of {match_id}: {error}")
        return None
    if record is None:
        return None
    file_beside(file).write_bytes(encode(record))
    return file_beside(file)


def file_beside(file: Path) -> Path:
    """Return where the rating record of the match in the audit file `file` is kept."""
    return file.with_name(f"{file.name}{SUFFIX}")


def encode(record: RatingRecord) -> bytes:
    """Return a record as it is kept."""
    return msgspec.json.format(msgspec.json.encode(record)) + b"\n"


def decode(raw: bytes) -> RatingRecord:
    """Return the record in `raw`; raises `ValueError` if it is none."""
    record = msgspec.json.decode(raw, type=RatingRecord)
    if record.format != FORMAT:
        raise ValueError(f"its format is {record.format!r}, not {FORMAT!r}")
    return record
