"""Pages of lists: how many entries one gets, and the tokens that say where the next one begins.

A token is `<start>-<check>`: one number or more, none of them secret, and a check that ties them to one list.
"""

from __future__ import annotations

import hashlib

from promontory.runtime.errors import Kind, Refusal, malformed

MAX_DIGITS = 18
CHECK_DIGITS = 16


def page_size(requested: int, *, usual: int, most: int) -> int:
    """Return how many entries a page gets: `usual` where 0 are requested. Refuses what is not in 0..`most`."""
    if not 0 <= requested <= most:
        raise malformed("page_size", f"must be 1 to {most}, or 0 for {usual}")
    return requested or usual


def page_token(listing: str, *start: int) -> str:
    """Return the token of the page that begins at `start` in `listing`, a name that no other list has."""
    numbers = "-".join(map(str, start))
    check = hashlib.sha256(f"page|{listing}|{numbers}".encode()).hexdigest()
    return f"{numbers}-{check[:CHECK_DIGITS]}"


def page_start(listing: str, token: str) -> tuple[int, ...]:
    """Return the `start` that `page_token` made `token` of.

    Raises the refusal `PAGE_TOKEN_INVALID` for a token that was not made for `listing`.
    """
    numbers = [part for part in token.split("-")[:-1] if part.isascii() and part.isdecimal()]
    start = tuple(int(number) for number in numbers if len(number) <= MAX_DIGITS)
    if not start or token != page_token(listing, *start):
        raise token_invalid()
    return start


def token_invalid() -> Refusal:
    """Return the refusal `PAGE_TOKEN_INVALID`."""
    text = "the page token is not one of this list's; start again without one"
    return Refusal(Kind.MALFORMED, "PAGE_TOKEN_INVALID", text, fields={"page_token": "not a token of this list"})
