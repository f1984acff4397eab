"""Pages of a list that stay the same while the ratings change: a token holds the version that the first page showed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

import msgspec

from promontory.runtime.pages import page_size, page_start, page_token, token_invalid

DEFAULT_SIZE = 50
MAX_SIZE = 500

T = TypeVar("T")


class Cursor(msgspec.Struct, frozen=True):
    """Where a page starts: after `offset` entries of the list as it was at `version` of the rating log."""

    version: int
    offset: int = 0


class Page(msgspec.Struct, Generic[T], frozen=True):
    """A page's entries, and the token of the next page, or an empty one."""

    entries: Sequence[T]
    next_token: str


def cursor(listing: str, token: str, *, version: int) -> Cursor:
    """Return where the page of `token` starts; without one, at the beginning as of `version`, the present one.

    Raises the refusal `PAGE_TOKEN_INVALID` for a token that was not made for `listing`, or of a later version.
    """
    if not token:
        return Cursor(version)
    then, offset = page_start(listing, token)
    if then > version:
        raise token_invalid()
    return Cursor(then, offset)


def page(listing: str, entries: Sequence[T], start: Cursor, *, size: int) -> Page[T]:
    """Return the page of `listing`'s `entries` that begins at `start`: `size` of them, 50 if it is 0.

    Raises the refusal `BAD_REQUEST` if `size` is not in 0..500.
    """
    end = start.offset + page_size(size, usual=DEFAULT_SIZE, most=MAX_SIZE)
    next_token = page_token(listing, start.version, end) if end < len(entries) else ""
    return Page(entries[start.offset : end], next_token)
