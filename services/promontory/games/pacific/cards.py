"""The deck: cards as data in the instruction set, read from a replaceable JSON file [Pacific 3]."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from importlib import resources
from typing import Annotated, Literal

import msgspec

from promontory.games.pacific.colour_law import lawful_colours
from promontory.games.pacific.instruction_checks import faults
from promontory.games.pacific.instructions import Draw, Instruction
from promontory.games.pacific.state import DUMMIES, HAND_SIZE, TURNS
from promontory.games.pacific.vocabulary import Colour

RULES_VERSION = "pacific/1"
FORMAT = "pacific-deck/1"
MOST_SEATS = 5

_Slug = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9]+(_[a-z0-9]+)*$", max_length=40)]
_Title = Annotated[str, msgspec.Meta(min_length=1, max_length=60)]


class DeckFileError(ValueError):
    """A deck file is malformed; the message names the card and the reason."""


class Card(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """One card. `id` is its name in commands and events; the `instructions` are done from top to bottom.

    `colours` are in run order, or orange alone. `worth` is a rough value in dollars that no rule uses.
    """

    name: _Title
    id: _Slug
    colours: tuple[Colour, ...]
    source: Literal["rulebook", "public", "house"]
    worth: int
    instructions: tuple[Instruction, ...]
    note: str = ""

    @cached_property
    def draws(self) -> int:
        """How many cards executing the card draws."""
        return sum(instruction.n for instruction in self.instructions if isinstance(instruction, Draw))


class Deck(msgspec.Struct, frozen=True):
    """The cards in the order of the file, which is their order before the shuffle [Pacific 1.6].

    `warnings` name the cards that break the colour law; `data_hash` is the SHA-256 of the file's bytes.
    """

    title: str
    cards: tuple[Card, ...]
    by_id: dict[str, Card]
    warnings: tuple[str, ...]
    data_hash: bytes

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all cards, in order."""
        return tuple(self.by_id)

    @property
    def seats(self) -> range:
        """The numbers of seats that the deck is large enough for [Pacific 1.4]."""
        fewest = 2 if _needed(2) <= len(self.cards) else 3
        most = max((seats for seats in range(2, MOST_SEATS + 1) if _needed(seats) <= len(self.cards)), default=0)
        return range(fewest, most + 1)


class _File(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    title: _Title
    sources: str | dict[str, str]
    hand_size: int
    turns: int
    cards: list[msgspec.Raw]


def shipped_deck() -> bytes:
    """Return the bytes of the deck file that comes with the package."""
    return resources.files(__package__).joinpath("cards.json").read_bytes()


def load_deck(raw: bytes) -> Deck:
    """Return the deck that a JSON file describes.

    Raises `DeckFileError` if it breaks one of the rules 1 to 4 of [Pacific 3.9], or is too small for any game; cards
    that break rule 5, the colour law, are accepted and named in the deck's warnings.
    """
    file = _decoded(raw)
    cards = tuple(_cards(file.cards))
    _check_distinct("id", cards, lambda card: card.id)
    _check_distinct("name", cards, lambda card: card.name)
    deck = Deck(
        title=file.title,
        cards=cards,
        by_id={card.id: card for card in cards},
        warnings=tuple(_warnings(cards)),
        data_hash=hashlib.sha256(raw).digest(),
    )
    if not deck.seats:
        raise DeckFileError(f"deck file: {len(cards)} cards are too few for any number of seats")
    return deck


def _needed(seats: int) -> int:
    return HAND_SIZE * seats + (TURNS * DUMMIES if seats == 2 else 0)


def _decoded(raw: bytes) -> _File:
    try:
        file = msgspec.json.decode(raw, type=_File)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise DeckFileError(f"deck file: {error}") from error
    if file.format != FORMAT:
        raise DeckFileError(f"deck file: its format is {file.format!r}, not {FORMAT!r}")
    if (file.hand_size, file.turns) != (HAND_SIZE, TURNS):
        raise DeckFileError(f"deck file: hand_size must be {HAND_SIZE} and turns {TURNS}")
    return file


def _cards(entries: Iterable[msgspec.Raw]) -> Iterator[Card]:
    for n, entry in enumerate(entries, start=1):
        try:
            card = msgspec.json.decode(entry, type=Card)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise DeckFileError(f"card {n}{_called(entry)}: {error}") from error
        fault = next(_faults(card), None)
        if fault is not None:
            raise DeckFileError(f"card {n} ({card.id}): {fault}")
        yield card


class _Called(msgspec.Struct):
    id: str


def _called(entry: msgspec.Raw) -> str:
    try:
        return f" ({msgspec.json.decode(entry, type=_Called).id[:40]})"
    except (msgspec.MsgspecError, RecursionError):
        return ""


def _faults(card: Card) -> Iterator[str]:
    if not card.colours:
        yield "it has no colour"
    if list(card.colours) != [colour for colour in Colour if colour in card.colours]:
        yield "its colours are repeated or not in run order"
    if Colour.ORANGE in card.colours and len(card.colours) > 1:
        yield "orange stands alone"
    yield from faults(card.instructions)


def _check_distinct(what: str, cards: Sequence[Card], key: Callable[[Card], str]) -> None:
    first: dict[str, int] = {}
    for n, card in enumerate(cards, start=1):
        if key(card) in first:
            raise DeckFileError(f"card {n} ({card.id}): same {what} as card {first[key(card)]}")
        first[key(card)] = n


def _warnings(cards: Iterable[Card]) -> Iterator[str]:
    for card in cards:
        lawful = lawful_colours(card.instructions)
        if card.colours != lawful:
            yield f"{card.id} is {'/'.join(card.colours)}, but what it does is {'/'.join(lawful) or 'colourless'}"
