"""The tasks: each a translation, which may run twice."""

from __future__ import annotations

from celery import Celery

from promontory.runtime.broker import ARCHIVE_MATCH, LIST_MATCH, PLAY_BOT_TURN, TALLY_MATCH
from promontory.workers.archiving import Archiving
from promontory.workers.services import Services
from promontory.workers.turns import Policies, play_turn


def add_tasks(app: Celery, services: Services) -> None:
    """Add the tasks to `app`. They call `services`, which try again for a while; after that the relay does."""
    policies = Policies()

    @app.task(name=PLAY_BOT_TURN, shared=False)  # type: ignore[untyped-decorator]
    def play_bot_turn(game: str, match_id: str, seat: int, since_version: int) -> int:
        """Play the house bot in `seat` until its turn is over, and return how many commands that took."""
        return play_turn(services.seat(game, match_id, seat), since_version, policies)

    @app.task(name=TALLY_MATCH, shared=False)  # type: ignore[untyped-decorator]
    def tally_match(match_id: str) -> bool:
        """Have the match tallied, and return whether this call counted it."""
        return bool(services.tally(match_id).tallied)

    @app.task(name=LIST_MATCH, shared=False)  # type: ignore[untyped-decorator]
    def list_match(match_id: str) -> bool:
        """Have the closed match put into the lists, and return whether that changed them."""
        return bool(services.list_closed(match_id).recorded)


def add_archive_task(app: Celery, archiving: Archiving) -> None:
    """Add the task that archives matches to `app`."""

    @app.task(name=ARCHIVE_MATCH, shared=False)  # type: ignore[untyped-decorator]
    def archive_match(match_id: str, closed_at_ms: int, attempt: int) -> str:
        """Move the match to the archive, or put that off, and return what became of it."""
        return archiving.archive(match_id, closed_at_ms, attempt=attempt).value
