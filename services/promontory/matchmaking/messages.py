"""Tickets and pools as the API shows them."""

from __future__ import annotations

from promontory.api.matchmaking.v1 import matchmaking_service_pb2 as pb
from promontory.codec.terms import term_fields
from promontory.codec.times import duration, timestamp
from promontory.matchmaking.domain import Pool, TicketState
from promontory.matchmaking.usecases import Standing

_STATES = {
    TicketState.WAITING: pb.TICKET_STATE_WAITING,
    TicketState.PROPOSED: pb.TICKET_STATE_PROPOSED,
    TicketState.ASSIGNED: pb.TICKET_STATE_ASSIGNED,
    TicketState.CANCELLED: pb.TICKET_STATE_CANCELLED,
}


def pool_message(pool: Pool, waiting: int) -> pb.Pool:
    """Return `pool` with the number of tickets that wait in it."""
    after = pool.house_bots_after_seconds
    return pb.Pool(
        pool=pool.id,
        game=pool.game,
        seats=pool.seats,
        rated=pool.rated,
        house_bots_after=None if after is None else duration(round(1000 * after)),
        waiting=waiting,
        variant=pool.variant,
        **term_fields(pool.terms),
    )


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
