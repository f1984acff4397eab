"""Lists of matches, a page at a time, and how closed matches get into them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from promontory.eventlog.obligations import list_name
from promontory.eventlog.port import EventLog, bucket_of
from promontory.matchmaking.listing import (
    Listed,
    Start,
    finished_by,
    live_of_game,
    live_of_player,
    live_of_pool,
    matches_of,
)
from promontory.matchmaking.ports import Lists, Rules
from promontory.runtime import pages
from promontory.runtime.errors import malformed, match_not_found, match_open
from promontory.runtime.forms import LOGGED_MATCH_ID, PLAYER_ID
from promontory.runtime.identity import Caller, Scope

DEFAULT_PAGE = 20
MAX_PAGE = 100
READ_AT_ONCE = 50
MOST_READ = 1000
"""How many entries one page looks through, at most, for those that its filters accept."""

MOST_SKIPPED = 1000
"""How many entries of one millisecond a token may skip; all that it skips is read."""

Accepts = Callable[[Listed], bool]


class Filter(msgspec.Struct, frozen=True):
    """Which matches to list: of a game and of a pool, if they are named, and only open or only closed ones."""

    game: str = ""
    pool: str = ""
    is_closed: bool | None = None

    def accepts(self, match: Listed) -> bool:
        """Tell whether `match` is one of them."""
        is_of_kind = self.game in ("", match.game) and self.pool in ("", match.pool)
        return is_of_kind and self.is_closed in (None, match.ended is not None)

    @property
    def name(self) -> str:
        """What tells it from other filters."""
        return f"{self.game} {self.pool} {self.is_closed}"


class PageWish(msgspec.Struct, frozen=True):
    """How many entries to show, 0 for a usual number, and the token of the page, which is empty for the first."""

    size: int = 0
    token: str = ""


Page = tuple[Sequence[Listed], str]
"""The entries, and the token of the next page, which is empty on the last one."""


class MatchLists:
    """The use cases of lists of matches."""

    def __init__(self, lists: Lists, rules: Rules, event_log: EventLog) -> None:
        self._lists, self._rules, self._log = lists, rules, event_log

    async def mine(self, caller: Caller, wanted: Filter, wish: PageWish) -> Page:
        """Return a page of the caller's matches, the newest first."""
        name = matches_of(caller.subject)
        return await self._page((name,), f"{name} {wanted.name}", wish, wanted.accepts)

    async def live(self, caller: Caller, wanted: Filter, wish: PageWish) -> Page:
        """Return a page of the open matches of a game or a pool that the caller may find, the newest first."""
        if not wanted.game and not wanted.pool:
            raise malformed("game", "is needed, unless there is a pool")
        public = live_of_pool(wanted.pool) if wanted.pool else live_of_game(wanted.game)
        names = (public,) if wanted.pool else (public, live_of_player(caller.subject))
        return await self._page(names, f"{' '.join(names)} {wanted.name}", wish, wanted.accepts)

    async def finished(self, caller: Caller, player: str, wanted: Filter, wish: PageWish) -> Page:
        """Return a page of the closed matches of `player` that the caller may find, the last to end first."""
        caller.require(Scope.READ_HISTORY)
        name = finished_by(PLAYER_ID.checked(player, "player_id"))

        def accepts(match: Listed) -> bool:
            return wanted.accepts(match) and match.is_shown_to(caller.subject)

        return await self._page((name,), f"{name} {wanted.name}", wish, accepts)

    async def record_closed(self, caller: Caller, match_id: str) -> bool:
        """Put a closed match into the lists, then settle the obligation `list|<match id>`; return whether it was new.

        Raises the refusals `MATCH_NOT_FOUND`, `MATCH_OPEN` and `PEER_UNAVAILABLE`.
        """
        caller.require(Scope.LIST_MATCH)
        played = await self._rules.find_match(LOGGED_MATCH_ID.checked(match_id, "match_id"))
        if played is None:
            raise match_not_found(match_id)
        if played.listed.ended is None:
            raise match_open(match_id)
        recorded = not played.is_fork and await self._lists.record(played.listed)
        await self._log.settle(bucket_of(match_id), list_name(match_id))
        return recorded

    async def _page(self, names: Sequence[str], listing: str, wish: PageWish, accepts: Accepts) -> Page:
        size = pages.page_size(wish.size, usual=DEFAULT_PAGE, most=MAX_PAGE)
        start = _start(listing, wish.token)
        found: list[Listed] = []
        step = max(size, READ_AT_ONCE)
        for _ in range(0, MOST_READ, step):
            rows = await self._lists.entries(names, start=start, limit=step + 1)
            for ms, match in rows[:step]:
                if len(found) == size and start:
                    return found, _token(listing, start)
                start = start.after(ms) if start else Start(ms, 1)
                found += [match] if match and accepts(match) else []
            if len(rows) <= step:
                return found, ""
        return found, _token(listing, start) if start else ""


def _start(listing: str, token: str) -> Start | None:
    if not token:
        return None
    numbers = pages.page_start(listing, token)
    if len(numbers) != 2 or numbers[1] > MOST_SKIPPED:
        raise pages.token_invalid()
    return Start(*numbers)


def _token(listing: str, start: Start) -> str:
    return pages.page_token(listing, start.ms, start.skipped)
