"""What the platform owes to its matches, and what becomes of obligations that nobody meets."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from promontory.eventlog.owing import Owing, Owings
from promontory.eventlog.port import bucket_of, game_buckets
from promontory.games.registry import GAMES, UnknownGameError, entry
from promontory.runtime.errors import Kind, Refusal, malformed
from promontory.runtime.forms import LOGGED_MATCH_ID
from promontory.runtime.pages import page_size, page_start, page_token

DEFAULT_PAGE, MAX_PAGE = 100, 500


class Wanted(msgspec.Struct, frozen=True):
    """Which obligations to list: of one game or (empty) of all, all or those that are parked; `size` 0 is usual."""

    game: str = ""
    parked: bool = False
    size: int = 0
    token: str = ""

    @property
    def listing(self) -> str:
        """What tells it from other lists."""
        return f"obligations {self.game} {self.parked}"


class Obligations:
    """The obligations of all games' buckets; parked are those handed out more than `max_attempts` times."""

    def __init__(self, owings: Owings, *, buckets: int, max_attempts: int) -> None:
        self._owings, self._buckets, self._max_attempts = owings, buckets, max_attempts

    def is_parked(self, owing: Owing) -> bool:
        """Tell whether an obligation was handed out so often that it is parked."""
        return owing.attempts > self._max_attempts

    async def of_match(self, match_id: str) -> Sequence[Owing]:
        """Return what is owed to a match, the earliest due first."""
        return [each for each in await self._owings.owings(bucket_of(match_id)) if match_of(each.name) == match_id]

    async def page(self, wanted: Wanted) -> tuple[Sequence[Owing], str]:
        """Return a page of obligations, bucket by bucket and in each the earliest due first, and the next one's token.

        One that is set or met meanwhile may be missing, or shift the others.
        """
        size, buckets = page_size(wanted.size, usual=DEFAULT_PAGE, most=MAX_PAGE), self._of_game(wanted.game)
        start, passed = _start(wanted)
        found: list[Owing] = []
        for number in range(start, len(buckets)):
            owings = [each for each in await self._owings.owings(buckets[number]) if self._fits(each, wanted)]
            rest = owings[passed if number == start else 0 :]
            room = size - len(found)
            found += rest[:room]
            if len(rest) > room:
                return found, page_token(wanted.listing, number, len(owings) - len(rest) + room)
        return found, ""

    def _fits(self, owing: Owing, wanted: Wanted) -> bool:
        return not wanted.parked or self.is_parked(owing)

    def _of_game(self, game: str) -> Sequence[str]:
        try:
            codes = [entry(game).code] if game else [each.code for each in GAMES]
        except UnknownGameError as error:
            raise malformed("game", str(error)) from error
        return [bucket for code in codes for bucket in game_buckets(code, self._buckets)]

    async def release(self, name: str, *, again: bool) -> None:
        """Have the parked obligation `name` tried anew; raise `OBLIGATION_NOT_FOUND` or `OBLIGATION_NOT_PARKED`.

        Where it is done `again`, because nobody knows whether it was, that it is neither means that it was.
        """
        if await self._is_parked(name, again=again):
            await self._owings.renew(bucket_of(match_of(name)), name)

    async def drop(self, name: str, *, again: bool) -> None:
        """Give the parked obligation `name` up; raise what `release` does."""
        if await self._is_parked(name, again=again):
            await self._owings.settle(bucket_of(match_of(name)), name)

    async def _is_parked(self, name: str, *, again: bool) -> bool:
        match_id = LOGGED_MATCH_ID.checked(match_of(name), "name")
        owing = next((each for each in await self.of_match(match_id) if each.name == name), None)
        is_parked = owing is not None and self.is_parked(owing)
        if not is_parked and not again:
            raise _not_owed(name) if owing is None else _not_parked(name)
        return is_parked


def match_of(name: str) -> str:
    """Return the match that an obligation's name tells, or an empty text."""
    return name.split("|")[1] if "|" in name else ""


def kind_of(name: str) -> str:
    """Return an obligation's kind."""
    return name.partition("|")[0]


def _start(wanted: Wanted) -> tuple[int, int]:
    if not wanted.token:
        return 0, 0
    bucket, passed = page_start(wanted.listing, wanted.token)
    return bucket, passed


def _not_owed(name: str) -> Refusal:
    text = "there is no such obligation, or no longer"
    return Refusal(Kind.NOT_FOUND, "OBLIGATION_NOT_FOUND", text, metadata={"obligation": name})


def _not_parked(name: str) -> Refusal:
    text = "the obligation is being worked at: only a parked one can be released or dropped"
    return Refusal(Kind.FORBIDDEN_NOW, "OBLIGATION_NOT_PARKED", text, metadata={"obligation": name})
