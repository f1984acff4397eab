"""What the SDK raises: a class for each status code, with the reason and the values that matter.

try:
    await seated.submit(command)
except promontory.FailedPrecondition as error:
    print(error.reason, error.metadata)  # NOT_A_MELD {'rule': 'Transcontinental 4.1', 'size': '4'}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from promontory.codec.port import Undecodable

_DETAILS_KEY = "grpc-status-details-bin"
PACES = ("_per_second", "_per_minute")
"""How the names of those limits end that are kept by waiting alone."""


class PromontoryError(Exception):
    """A call failed.

    `reason` is the stable code of the failure (`NOT_YOUR_TURN`), or the status code's name where the failure came from
    the transport and not from Promontory. `message` is a sentence for people, `metadata` holds the values it mentions.
    `fields` maps the paths of malformed request fields to what is wrong with them. `retry_after` is how many seconds
    the server asks to wait before the next attempt, or None.
    """

    code = grpc.StatusCode.UNKNOWN

    def __init__(
        self,
        message: str,
        *,
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
        fields: Mapping[str, str] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason or self.code.name
        self.metadata = dict(metadata or {})
        self.fields = dict(fields or {})
        self.retry_after = retry_after

    def __str__(self) -> str:
        return self.message if self.reason in self.message else f"{self.reason}: {self.message}"


class Cancelled(PromontoryError):
    """The call was cancelled on its way."""

    code = grpc.StatusCode.CANCELLED


class Unknown(PromontoryError):
    """The call failed in a way that nothing more is known of."""


class InvalidArgument(PromontoryError):
    """The request is malformed; `fields` says where. Correct it."""

    code = grpc.StatusCode.INVALID_ARGUMENT


class DeadlineExceeded(PromontoryError):
    """No answer came in time. A change may have happened: repeat it with the same request id."""

    code = grpc.StatusCode.DEADLINE_EXCEEDED


class NotFound(PromontoryError):
    """There is no such match, pool, ticket, table or player."""

    code = grpc.StatusCode.NOT_FOUND


class AlreadyExists(PromontoryError):
    """What was to be made is there: for a ticket, `metadata["ticketId"]` is the one that waits already."""

    code = grpc.StatusCode.ALREADY_EXISTS


class PermissionDenied(PromontoryError):
    """The seat, ticket or table is another player's, or the token lacks the scope in `metadata["scope"]`."""

    code = grpc.StatusCode.PERMISSION_DENIED


class ResourceExhausted(PromontoryError):
    """A limit is reached: the one called `limit`, of which `most` is allowed. Wait `retry_after` seconds, if it is set.

    What comes too fast the client repeats by itself; this is raised when that took longer than it may retry.
    """

    code = grpc.StatusCode.RESOURCE_EXHAUSTED

    @property
    def limit(self) -> str:
        """The limit, called like the server's setting: `max_open_tickets`; empty if the server does not say."""
        return self.metadata.get("limitName", "")

    @property
    def most(self) -> int | None:
        """What the limit allows."""
        return int(self.metadata["limit"]) if "limit" in self.metadata else None

    @property
    def is_pace(self) -> bool:
        """Whether the limit is one of pace, so that waiting is all it takes."""
        return self.retry_after is not None and self.limit.endswith(PACES)


class FailedPrecondition(PromontoryError):
    """The rules, or the state of what the call is about, forbid it now; `metadata["rule"]` cites the rule."""

    code = grpc.StatusCode.FAILED_PRECONDITION


class Aborted(PromontoryError):
    """Somebody acted first: read again and decide again."""

    code = grpc.StatusCode.ABORTED


class VersionConflict(Aborted):
    """The match has moved past the expected version."""

    @property
    def current_version(self) -> int:
        """The version the match is at."""
        return int(self.metadata["currentVersion"])


class OutOfRange(PromontoryError):
    """What was asked for lies beyond the end."""

    code = grpc.StatusCode.OUT_OF_RANGE


