"""Domain errors of the services, and how every error becomes a `google.rpc.Status`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import grpc
from google.protobuf import any_pb2, duration_pb2
from google.protobuf.message import Message
from google.rpc import code_pb2, error_details_pb2, status_pb2

from promontory.eventlog import port as log
from promontory.games.kernel import Malformed, Rejected

DOMAIN = "promontory.api"
LIMIT_NAME = "limitName"
"""The metadata key that names the limit that is reached."""
RETRY_SECONDS = 1
MAX_MESSAGE_BYTES, MAX_VALUE_BYTES, MAX_FIELDS = 800, 160, 8
"""What a status tells at most: gRPC carries it in metadata of 8 KB, and drops the whole status if it is longer."""


class Kind(Enum):
    """What sort of failure a reason is; the value is the gRPC code."""

    MALFORMED = grpc.StatusCode.INVALID_ARGUMENT
    UNAUTHENTICATED = grpc.StatusCode.UNAUTHENTICATED
    NOT_ALLOWED = grpc.StatusCode.PERMISSION_DENIED
    NOT_FOUND = grpc.StatusCode.NOT_FOUND
    FORBIDDEN_NOW = grpc.StatusCode.FAILED_PRECONDITION
    EXISTS = grpc.StatusCode.ALREADY_EXISTS
    CONFLICT = grpc.StatusCode.ABORTED
    TOO_MANY = grpc.StatusCode.RESOURCE_EXHAUSTED
    UNAVAILABLE = grpc.StatusCode.UNAVAILABLE
    NO_SUCH_METHOD = grpc.StatusCode.UNIMPLEMENTED
    FAULT = grpc.StatusCode.INTERNAL


class Refusal(Exception):
    """A service says no: a stable reason, a sentence for people, and the values that matter in `metadata`.

    `fields` maps the path of each malformed field to what is wrong with it. `retrySeconds` in the metadata becomes the
    `RetryInfo`, `limitName` the `QuotaFailure`; what is unavailable may be tried again after a second. `logged` are
    more keys for the server's log line, of which the caller is told nothing.
    """

    def __init__(
        self,
        kind: Kind,
        reason: str,
        message: str,
        *,
        fields: dict[str, str] | None = None,
        metadata: Mapping[str, str | int] | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.reason = reason
        self.message = message
        self.fields = fields or {}
        self.metadata = metadata or {}
        self.logged: dict[str, str] = {}

    @property
    def retry_seconds(self) -> float | None:
        """How long to wait before trying again, or None where waiting does not help."""
        default = RETRY_SECONDS if self.kind is Kind.UNAVAILABLE else 0
        return float(self.metadata.get("retrySeconds", default)) or None


def malformed(field: str, problem: str) -> Refusal:
    """Return the refusal of a request whose `field` is missing or malformed."""
    return Refusal(
        Kind.MALFORMED, "BAD_REQUEST", f"{field}: {problem}", fields={field: problem}, metadata={"field": field}
    )


def no_message() -> Refusal:
    """Return the refusal of bytes that are no request."""
    return Refusal(Kind.MALFORMED, "BAD_REQUEST", "the request is not a message of this method")


def method_unknown() -> Refusal:
    """Return the refusal of a call that nothing here answers."""
    return Refusal(Kind.NO_SUCH_METHOD, "METHOD_UNKNOWN", "the server has no such method")


def match_not_found(match_id: str) -> Refusal:
    """Return the refusal `MATCH_NOT_FOUND`."""
    return Refusal(Kind.NOT_FOUND, "MATCH_NOT_FOUND", "there is no such match", metadata={"matchId": match_id})


def match_open(match_id: str) -> Refusal:
    """Return the refusal `MATCH_OPEN` of what is told of closed matches, or done with them, only."""
    text = "the match is still being played"
    return Refusal(Kind.FORBIDDEN_NOW, "MATCH_OPEN", text, metadata={"matchId": match_id})


def as_refusal(error: Exception) -> Refusal:
    """Return `error` as clients may see it; an unforeseen one becomes `INTERNAL` without its details."""
    match error:
        case Refusal():
            return error
        case Malformed():
            return _of_rules(Kind.MALFORMED, error)
        case Rejected():
            return _of_rules(Kind.FORBIDDEN_NOW, error)
        case log.VersionConflict(version=version):
            text = f"the match is at version {version}"
            return Refusal(Kind.CONFLICT, "VERSION_CONFLICT", text, metadata={"currentVersion": version})
        case log.StreamClosed(version=version):
            text = f"the match was closed at version {version}"
            return Refusal(Kind.FORBIDDEN_NOW, "MATCH_OVER", text, metadata={"version": version})
        case log.CommandIdReused(version=version):
            text = f"the request id was used with other content, in version {version}; take a new one"
            return Refusal(Kind.MALFORMED, "REQUEST_ID_REUSED", text, metadata={"version": version})
        case log.LogCorrupt(version=version):
            text = f"the match's log does not verify at version {version}"
            return Refusal(Kind.FORBIDDEN_NOW, "LOG_CORRUPT", text, metadata={"version": version})
        case log.ClockSkew():
            text = "the clocks of this server and of the event log differ too much; repeat on another replica"
            return Refusal(Kind.UNAVAILABLE, "CLOCK_SKEWED", text)
        case log.StreamArchived(stream=stream):
            text = "the match is in the archive, which this server is not set up to read (PROMONTORY_ARCHIVE_URL)"
            return Refusal(Kind.UNAVAILABLE, "ARCHIVE_UNAVAILABLE", text, metadata={"matchId": stream})
        case log.ArchiveUnavailable():
            text = "the match is not in the log, and the archive did not answer; try again"
            return Refusal(Kind.UNAVAILABLE, "ARCHIVE_UNAVAILABLE", text)
        case log.ArchiveMissing(stream=stream):
            text = "the match was moved to the archive, and its file is missing there"
            return Refusal(Kind.FORBIDDEN_NOW, "ARCHIVE_MISSING", text, metadata={"matchId": stream})
        case log.EventLogUnavailable() | log.Fenced():
            text = "the event log did not answer; repeat with the same request id"
            return Refusal(Kind.UNAVAILABLE, "EVENT_LOG_UNAVAILABLE", text)
    return Refusal(Kind.FAULT, "INTERNAL", "internal error")


def _sentence(error: Rejected) -> str:
    if error.rule == "conduct":
        return _of_conduct(error)
    values = ", ".join(f"{key} {value}" for key, value in error.details.items())
    return f"the rules refuse it: {error}" + (f": {values}" if values else "")


def _of_conduct(error: Rejected) -> str:
    """Return what a player is told who may not end the match, or leave it, like that."""
    match error.reason, error.details:
        case "MATCH_OVER", {"closeReason": reason}:
            return f"the match is over: {reason}"
        case "SEAT_LEFT", {"seat": seat, "cause": cause}:
            return f"the player of seat {seat} has left the match: {cause}"
        case "ABORT_TOO_LATE", _:
            return "too late to abort: a player has moved, or a turn's time ran out; offer to cancel it, or resign"
        case "NOTHING_TO_CLAIM", {"claimableSeconds": seconds}:
            return f"no opponent who is to act has been gone for long enough; the first can be claimed in {seconds} s"
        case "NOTHING_TO_CLAIM", _:
            return "no opponent who is to act is gone, or in this match nobody can be claimed"
        case "ENDING_IMPOSSIBLE", {"cause": "house_bots"}:
            return "house bots agree to nothing in a rated match; play on, or resign"
        case "ENDING_IMPOSSIBLE", {"cause": "already_offered"}:
            return "the seat has offered that already; the others are to agree"
        case "NO_OFFER", _:
            return "there is no offer of anybody else to decline"
    return str(error)


def _of_rules(kind: Kind, error: Rejected) -> Refusal:
    metadata = {"rule": error.rule, **error.details}
    fields = {str(error.details["field"]): f"makes no sense [{error.rule}]"} if "field" in error.details else None
    return Refusal(kind, error.reason, _sentence(error), fields=fields, metadata=metadata)


def status(refusal: Refusal) -> status_pb2.Status:
    """Return `refusal` as the status that goes over the wire, with its one `ErrorInfo`; what is too long is cut."""
    metadata = {key: _cut(str(value)) for key, value in refusal.metadata.items()}
    details = [_pack(error_details_pb2.ErrorInfo(domain=DOMAIN, reason=refusal.reason, metadata=metadata))]
    if refusal.fields:
        violations = [
            error_details_pb2.BadRequest.FieldViolation(field=_cut(field), description=_cut(problem))
            for field, problem in list(refusal.fields.items())[:MAX_FIELDS]
        ]
        details.append(_pack(error_details_pb2.BadRequest(field_violations=violations)))
    if limit := refusal.metadata.get(LIMIT_NAME):
        violation = error_details_pb2.QuotaFailure.Violation(quota_id=str(limit), description=_cut(refusal.message))
        details.append(_pack(error_details_pb2.QuotaFailure(violations=[violation])))
    if refusal.retry_seconds is not None:
        delay = duration_pb2.Duration()
        delay.FromMilliseconds(round(1000 * refusal.retry_seconds))
        details.append(_pack(error_details_pb2.RetryInfo(retry_delay=delay)))
    code = code_pb2.Code.ValueType(refusal.kind.value.value[0])
    return status_pb2.Status(code=code, message=_cut(refusal.message, MAX_MESSAGE_BYTES), details=details)


def _cut(text: str, size: int = MAX_VALUE_BYTES) -> str:
    return text.encode(errors="replace")[:size].decode(errors="ignore")


def _pack(message: Message) -> any_pb2.Any:
    packed = any_pb2.Any()
    packed.Pack(message)
    return packed
