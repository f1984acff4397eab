"""What a seat may want to do [Pacific 2.2, Pacific 3.7]. Cards are named by their ids, slots from 0."""

from __future__ import annotations

import msgspec

from promontory.games.kernel import Seat
from promontory.games.pacific.decisions import Answer
from promontory.games.pacific.vocabulary import Area


class SetupPlace(msgspec.Struct, frozen=True):
    """Choose two different areas for the first hotel and the first factory, in a game for two [P-13]."""

    seat: Seat
    hotel: Area
    factory: Area


class PutOut(msgspec.Struct, frozen=True):
    """Put a card of the hand out, face down; may be sent again until all cards of the phase are out [P-4]."""

    seat: Seat
    card_id: str


class Choose(msgspec.Struct, frozen=True):
    """Choose the slots of the cards to execute, in any order; may be sent again until all have chosen [P-4]."""

    seat: Seat
    slots: tuple[int, ...]


class AnswerDecision(msgspec.Struct, frozen=True):
    """Answer the open decision [Pacific 3.7]."""

    seat: Seat
    decision_id: int
    answer: Answer


class SetExplicitRuns(msgspec.Struct, frozen=True):
    """Set whether every run of an area is asked for, from the next area on; at any time [Pacific 4.3]."""

    seat: Seat
    on: bool


class Resign(msgspec.Struct, frozen=True):
    """Give the game up, at any time. The rules answer for the seat from then on."""

    seat: Seat


Command = SetupPlace | PutOut | Choose | AnswerDecision | SetExplicitRuns | Resign