class Unimplemented(PromontoryError):
    """The server has no such method: it is older or newer than the SDK, or another one than its endpoint says."""

    code = grpc.StatusCode.UNIMPLEMENTED


class Internal(PromontoryError):
    """A fault of the server; its log holds the details."""

    code = grpc.StatusCode.INTERNAL


class Unavailable(PromontoryError):
    """The server could not be reached, or cannot serve just now, for as long as the client was told to try."""

    code = grpc.StatusCode.UNAVAILABLE


class DataLoss(PromontoryError):
    """Something was lost beyond repair."""

    code = grpc.StatusCode.DATA_LOSS


class Unauthenticated(PromontoryError):
    """The token is missing or does not verify; `metadata["cause"]` says why. Get a new one."""

    code = grpc.StatusCode.UNAUTHENTICATED


class Incompatible(PromontoryError):
    """The server says something that this version of the SDK does not know. Update it."""


class TicketCancelled(PromontoryError):
    """The ticket that was to get a match has been cancelled."""


class TableClosed(PromontoryError):
    """The table that was to get a match was closed, or the player sits there no longer."""


class ClientClosed(PromontoryError):
    """The client was closed while the call was under way, or before."""


_CLASSES: Mapping[grpc.StatusCode, type[PromontoryError]] = {
    kind.code: kind
    for kind in (
        Cancelled,
        Unknown,
        InvalidArgument,
        DeadlineExceeded,
        NotFound,
        AlreadyExists,
        PermissionDenied,
        ResourceExhausted,
        FailedPrecondition,
        Aborted,
        OutOfRange,
        Unimplemented,
        Internal,
        Unavailable,
        DataLoss,
        Unauthenticated,
    )
}
_CODES: Mapping[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}


def from_call(error: grpc.aio.AioRpcError) -> PromontoryError:
    """Return the failure of a call as the SDK raises it, decoded from the status that came with it."""
    status = _status(error)
    return _failure(error.code(), status.message or error.details() or "the call failed", status.details)


def from_status(status: status_pb2.Status) -> PromontoryError:
    """Return what a call that ended with `status` would raise."""
    return _failure(_CODES.get(status.code, grpc.StatusCode.UNKNOWN), status.message, status.details)


def _failure(code: grpc.StatusCode, message: str, details: Iterable[Any]) -> PromontoryError:
    info, delay = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    request = error_details_pb2.BadRequest()
    for detail in details:
        _unpack_into(detail, (info, delay, request))
    kind = VersionConflict if info.reason == "VERSION_CONFLICT" else _CLASSES.get(code, Unknown)
    return kind(
        message,
        reason=info.reason,
        metadata=info.metadata,
        fields={violation.field: violation.description for violation in request.field_violations},
        retry_after=delay.retry_delay.ToTimedelta().total_seconds() if delay.HasField("retry_delay") else None,
    )


def is_from_transport(error: PromontoryError) -> bool:
    """Tell whether no server of Promontory gave the reason for `error`."""
    return error.reason == error.code.name and not error.metadata


@contextmanager
def understanding() -> Iterator[None]:
    """Turn what cannot be decoded in an answer into `Incompatible`."""
    try:
        yield
    except Undecodable as error:
        text = f"the server's answer is not understood ({error}); update promontory"
        raise Incompatible(text, reason="SDK_OUTDATED", metadata={"field": error.field}) from error


def _status(error: grpc.aio.AioRpcError) -> status_pb2.Status:
    metadata: Any = error.trailing_metadata()
    for key, value in metadata or ():
        if key == _DETAILS_KEY and isinstance(value, bytes):
            try:
                return status_pb2.Status.FromString(value)
            except DecodeError:
                break
    return status_pb2.Status()


def _unpack_into(detail: Any, targets: tuple[Any, ...]) -> None:
    for target in targets:
        if detail.Is(target.DESCRIPTOR):
            detail.Unpack(target)
