"""The words of Transcontinental: sides, phases, piles, suits, kinds of melds, reasons of an end."""

from __future__ import annotations

from enum import StrEnum


class Side(StrEnum):
    """One of the two sides; which seat plays it is the match's `cp_seat` [T-4]."""

    CP = "CP"
    UP = "UP"

    @property
    def other(self) -> Side:
        """The opposing side."""
        return UP if self is CP else CP


CP, UP = Side
"""The sides by names of their own, for what is done very often: an attribute of an enum is slow to read."""


class Phase(StrEnum):
    """Where a turn stands [Transcontinental 3.1]; the camp phase has no decision and no value here."""

    PLANNING = "planning"
    WORK = "work"
    SURVEYORS = "surveyors"
    LOGISTICS = "logistics"
    OVER = "over"


class Source(StrEnum):
    """The pile a card is drawn from [Transcontinental 3.2]."""

    DECK = "deck"
    DISCARD = "discard"


class Suit(StrEnum):
    """The seven main suits in rulebook order, and the minor suit of difficulty cards."""

    WORK = "work"
    ETHNICITIES = "ethnicities"
    TOWNS = "towns"
    JOBS = "jobs"
    SUPPLIES = "supplies"
    LABOR = "labor"
    MONEY = "money"
    DIFFICULTY = "difficulty"


class MeldKind(StrEnum):
    """What a set of cards is [Transcontinental 4.1], in the order in which events list kinds."""

    SURPLUS = "surplus"
    RAIL = "rail"
    LINE = "line"
    TRACK = "track"
    RAIL_LINE = "rail_line"


class EndReason(StrEnum):
    """Why a game ended [Transcontinental 7]."""

    VICTORY = "victory"
    NO_PROGRESS = "no_progress"
    RESIGNATION = "resignation"
