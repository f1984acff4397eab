"""Where a stream goes on: after a version, or after the history that a token stands for."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable

import msgspec

from promontory.eventlog.port import Position
from promontory.games.kernel import Seat
from promontory.rules.domain import Match
from promontory.runtime.errors import malformed

VERSION_BYTES = 4
TAG_BYTES = 12
TOKEN_BYTES = VERSION_BYTES + 2 * TAG_BYTES
SPECTATOR = -1


class Resume(msgspec.Struct, frozen=True):
    """Go on after `version`; `knows` tells whether the log's position there is the one seen, None if nobody knows."""

    version: int
    knows: Callable[[Position], bool] | None = None

    def fits(self, position: Position) -> bool:
        """Tell whether what led to `position`, at the same version, may be what was seen."""
        return self.knows is None or self.knows(position)


class ResumeTokens:
    """Issues and reads tokens: a version, a tag of the history up to it, and a tag of both for one match and audience.

    All tags are keyed: the head of a log hashes hidden cards, so that by the plain hash they could be guessed. A token
    gives no rights; whoever brings it may watch or may not.
    """

    def __init__(self, key: bytes) -> None:
        """Take a secret key of 16 to 64 bytes, the same for all replicas."""
        self._key = key

    def issue(self, match: Match, audience: Seat | None) -> bytes:
        """Return the token of one who was told `match`."""
        body = match.version.to_bytes(VERSION_BYTES, "big") + self._history(match.match_id, match.position)
        return body + self._whole(body, match.match_id, audience)

    def read(self, token: bytes, match_id: str, audience: Seat | None) -> Resume:
        """Return what `token` says, or raise `BAD_REQUEST` if it was not issued for this match and audience."""
        body, tag = token[:-TAG_BYTES], token[-TAG_BYTES:]
        if len(token) != TOKEN_BYTES or not hmac.compare_digest(tag, self._whole(body, match_id, audience)):
            raise malformed("resume_token", "was not issued for this match and seat")
        version, history = int.from_bytes(body[:VERSION_BYTES], "big"), body[VERSION_BYTES:]
        return Resume(version, lambda position: self._history(match_id, position) == history)

    def _history(self, match_id: str, position: Position) -> bytes:
        return self._tag(b"history", match_id, position.version.to_bytes(VERSION_BYTES, "big") + position.head)

    def _whole(self, body: bytes, match_id: str, audience: Seat | None) -> bytes:
        seat = SPECTATOR if audience is None else audience
        return self._tag(b"token", match_id, seat.to_bytes(4, "big", signed=True) + body)

    def _tag(self, kind: bytes, match_id: str, content: bytes) -> bytes:
        hashed = hashlib.blake2b(content, digest_size=TAG_BYTES, key=self._key, person=kind)
        hashed.update(match_id.encode())
        return hashed.digest()
