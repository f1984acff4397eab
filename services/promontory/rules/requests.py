"""Reading requests: their fields as plain values, or the refusal `BAD_REQUEST` that names the field."""

from __future__ import annotations

from typing import Any

from promontory.codec.conduct import ENDING_NUMBERS, Ending
from promontory.codec.port import Undecodable
from promontory.games.kernel import Seat
from promontory.rules.arbitration import Wish
from promontory.rules.domain import Setup
from promontory.rules.forking import ForkSeat, ForkWish
from promontory.rules.records import setup_of
from promontory.rules.ruleset import Ruleset
from promontory.rules.usecases import Listing, Submission
from promontory.rules.validation import check_command_count, check_data_hash, check_match_id, check_note, check_version
from promontory.runtime.errors import Refusal, malformed
from promontory.runtime.forms import REQUEST_ID

_ENDINGS = {number: ending for ending, number in ENDING_NUMBERS.items()}


class Reader:
    """Reads the requests of one game's service; every one of them but a creation names a match."""

    def __init__(self, ruleset: Ruleset) -> None:
        self._ruleset = ruleset

    def match_id(self, request: Any) -> str:
        """Return the match of `request`."""
        check_match_id(self._ruleset, request.match_id)
        match_id: str = request.match_id
        return match_id

    def audience(self, request: Any) -> Seat | None:
        """Return the seat to look from, None for a spectator."""
        return request.seat if request.HasField("seat") else None

    def version(self, request: Any, field: str) -> int | None:
        """Return the version in the optional `field`, from 1, or None."""
        version = getattr(request, field) if request.HasField(field) else None
        check_version(version, field)
        return version

    def request_id(self, request: Any) -> str:
        """Return the name of the caller's intent."""
        return REQUEST_ID.checked(request.request_id, "request_id")

    def listing(self, request: Any) -> Listing:
        """Return which commits to list."""
        return Listing(
            match_id=self.match_id(request),
            seat=self.audience(request),
            size=request.page_size,
            token=request.page_token,
            as_seen=request.as_seen,
        )

    def data_hash(self, request: Any) -> bytes:
        """Return the SHA-256 of the data asked for, 32 bytes, or nothing."""
        data_hash: bytes = request.data_hash
        check_data_hash(data_hash)
        return data_hash

    def wish(self, request: Any) -> Wish:
        """Return what a seat's player wants to do that is no command of the game."""
        return Wish(self.match_id(request), request.seat, self.request_id(request))

    def note(self, request: Any) -> str:
        """Return what players are told about a cancellation."""
        note: str = request.note
        check_note(note)
        return note

    def ending(self, request: Any) -> Ending:
        """Return how a seat wants to end the match."""
        if request.ending not in _ENDINGS:
            raise malformed("ending", "is ENDING_DRAW or ENDING_CANCEL")
        return _ENDINGS[request.ending]

    def setup(self, request: Any) -> Setup:
        """Return what to create a match from."""
        try:
            return setup_of(request.setup)
        except Undecodable as error:
            raise _malformed("setup", error) from error

    def fork(self, request: Any) -> ForkWish:
        """Return which match to fork, and how."""
        match_id = self.match_id(request)
        check_version(request.version, "version")
        seats = tuple(ForkSeat(seat.bot_policy, seat.client_entropy) for seat in request.seats)
        return ForkWish(match_id, request.version, seats)

    def commands(self, request: Any) -> tuple[Any, ...]:
        """Return the commands, 1 to 16, given by the request's seat."""
        check_command_count(len(request.commands))
        return tuple(self._command(message, index, request.seat) for index, message in enumerate(request.commands))

    def _command(self, message: Any, index: int, seat: Seat) -> Any:
        try:
            return self._ruleset.codec.decode_command(message, seat)
        except Undecodable as error:
            raise _malformed(f"commands[{index}]", error) from error

    def submission(self, request: Any) -> Submission:
        """Return what a `SubmitCommandRequest` asks for."""
        return Submission(
            match_id=self.match_id(request),
            seat=request.seat,
            commands=self.commands(request),
            request_id=self.request_id(request),
            expected_version=self.version(request, "expected_version"),
        )


def _malformed(path: str, error: Undecodable) -> Refusal:
    dot = "." if error.field and not error.field.startswith("[") else ""
    return malformed(f"{path}{dot}{error.field}", error.problem)
