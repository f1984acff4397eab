"""The words of Pacific: areas, arrows, tokens, colours, phases, effects, and why something happened."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Area(StrEnum):
    """The five areas of a mat in ring order, the order in which they are run [Pacific 1.1]."""

    JAPAN = "japan"
    CALIFORNIA = "california"
    PERU = "peru"
    POLYNESIA = "polynesia"
    CORAL_SEA = "coral_sea"

    place: int
    """The area's place in ring order, from 0."""

    def __init__(self, name: str) -> None:
        self.place = len(type(self).__members__)

    @property
    def following(self) -> Area:
        """The area that the arrow leads to."""
        return AREAS[(self.place + 1) % len(AREAS)]


class Ends(NamedTuple):
    """The two areas that an arrow joins."""

    source: Area
    destination: Area


class Arrow(StrEnum):
    """The five arrows from each area to the following one; Paths lie on them [Pacific 1.1]."""

    JAPAN_CALIFORNIA = "japan_california"
    CALIFORNIA_PERU = "california_peru"
    PERU_POLYNESIA = "peru_polynesia"
    POLYNESIA_CORAL_SEA = "polynesia_coral_sea"
    CORAL_SEA_JAPAN = "coral_sea_japan"

    @property
    def ends(self) -> Ends:
        """The areas the arrow joins."""
        return _ENDS[self]


class Kind(StrEnum):
    """The eight kinds of tokens in areas, in kind order [Pacific 1.2]."""

    FISH = "fish"
    HOTEL = "hotel"
    FACTORY = "factory"
    BOAT = "boat"
    HATCHERY = "hatchery"
    PORT = "port"
    BALLOON = "balloon"
    HQ = "hq"

    place: int
    """The kind's place in kind order, from 0."""

    def __init__(self, name: str) -> None:
        self.place = len(type(self).__members__)


class Colour(StrEnum):
    """The colours of cards: those of the five areas in ring order, and orange, which belongs to none."""

    GREEN = "green"
    YELLOW = "yellow"
    RED = "red"
    BLUE = "blue"
    WHITE = "white"
    ORANGE = "orange"

    @property
    def area(self) -> Area | None:
        """The area that the colour runs."""
        return _COLOURED.get(self)


class Phase(StrEnum):
    """What the game waits for [Pacific 2.1]; phases without a decision have no value here."""

    SETUP_PLACE = "setup_place"
    PUT_OUT_FIRST = "put_out_first"
    PUT_OUT_LATE = "put_out_late"
    CHOOSE = "choose"
    EXECUTE = "execute"
    OVER = "over"


class EffectKind(StrEnum):
    """What an effect of a card does in the turn after it [Pacific 2.4]."""

    OWN_CARD_ONLY = "own_card_only"
    LATE_PUT_OUT = "late_put_out"
    EXTRA_CARD = "extra_card"
    GAIN_PER_DEPARTURE = "gain_per_departure"
    GAIN_PER_PLACEMENT = "gain_per_placement"
    PLACE_PER_PLACEMENT = "place_per_placement"


class PlacingSource(StrEnum):
    """What placed tokens [Pacific 3.4]; tokens of the set-up have an event of their own."""

    CARD = "card"
    REPLACE = "replace"
    DUPLICATE = "duplicate"
    HATCHERY = "hatchery"
    HQ = "hq"
    UPGRADE = "upgrade"


class MoveCause(StrEnum):
    """What moved tokens [Pacific 7]."""

    CARD = "card"
    RUN = "run"
    PORT = "port"
    ADVANCE = "advance"


class RemovalCause(StrEnum):
    """What removed tokens [Pacific 7]."""

    CARD = "card"
    REPLACE = "replace"
    FACTORY = "factory"


class GainCause(StrEnum):
    """What money was made with: a card's text, a token, or an effect armed the turn before."""

    CARD = "card"
    HOTEL = "hotel"
    BOAT = "boat"
    FACTORY = "factory"
    BALLOON = "balloon"
    DEPARTURE = "departure"
    PLACEMENT = "placement"


class Per(StrEnum):
    """A limit on a choice of tokens: at most one from each area, or at most one of each kind [Pacific 3.5]."""

    AREA = "area"
    KIND = "kind"


class EndReason(StrEnum):
    """Why a game ended."""

    TENTH_TURN = "tenth_turn"
    RESIGNATION = "resignation"


AREAS: tuple[Area, ...] = tuple(Area)
KINDS: tuple[Kind, ...] = tuple(Kind)
BASIC_KINDS = (Kind.FISH, Kind.HOTEL, Kind.FACTORY, Kind.BOAT)
"""The kinds that a Port may fetch [Pacific 1.2]."""

FISH, HOTEL, FACTORY, BOAT, HATCHERY, PORT, BALLOON, HQ = KINDS
"""The kinds by names of their own, for what is done very often: an attribute of an enum is slow to read."""

_ENDS = {arrow: Ends(area, area.following) for arrow, area in zip(Arrow, AREAS, strict=True)}
_COLOURED = dict(zip(Colour, AREAS, strict=False))
