"""What happens to a match beside the game itself: time that runs out, players who leave, offers to end it. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from promontory.codec.conduct import (
    Ending,
    EndingDeclined,
    EndingOffer,
    EndingOffered,
    LeaveCause,
    MatchAborted,
    MatchCancelled,
    MatchEvent,
    SeatLeft,
    TurnTimedOut,
)
from promontory.codec.terms import TimeControl
from promontory.games.kernel import Seat
from promontory.rules.clocks import Clocks, run_out


class Abort(msgspec.Struct, frozen=True, tag="abort"):
    """The act of calling the match off."""


class Claim(msgspec.Struct, frozen=True, tag="claim"):
    """The act of claiming the match from the `gone` seats, ascending."""

    gone: tuple[Seat, ...]


class Offer(msgspec.Struct, frozen=True, tag="offer"):
    """The act of offering an ending, or of agreeing to it."""

    ending: Ending


class Decline(msgspec.Struct, frozen=True, tag="decline"):
    """The act of declining what others offered."""


class Enforce(msgspec.Struct, frozen=True, tag="enforce"):
    """The platform's act of recording that time ran out."""


class Cancel(msgspec.Struct, frozen=True, tag="cancel"):
    """The platform's act of cancelling the match; `note` is what players are told."""

    note: str = ""


Act: TypeAlias = Abort | Claim | Offer | Decline | Enforce | Cancel
"""What somebody does in a match that is no command of the game; a commit's meta keeps it for audits."""


class Leaver(msgspec.Struct, frozen=True):
    """A seat whose player left, and how; `policy` plays on for it, or the game's own rules if that is empty."""

    seat: Seat
    cause: LeaveCause
    policy: str = ""


class Conduct(msgspec.Struct, frozen=True):
    """Where a match stands beside the game itself.

    `leavers` in the order in which they left. `stand_ins` are the policies by which the house plays for a timed-out
    seat until its turn is over, by seat. `movers` are the seats whose players have moved.
    """

    clocks: Clocks
    leavers: tuple[Leaver, ...] = ()
    stand_ins: tuple[tuple[Seat, str], ...] = ()
    offers: tuple[EndingOffer, ...] = ()
    movers: tuple[Seat, ...] = ()
    aborted: bool = False
    cancelled: bool = False

    def leaver(self, seat: Seat) -> Leaver | None:
        """Return how `seat` was left, or None if its player is still there."""
        for leaver in self.leavers:
            if leaver.seat == seat:
                return leaver
        return None

    def stand_in(self, seat: Seat) -> str:
        """Return the policy that plays for `seat` instead of its player, or an empty text."""
        if self.leavers and (leaver := self.leaver(seat)):
            return leaver.policy
        return dict(self.stand_ins).get(seat, "") if self.stand_ins else ""

    def agreed(self, needed: Collection[Seat]) -> Ending | None:
        """Return the ending that all `needed` seats, at least one, agree to, or None."""
        return next((offer.ending for offer in self.offers if needed and set(needed) <= set(offer.seats)), None)


def evolve(conduct: Conduct, event: MatchEvent, control: TimeControl | None, *, version: int) -> Conduct:
    """Return `conduct` after `event` in commit `version`."""
    match event:
        case TurnTimedOut(seat, _, policy):
            assert control is not None, "time runs out only where there is some"  # noqa: S101 - for the checker
            clock = run_out(control, conduct.clocks[seat], version=version)
            clocks = (*conduct.clocks[:seat], clock, *conduct.clocks[seat + 1 :])
            stand_ins = (*conduct.stand_ins, (seat, policy)) if policy else conduct.stand_ins
            return replace(conduct, clocks=clocks, stand_ins=stand_ins)
        case SeatLeft(seat, cause, policy):
            return replace(conduct, leavers=(*conduct.leavers, Leaver(seat, cause, policy)))
        case EndingOffered(seat, ending):
            return replace(conduct, offers=_with_agreement(conduct.offers, seat, ending))
        case EndingDeclined():
            return replace(conduct, offers=())
        case MatchAborted():
            return replace(conduct, aborted=True)
        case MatchCancelled():
            return replace(conduct, cancelled=True)


def _with_agreement(offers: tuple[EndingOffer, ...], seat: Seat, ending: Ending) -> tuple[EndingOffer, ...]:
    seats = next((offer.seats for offer in offers if offer.ending is ending), ())
    agreed = EndingOffer(ending, tuple(sorted({*seats, seat})))
    return (*(offer for offer in offers if offer.ending is not ending), agreed)


def after_move(conduct: Conduct, seat: Seat) -> Conduct:
    """Return `conduct` after the player of `seat` moved: offers that the player has not agreed to lapse."""
    if seat in conduct.movers and not conduct.offers and not conduct.clocks[seat].timeout_version:
        return conduct
    clock = replace(conduct.clocks[seat], timeout_version=0)
    return replace(
        conduct,
        clocks=(*conduct.clocks[:seat], clock, *conduct.clocks[seat + 1 :]),
        offers=tuple(offer for offer in conduct.offers if seat in offer.seats),
        movers=tuple(sorted({*conduct.movers, seat})),
    )
