"""What makes a caller and a request fit to enter a match, before anything is kept."""

from __future__ import annotations

from promontory.games.fairness import MAX_ENTROPY_BYTES
from promontory.matchmaking.domain import Entrant
from promontory.runtime.errors import Kind, Refusal, malformed
from promontory.runtime.identity import Caller


def checked_player(caller: Caller, entropy: bytes) -> Entrant:
    """Return the caller as a match seats players, with its share in the randomness; refuse more than 32 bytes."""
    if len(entropy) > MAX_ENTROPY_BYTES:
        raise malformed("client_entropy", f"has {len(entropy)} bytes; at most {MAX_ENTROPY_BYTES} are taken")
    return Entrant(caller.subject, entropy=entropy)


def request_id_reused() -> Refusal:
    """Return the refusal of a request id that was used with other content."""
    text = "the request id was used with other content; take a new one"
    return Refusal(Kind.MALFORMED, "REQUEST_ID_REUSED", text)
