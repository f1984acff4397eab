"""The deck: 77 different cards and the points of melds, read from a replaceable JSON file [Transcontinental 1]."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from importlib import resources
from typing import Annotated

import msgspec

from promontory.games.transcontinental.vocabulary import Side, Suit

RULES_VERSION = "transcontinental/1"
DECK_SIZE = 77
DIFFICULTY_CARDS = 7
MELD_SIZES = range(3, 11)

_Slug = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=40)]
_Code = Annotated[str, msgspec.Meta(pattern=r"^[A-Z][0-9]{1,2}$")]


class CardFileError(ValueError):
    """A card file is malformed; the message names the card and the reason."""


class Card(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One card. `n`, 1 to 77, is its place in the deck's list; `rank`, 1 to 10, is None for difficulty cards.

    `id` is its name in commands and events, `code` a short form for people. Only the side `restriction` may meld it,
    anyone if that is None [T-20].
    """

    n: Annotated[int, msgspec.Meta(ge=1, le=DECK_SIZE)]
    id: _Slug
    code: _Code
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=60)]
    suit: Suit
    rank: Annotated[int, msgspec.Meta(ge=1, le=10)] | None
    restriction: Side | None

    def is_dead_for(self, side: Side) -> bool:
        """Tell whether `side` can never meld the card [Transcontinental 5]."""
        return self.rank is None or self.restriction not in (None, side)


class Deck(msgspec.Struct, frozen=True, dict=True):
    """The cards in the order of their list, and what melds score.

    `meld_points` maps the sizes 3 to 10 to points before doubling; `data_hash` is the SHA-256 of the file's bytes.
    """

    cards: tuple[Card, ...]
    by_id: dict[str, Card]
    meld_points: dict[int, int]
    data_hash: bytes

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all cards, in order."""
        return tuple(self.by_id)

    def in_order(self, card_ids: Iterable[str]) -> tuple[str, ...]:
        """Return the ids sorted into the order of the deck's list."""
        return tuple(sorted(card_ids, key=self._places.__getitem__))

    @cached_property
    def _places(self) -> dict[str, int]:
        return {card.id: card.n for card in self.cards}


class _File(msgspec.Struct, forbid_unknown_fields=True):
    ruleset: str
    meld_points: dict[int, Annotated[int, msgspec.Meta(ge=1)]]
    cards: list[msgspec.Raw]


def shipped_cards() -> bytes:
    """Return the bytes of the card file that comes with the package."""
    return resources.files(__package__).joinpath("cards.json").read_bytes()


def load_deck(raw: bytes) -> Deck:
    """Return the deck that a JSON card file describes.

    Raises `CardFileError` if it is not the deck of the rules: seven main suits of ranks 1 to 10 and seven difficulty
    cards, ids and codes all different, listed in the order of `n`, and points for melds of 3 to 10 cards.
    """
    try:
        file = msgspec.json.decode(raw, type=_File)
    except msgspec.MsgspecError as error:
        raise CardFileError(f"card file: {error}") from error
    if file.ruleset != RULES_VERSION:
        raise CardFileError(f"card file: made for the rules {file.ruleset!r}, not {RULES_VERSION!r}")
    if sorted(file.meld_points) != list(MELD_SIZES):
        raise CardFileError("card file: meld_points must give the sizes 3 to 10")
    cards = tuple(_cards(file.cards))
    _check_deck(cards)
    by_id = {card.id: card for card in cards}
    return Deck(cards, by_id, meld_points=file.meld_points, data_hash=hashlib.sha256(raw).digest())


def _cards(entries: Iterable[msgspec.Raw]) -> Iterator[Card]:
    for n, entry in enumerate(entries, start=1):
        try:
            card = msgspec.json.decode(entry, type=Card)
        except msgspec.ValidationError as error:
            raise CardFileError(f"card {n}: {error}") from error
        fault = _fault(card, n)
        if fault:
            raise CardFileError(f"card {n} ({card.id}): {fault}")
        yield card


def _fault(card: Card, n: int) -> str | None:
    if card.n != n:
        return f"n is {card.n}, but the card is number {n} of the list"
    if card.suit is not Suit.DIFFICULTY:
        return "a card of a main suit needs a rank" if card.rank is None else None
    if card.rank is not None or card.restriction is not None:
        return "a difficulty card has neither rank nor restriction"
    return None


def _check_deck(cards: tuple[Card, ...]) -> None:
    _check_distinct("id", ((card.id, card) for card in cards))
    _check_distinct("code", ((card.code, card) for card in cards))
    _check_distinct("suit and rank", ((f"{card.suit} {card.rank}", card) for card in cards if card.rank is not None))
    suits = Counter(card.suit for card in cards)
    if len(cards) != DECK_SIZE or suits[Suit.DIFFICULTY] != DIFFICULTY_CARDS:
        raise CardFileError(
            f"card file: {len(cards)} cards, {suits[Suit.DIFFICULTY]} of them difficulty, instead of {DECK_SIZE} and 7"
        )


def _check_distinct(what: str, keys: Iterable[tuple[str, Card]]) -> None:
    first: dict[str, Card] = {}
    for key, card in keys:
        if key in first:
            raise CardFileError(f"card {card.n} ({card.id}): same {what} as card {first[key].n} ({key})")
        first[key] = card
