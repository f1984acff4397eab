"""Pages of a list that stay the same while the ratings change: a token holds the version that the first page showed."""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
from collections.abc import Sequence
from typing import Generic, TypeVar

import msgspec

from promontory.runtime.errors import Kind, Refusal, malformed

DEFAULT_SIZE = 50
MAX_SIZE = 500
_LAYOUT = struct.Struct(">QI8s")

T = TypeVar("T")


class Cursor(msgspec.Struct, frozen=True):
    """Where a page starts: after `offset` entries of the list as it was at `version` of the rating log."""

    version: int
    offset: int = 0


class Page(msgspec.Struct, Generic[T], frozen=True):
    """A page's entries, and the token of the next page, or an empty one."""

    entries: Sequence[T]
    next_token: str


def page_size(requested: int) -> int:
    """Return how many entries a page gets: 50 where 0 was requested. Refuses what is not in 0..500."""
    if not 0 <= requested <= MAX_SIZE:
        raise malformed("page_size", f"must be 1 to {MAX_SIZE}, or 0 for {DEFAULT_SIZE}")
    return requested or DEFAULT_SIZE


def cursor(listing: str, token: str, *, version: int) -> Cursor:
    """Return where the page of `token` starts; without one, at the beginning as of `version`, the present one.

    Raises the refusal `PAGE_TOKEN_INVALID` for a token that was not made for `listing`.
    """
    if not token:
        return Cursor(version)
    try:
        then, offset, check = _LAYOUT.unpack(base64.b64decode(token, altchars=b"-_", validate=True))
    except (binascii.Error, struct.error, ValueError) as error:
        raise _invalid() from error
    if check != _check(listing, Cursor(then, offset)) or then > version:
        raise _invalid()
    return Cursor(then, offset)


def page(listing: str, entries: Sequence[T], start: Cursor, *, size: int) -> Page[T]:
    """Return the page of `listing`'s `entries` that begins at `start`."""
    end = start.offset + size
    next_token = _token(listing, Cursor(start.version, end)) if end < len(entries) else ""
    return Page(entries[start.offset : end], next_token)


def _token(listing: str, start: Cursor) -> str:
    raw = _LAYOUT.pack(start.version, start.offset, _check(listing, start))
    return base64.urlsafe_b64encode(raw).decode()


def _check(listing: str, start: Cursor) -> bytes:
    text = f"{listing}\0{start.version}\0{start.offset}"
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


def _invalid() -> Refusal:
    text = "the page token is not one of this list; start again without one"
    return Refusal(Kind.MALFORMED, "PAGE_TOKEN_INVALID", text, fields={"page_token": "not a token of this list"})
