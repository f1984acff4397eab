"""What the names in requests look like, the same for every service, and the refusal of what looks otherwise."""

from __future__ import annotations

import re

import msgspec

from promontory.runtime.errors import malformed


class Form(msgspec.Struct, frozen=True):
    """What a kind of name looks like: as a regular expression, and in words."""

    pattern: str
    words: str

    def fits(self, name: str) -> bool:
        """Tell whether `name` looks like that."""
        return re.fullmatch(self.pattern, name) is not None

    def checked(self, name: str, field: str) -> str:
        """Return `name`, the request's `field`; raise the refusal `BAD_REQUEST` unless it looks like that."""
        if not self.fits(name):
            raise malformed(field, f"must be {self.words}")
        return name


REQUEST_ID = Form(r"[\x20-\x7e]{1,128}", "1 to 128 printable ASCII characters")
MATCH_ID = Form(r"[a-z0-9_-]{1,64}", "1 to 64 of a-z, 0-9, _, -")
LOGGED_MATCH_ID = Form(r"(?=.{1,64}\Z)[a-z0-9]+-[0-9a-f]{3}-[a-z0-9_-]+", "the id of a match, like tc-0a7-...")
"""What the id of any game's match must be where its bucket in the event log is read off it."""

PLAYER_ID = Form(r"[a-z0-9_.:-]{1,64}", "1 to 64 of a-z, 0-9, _, -, ., :")

SUBJECT = Form(r"[\x21-\x7e]{1,255}", "1 to 255 printable ASCII characters without spaces")
"""What an identity provider may call a player whom the platform gives an id of its own."""

POOL_ID = Form(r"(?=.{1,56}\Z)[a-z0-9_]+(\.[a-z0-9_]+)*", "1 to 56 of a-z, 0-9, _, in parts with one . between them")
"""Without dashes, and short: a pool's rating log has a stream id that is made of it, and no other pool's."""

REPLICA_ID = Form(r"[a-z0-9_.]{1,64}-[0-9a-f]{8}", "the name of a process, like rules.pacific-0a1b2c3d")
OBLIGATION = Form(r"[a-z]{1,16}\|[\x21-\x7e]{1,240}", "the name of an obligation, like tally|tc-0a7-...")
