"""Which content made which commit, as it is kept beside a log: a digest as its bytes, half of its hex digits."""

from __future__ import annotations

import re

_DIGEST = re.compile("[0-9a-f]{32}|[0-9a-f]{64}")
_PACKED = b"\xff"
"""What a digest begins with as it is kept; no text does."""


def packed(fingerprint: str) -> bytes:
    """Return a fingerprint as it is kept: the hex digits of 128 or 256 bits as bytes, any other text as it is."""
    if _DIGEST.fullmatch(fingerprint):
        return _PACKED + bytes.fromhex(fingerprint)
    return fingerprint.encode()


def made_by(kept: bytes) -> tuple[str, int]:
    """Return the fingerprint and the version of a commit; older writers kept all digests as hex digits."""
    fingerprint, _, version = kept.rpartition(b"|")
    is_packed = fingerprint.startswith(_PACKED)
    return fingerprint[1:].hex() if is_packed else fingerprint.decode(), int(version)
