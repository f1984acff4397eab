"""Tables and lists of matches as the API shows them, and its requests as the lobby takes them."""

from __future__ import annotations

from collections.abc import Iterable

from promontory.api.lobby.v1 import lobby_service_pb2 as pb
from promontory.api.match.v1 import match_pb2
from promontory.codec.outcomes import Result, outcome_message
from promontory.codec.port import Undecodable
from promontory.codec.terms import Terms, term_fields, terms_of
from promontory.codec.times import timestamp
from promontory.games import registry
from promontory.matchmaking.listing import Ended, Listed
from promontory.matchmaking.lists import Filter, PageWish
from promontory.matchmaking.lobby import End, EndReason, Quiet, TableWish
from promontory.matchmaking.table import CloseReason, Guest, Readiness, Table, TableState
from promontory.runtime.errors import malformed

_STATES = {state: pb.TableState.Value(f"TABLE_STATE_{state.name}") for state in TableState}
_REASONS = {reason: pb.TableCloseReason.Value(f"TABLE_CLOSE_REASON_{reason.name}") for reason in CloseReason}
_READINESS = {each: pb.Readiness.Value(f"READINESS_{each.name}") for each in Readiness}
_READINESS_OF: dict[int, Readiness] = {
    pb.READINESS_UNSPECIFIED: Readiness.NOT_READY,
    **{number: each for each, number in _READINESS.items()},
}
_ENDS = {each: pb.TableStreamEndReason.Value(f"TABLE_STREAM_END_REASON_{each.name}") for each in EndReason}
_MATCH_STATES = {
    match_pb2.MATCH_STATE_UNSPECIFIED: None,
    match_pb2.MATCH_STATE_OPEN: False,
    match_pb2.MATCH_STATE_CLOSED: True,
}


def wish_of(request: pb.CreateTableRequest) -> TableWish:
    """Return the table that `request` asks for."""
    return TableWish(
        request_id=request.request_id,
        game=request.game,
        seats=request.seats,
        draw_start=request.draw_start,
        variant=request.variant,
        entropy=request.client_entropy,
        readiness=readiness_of(request.readiness),
        start_when_ready=request.start_when_ready if request.HasField("start_when_ready") else True,
        house_bots=tuple((bot.seat, bot.policy) for bot in request.house_bots),
        terms=_terms(request),
    )


def _terms(request: pb.CreateTableRequest) -> Terms:
    try:
        return terms_of(request)
    except Undecodable as error:
        raise malformed(error.field, error.problem) from error


def readiness_of(number: int) -> Readiness:
    """Return what a request says about being ready. Refuses what there is not."""
    if number not in _READINESS_OF:
        raise malformed("readiness", f"has the unknown value {number}")
    return _READINESS_OF[number]


def filter_of(request: pb.ListMatchesRequest) -> Filter:
    """Return which of the caller's matches `request` asks for."""
    if request.state not in _MATCH_STATES:
        raise malformed("state", f"has the unknown value {request.state}")
    return Filter(request.game, request.pool, _MATCH_STATES[request.state])


def page_of(request: pb.ListMatchesRequest | pb.ListLiveMatchesRequest | pb.ListPlayerMatchesRequest) -> PageWish:
    """Return which page `request` asks for."""
    return PageWish(request.page_size, request.page_token)


def table_message(table: Table, player: str) -> pb.Table:
    """Return `table` as `player`, one of its guests, sees it."""
    return pb.Table(
        table_id=table.id,
        invite_code=table.invite_code,
        game=table.game,
        seats=len(table.guests),
        player_ids=[guest.player for guest in table.seated],
        match_id=table.made.match_id if table.made else "",
        service=registry.entry(table.game).service,
        create_time=timestamp(table.created_ms),
        variant=table.variant,
        state=_STATES[table.state],
        close_reason=_REASONS[table.close_reason] if table.close_reason else pb.TABLE_CLOSE_REASON_UNSPECIFIED,
        revision=table.revision,
        host_id=table.host,
        places=[_seat(table, seat) for seat in range(len(table.guests))],
        start_when_ready=table.start_when_ready,
        expire_time=timestamp(table.expires_ms) if table.state is TableState.OPEN else None,
        draw_start=table.draw_start,
        **term_fields(table.terms),
        pool=table.pool,
        rated=table.rated,
        rematch_of=table.rematch_of,
        your_seat=table.seat_of(player),
    )


def _seat(table: Table, seat: int) -> pb.TableSeat:
    guest = table.guests[seat]
    if guest is None:
        return pb.TableSeat(seat=seat, player_id=table.reserved[seat] if table.reserved else "")
    return pb.TableSeat(
        seat=seat,
        player_id=guest.player,
        kind=_kind(guest),
        bot_policy=guest.entrant.policy,
        readiness=_READINESS[guest.readiness],
    )


def _kind(guest: Guest) -> match_pb2.SeatKind.ValueType:
    return match_pb2.SEAT_KIND_HOUSE_BOT if guest.is_house_bot else match_pb2.SEAT_KIND_PLAYER


def told_message(told: Table | Quiet | End, player: str) -> pb.WatchTableResponse:
    """Return what a table's stream tells `player`."""
    match told:
        case Table():
            return pb.WatchTableResponse(table=table_message(told, player))
        case Quiet(revision, now_ms):
            heartbeat = pb.TableHeartbeat(revision=revision, server_time=timestamp(now_ms))
            return pb.WatchTableResponse(heartbeat=heartbeat)
    is_resumable = told.reason is EndReason.SERVER_DRAINING
    return pb.WatchTableResponse(
        end=pb.TableStreamEnd(reason=_ENDS[told.reason], revision=told.revision, resumable=is_resumable)
    )


def entry_messages(matches: Iterable[Listed], player: str = "") -> list[pb.MatchEntry]:
    """Return the entries of a list, which is `player`'s if one is named."""
    return [_entry(match, player) for match in matches]


def _entry(match: Listed, player: str) -> pb.MatchEntry:
    return pb.MatchEntry(
        match_id=match.match_id,
        service=match.service,
        game=match.game,
        pool=match.pool,
        seat=match.players.index(player) if player in match.players else None,
        player_ids=match.players,
        create_time=timestamp(match.created_ms),
        rated=match.rated,
        state=match_pb2.MATCH_STATE_CLOSED if match.ended else match_pb2.MATCH_STATE_OPEN,
        outcome=_outcome(match.ended) if match.ended else None,
        close_time=timestamp(match.ended.closed_ms) if match.ended else None,
        spectator_delay=match.spectator_delay,
    )


def _outcome(ended: Ended) -> match_pb2.Outcome:
    return outcome_message(Result(ended.reason, ended.places, ended.scores))
