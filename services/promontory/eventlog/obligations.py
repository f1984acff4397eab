"""The names of obligations, by which services agree on what is owed.

| name | what is owed | set by | settled by |
|---|---|---|---|
| `bot_turn_name` | a house bot's turn | the rules service, which clears it too | the relay, if it had to play itself |
| `clock_name` | the record that a player's time ran out | the rules service, which changes and clears it too | - |
| `tally_name` | a rated match's tally | the rules service | scoring |
| `list_name` | a closed match's place in the lists | the rules service | matchmaking |
| `archive_name` | a closed match's move to the archive | the rules service, if there is an archive | a worker |

The relay reads them (`promontory.relay.domain.parse`).
"""

from __future__ import annotations

ARCHIVE = "archive"
"""The kind, by which the names of obligations to archive begin."""


def bot_turn_name(match_id: str, seat: int, since: int) -> str:
    """Return the name of the obligation to play for the house bot in `seat`, which is to act since version `since`."""
    return f"bot|{match_id}|{seat}|{since}"


def clock_name(match_id: str) -> str:
    """Return the name of the obligation to record that time ran out in a match."""
    return f"clock|{match_id}"


def archive_name(match_id: str, closed_at_ms: int) -> str:
    """Return the name of the obligation to archive a match that was closed at `closed_at_ms`, in ms since the epoch."""
    return f"{ARCHIVE}|{match_id}|{closed_at_ms}"


def tally_name(match_id: str) -> str:
    """Return the name of the obligation to tally a closed match."""
    return f"tally|{match_id}"


def list_name(match_id: str) -> str:
    """Return the name of the obligation to put a closed match into the lists of matches."""
    return f"list|{match_id}"
