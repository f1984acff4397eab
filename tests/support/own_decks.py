"""Decks of an operator's own for Pacific: the shipped one with cards that do something else."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from promontory.games.pacific.cards import shipped_deck

TITLE = "Tide Pools"
"""What the changed card of an own deck is called."""

_EARNS = {"colours": ["yellow"], "instructions": [{"op": "gain", "amount": 1}]}


def own_deck(title: str = TITLE) -> bytes:
    """Return a deck whose cards have other ids, and whose first one is called `title` and only earns a dollar."""
    deck = _shipped()
    deck["cards"] = [card | {"id": f"own_{card['id']}"} for card in deck["cards"]]
    deck["cards"][0] |= {"name": title, **_EARNS}
    return msgspec.json.encode(deck)


def level_deck() -> bytes:
    """Return a deck whose every card earns a dollar: all who play to the end share the first place."""
    deck = _shipped()
    deck["cards"] = [card | _EARNS for card in deck["cards"]]
    return msgspec.json.encode(deck)


def faulty_deck() -> bytes:
    """Return a deck whose second card, `disperse`, has no colour."""
    deck = _shipped()
    deck["cards"][1]["colours"] = []
    return msgspec.json.encode(deck)


def digest(deck: bytes) -> bytes:
    """Return what a match with this deck is pinned to."""
    return hashlib.sha256(deck).digest()


def _shipped() -> Any:
    return msgspec.json.decode(shipped_deck())
