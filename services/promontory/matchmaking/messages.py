"""Tickets, pools and tables as the API shows them."""

from __future__ import annotations

from google.protobuf.duration_pb2 import Duration

from promontory.api.lobby.v1 import lobby_service_pb2 as lobby_pb
from promontory.api.matchmaking.v1 import matchmaking_service_pb2 as pb
from promontory.codec.times import timestamp
from promontory.games import registry
from promontory.matchmaking.domain import MatchEntry, Pool, Table, TicketState
from promontory.matchmaking.usecases import Standing

_STATES = {
    TicketState.WAITING: pb.TICKET_STATE_WAITING,
    TicketState.PROPOSED: pb.TICKET_STATE_PROPOSED,
    TicketState.ASSIGNED: pb.TICKET_STATE_ASSIGNED,
    TicketState.CANCELLED: pb.TICKET_STATE_CANCELLED,
}


def pool_message(pool: Pool, waiting: int) -> pb.Pool:
    """Return `pool` with the number of tickets that wait in it."""
    message = pb.Pool(pool=pool.id, game=pool.game, seats=pool.seats, rated=pool.rated, waiting=waiting)
    message.variant = pool.variant
    if pool.house_bots_after_seconds is not None:
        message.house_bots_after.CopyFrom(_duration(pool.house_bots_after_seconds))
    return message


def _duration(seconds: float) -> Duration:
    whole, milliseconds = divmod(round(seconds * 1000), 1000)
    return Duration(seconds=whole, nanos=milliseconds * 1_000_000)


def ticket_message(standing: Standing) -> pb.Ticket:
    """Return the ticket of `standing`, with why it waits or the match it got."""
    ticket = standing.ticket
    message = pb.Ticket(
        ticket_id=ticket.id,
        pool=ticket.pool,
        player_id=ticket.entrant.player,
        state=_STATES[ticket.state],
        rating=ticket.rating,
        create_time=timestamp(ticket.created_ms),
    )
    if ticket.assignment:
        found = ticket.assignment
        message.assignment.CopyFrom(pb.Assignment(service=found.service, match_id=found.match_id, seat=found.seat))
    if standing.pool and not ticket.is_over:
        message.waiting.CopyFrom(_waiting(standing, standing.pool))
    return message


def _waiting(standing: Standing, pool: Pool) -> pb.Waiting:
    ticket = standing.ticket
    width = pool.window.width(standing.now_ms - ticket.created_ms)
    message = pb.Waiting(
        reason=_reason(standing),
        lowest_rating=ticket.rating - width,
        highest_rating=ticket.rating + width,
        others_waiting=standing.others_waiting,
    )
    if pool.house_bots_after_seconds is not None:
        after_ms = round(pool.house_bots_after_seconds * 1000)
        message.house_bots_time.CopyFrom(timestamp(ticket.created_ms + after_ms))
    return message


def _reason(standing: Standing) -> pb.WaitReason.ValueType:
    if standing.ticket.state is TicketState.PROPOSED:
        return pb.WAIT_REASON_CREATING_MATCH
    return pb.WAIT_REASON_OUTSIDE_WINDOW if standing.others_waiting else pb.WAIT_REASON_POOL_EMPTY


def table_message(table: Table) -> lobby_pb.Table:
    """Return `table` as its guests see it."""
    return lobby_pb.Table(
        table_id=table.id,
        invite_code=table.invite_code,
        game=table.game,
        seats=table.seats,
        player_ids=[guest.player for guest in table.guests],
        match_id=table.made.match_id if table.made else "",
        service=registry.entry(table.game).service,
        create_time=timestamp(table.created_ms),
        variant=table.variant,
    )


def entry_message(entry: MatchEntry) -> lobby_pb.MatchEntry:
    """Return one of a player's matches."""
    return lobby_pb.MatchEntry(
        match_id=entry.match_id,
        service=entry.service,
        game=entry.game,
        pool=entry.pool,
        seat=entry.seat,
        player_ids=entry.players,
        create_time=timestamp(entry.created_ms),
    )
