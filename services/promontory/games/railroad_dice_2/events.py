"""What happens in a game [Railroad Dice 2 6.4]. All of it is public; events carry results: a replay judges nothing."""

from __future__ import annotations

import msgspec

from promontory.games.kernel import Seat
from promontory.games.railroad_dice_2.vocabulary import DieKind, EndReason, EndTrigger, RestockCause, Square


class StartPlayerDrawn(msgspec.Struct, frozen=True):
    """The seat that begins in every phase was drawn [R-4]."""

    seat: Seat


class TilePlaced(msgspec.Struct, frozen=True):
    """A tile was laid with its north-west square at `square`; `seat` is None in the beginners' layout."""

    seat: Seat | None
    tile_id: str
    square: Square
    rotation: int


class LayoutFixed(msgspec.Struct, frozen=True):
    """All tiles lie. Every `x` and `y` became larger by `shift`, so that the smallest ones are 0."""

    shift: Square


class HomePlaced(msgspec.Struct, frozen=True):
    """A seat placed its home."""

    seat: Seat
    square: Square


class GrayPlaced(msgspec.Struct, frozen=True):
    """A seat placed a gray station."""

    seat: Seat
    square: Square


class GrayPlacementEnded(msgspec.Struct, frozen=True):
    """No square was left for a gray station; `unplaced` stations, 1 or more, left the game [R-9]."""

    unplaced: int


class TilePassengers(msgspec.Struct, frozen=True):
    """A number of passengers beside a tile."""

    tile_id: str
    count: int


class PassengersPlaced(msgspec.Struct, frozen=True):
    """The first passengers came from the bank; tiles without stations are not named."""

    tiles: tuple[TilePassengers, ...]


class TurnStarted(msgspec.Struct, frozen=True):
    """Turn number `turn`, from 1, began."""

    turn: int
    seat: Seat


class HandDie(msgspec.Struct, frozen=True):
    """A die of the hand. `die` is its number in the turn.

    `fixed` marks a simple die that came back from the map: it keeps its face [R-20].
    """

    die: int
    kind: DieKind
    face: str
    fixed: bool = False


class DiceRolled(msgspec.Struct, frozen=True):
    """Dice were rolled, for the `number`th time in the game, from 1: simple ones first."""

    seat: Seat
    number: int
    dice: tuple[HandDie, ...]


class ComplexTaken(msgspec.Struct, frozen=True):
    """A complex die was taken from the bank; that it was placed with `face` follows."""

    seat: Seat
    die: int
    face: str


class DiePlaced(msgspec.Struct, frozen=True):
    """A die was placed for `cost` dollars. `rotation` is the smallest that gives its tracks.

    A complex die replaced a simple one, which is in the hand as `returned` now.
    """

    seat: Seat
    die: int
    kind: DieKind
    face: str
    rotation: int
    square: Square
    cost: int
    returned: HandDie | None = None


class Linked(msgspec.Struct, frozen=True):
    """A seat's trains can reach a station from now on, through what the seat `by` built."""

    seat: Seat
    station: Square
    by: Seat


class IncomePaid(msgspec.Struct, frozen=True):
    """A seat got `amount` dollars from the bank for the link to a station: the builder, or whose home it is [R-35]."""

    seat: Seat
    station: Square
    amount: int


class LocomotiveFaceUsed(msgspec.Struct, frozen=True):
    """A die of the hand returned to the bank to restock a tile."""

    seat: Seat
    die: int
    tile_id: str


class Restocked(msgspec.Struct, frozen=True):
    """Passengers came from the bank; tiles that got none are not named."""

    seat: Seat
    cause: RestockCause
    tiles: tuple[TilePassengers, ...]


class DiceReturned(msgspec.Struct, frozen=True):
    """Dice of the hand returned to the bank."""

    seat: Seat
    dice: tuple[int, ...]


class LocomotiveBought(msgspec.Struct, frozen=True):
    """The top of the stack of locomotives was bought."""

    seat: Seat
    value: int
    price: int


class LocomotivesScrapped(msgspec.Struct, frozen=True):
    """All locomotives of a value left the game; `counts` tells by seat how many [R-40]."""

    value: int
    counts: tuple[int, ...]


class PassengersMoved(msgspec.Struct, frozen=True):
    """A locomotive carried `count` passengers from a station across `tiles` tiles: so many dollars for the seat."""

    seat: Seat
    station: Square
    tile_id: str
    locomotive: int
    count: int
    tiles: int


class EndTriggered(msgspec.Struct, frozen=True):
    """The final phase began, in the order of `EndTrigger` for all these reasons [R-60]."""

    reasons: tuple[EndTrigger, ...]


class FinalRefill(msgspec.Struct, frozen=True):
    """The last passengers came from the bank [R-50]; tiles that got none are not named."""

    tiles: tuple[TilePassengers, ...]


class TurnEnded(msgspec.Struct, frozen=True):
    """Turn number `turn` ended; `auto` tells that the rules ended it.

    `stalled` turns in a row have now passed without any effect [R-56], `idle` final turns without purchase and
    transport [R-53].
    """

    turn: int
    seat: Seat
    auto: bool
    stalled: int
    idle: int


class SeatResigned(msgspec.Struct, frozen=True):
    """A seat gave up; while others play on, the rules act for it."""

    seat: Seat


class GameOver(msgspec.Struct, frozen=True):
    """The game ended: every seat's money and place, from 1, shared if tied. The last event."""

    reason: EndReason
    money: tuple[int, ...]
    places: tuple[int, ...]


Event = (
    StartPlayerDrawn
    | TilePlaced
    | LayoutFixed
    | HomePlaced
    | GrayPlaced
    | GrayPlacementEnded
    | PassengersPlaced
    | TurnStarted
    | DiceRolled
    | ComplexTaken
    | DiePlaced
    | Linked
    | IncomePaid
    | LocomotiveFaceUsed
    | Restocked
    | DiceReturned
    | LocomotiveBought
    | LocomotivesScrapped
    | PassengersMoved
    | EndTriggered
    | FinalRefill
    | TurnEnded
    | SeatResigned
    | GameOver
)
