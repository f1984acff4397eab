"""Whether what seats and spectators are shown of a match tells anything that they must not know.

An audience (a seat, or None for spectators) is put into another world: one in which every card that it cannot know is
another one. It must be shown the same there, event by event and view by view, its legal commands included; whatever a
hidden card has an effect on would differ. A seat is also put into a world that is drawn from its view alone, with other
secret answers of the other seats, and must see the same view. Where another command would have led to what looks the
same to an audience but is not, the audience must be told the same. And of what an event hides nothing may be left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from importlib import import_module
from random import Random
from typing import Any

import msgspec

from promontory.bots.port import NotToActError
from promontory.bots.registry import policy
from promontory.games.kernel import Draws, Rejected, Seat
from promontory.games.registry import AnyGame
from promontory.rules.domain import Happening, happenings

Audience = Seat | None
BLANK: tuple[Any, ...] = (None, "", (), frozenset(), 0, False)
UNSEEN = "unseen_card_ids"
"""The field of a view that lists the cards a seat cannot see; all other cards that a view names are known by it."""


TRIED = 2
"""How many other commands are tried in place of each that was given."""


class Secrecy:
    """Checks what is shown of a match of one game, commit by commit in their order."""

    def __init__(self, game: AnyGame, seats: int, draws: Draws) -> None:
        self._game, self._draws = game, draws
        self._audiences: tuple[Audience, ...] = (None, *range(seats))
        self._cards = tuple(getattr(getattr(game, "deck", None), "by_id", ()))
        self._worlds = _Worlds(self._cards)
        self._hidden: dict[Audience, frozenset[str]] = dict.fromkeys(self._audiences, frozenset(self._cards))
        self._imagine = _imagine(game)
        self._choose = policy(game, "random")

    def leak(self, before: Any, happened: Sequence[Happening], commands: Sequence[Any] = ()) -> str | None:
        """Return what the next commit shows that it must not, or None.

        `before` is the state it follows, `commands` are those that caused it. For a game without hidden cards only
        events are compared with what is shown of them.
        """
        is_told = bool(self._cards) and len(commands) == 1 and bool(happened)
        instead = self._instead(before, commands[0]) if is_told else []
        for audience in self._audiences:
            found = self._leak(audience, happened)
            if found is None and is_told and audience != self._game.seat_of(commands[0]):
                found = self._telling_answer(happened, instead, audience)
            if found is not None:
                return f"{_named(audience)} is shown {found}"
        return None

    def _leak(self, audience: Audience, happened: Sequence[Happening]) -> str | None:
        for each in happened:
            shown = self._game.redact(each.state, each.event, audience)
            if shown is not each.event and not _is_blanked(each.event, shown):
                return f"a part of what {type(each.event).__name__} hides"
        if not self._cards or not happened:
            return None
        state = happened[-1].state
        view = self._game.view(state, audience)
        hidden = self._hidden_in(view)
        earlier, self._hidden[audience] = self._hidden[audience], hidden
        if not self._is_same(state, view, hidden, audience=audience):
            return "a view that depends on cards it cannot know"
        if audience is not None and self._imagined(view, audience) != view:
            return "a view that depends on what it cannot know"
        if not all(self._tells_same(each, hidden & earlier, audience) for each in happened):
            return self._telling_event(earlier, happened, audience)
        return None

    def _hidden_in(self, view: Any) -> frozenset[str]:
        """Return the cards that one who sees `view` cannot know the place of."""
        known = msgspec.structs.replace(view, **{UNSEEN: ()})
        return frozenset(self._cards) - self._worlds.named(known)

    def _is_same(self, state: Any, view: Any, hidden: frozenset[str], *, audience: Audience) -> bool:
        other = self._worlds.other(hidden)
        return bool(self._game.view(other(state), audience) == view)

    def _tells_same(self, each: Happening, hidden: frozenset[str], audience: Audience) -> bool:
        other = self._worlds.other(hidden)
        shown = self._game.redact(each.state, each.event, audience)
        return bool(shown == self._game.redact(other(each.state), other(each.event), audience))

    def _telling_event(self, hidden: frozenset[str], happened: Sequence[Happening], audience: Audience) -> str | None:
        """Return the first event that tells of a card which is hidden both before and after it, or None.

        A card may be known for a moment within a commit, such as one that is discarded and shuffled away.
        """
        for each in happened:
            after = self._hidden_in(self._game.view(each.state, audience))
            if not self._tells_same(each, hidden & after, audience):
                return f"a {type(each.event).__name__} that depends on cards it cannot know"
            hidden = after
        return None

    def _instead(self, before: Any, command: Any) -> list[tuple[Happening, ...]]:
        """Return what other commands of the same kind would have caused."""
        seat, found = self._game.seat_of(command), list[tuple[Happening, ...]]()
        if seat not in self._game.to_act(before):
            return found
        view = self._game.view(before, seat)
        for number in range(TRIED):
            with suppress(NotToActError, Rejected):
                other = self._choose(view, Random(number))  # noqa: S311 - any other command will do
                if type(other) is type(command) and other != command:
                    found.append(happenings(self._game, before, self._game.decide(before, other, self._draws)))
        return found

    def _telling_answer(
        self, happened: Sequence[Happening], instead: Sequence[Sequence[Happening]], audience: Audience
    ) -> str | None:
        """Return the kind of event that tells which of several commands was given, though it is secret, or None."""
        state = happened[-1].state
        view, told = self._game.view(state, audience), self._told(happened, audience)
        for other in instead:
            is_secret = other[-1].state != state and self._game.view(other[-1].state, audience) == view
            if is_secret and self._told(other, audience) != told:
                return f"a secret answer by a {type(happened[0].event).__name__}"
        return None

    def _told(self, happened: Sequence[Happening], audience: Audience) -> list[Any]:
        return [self._game.redact(each.state, each.event, audience) for each in happened]

    def _imagined(self, view: Any, seat: Seat) -> Any:
        """Return the view of `seat` in a world that was drawn from its own view."""
        return self._game.view(self._imagine(view, Random(0)), seat)  # noqa: S311 - any world will do


class _Worlds:
    """Other worlds of the same cards. What was looked at is remembered, since states share most of their parts."""

    def __init__(self, cards: Sequence[str]) -> None:
        self._cards = frozenset(cards)
        self._named: dict[int, tuple[Any, frozenset[str]]] = {}

    def named(self, value: Any) -> frozenset[str]:
        """Return the cards that `value` names anywhere."""
        if isinstance(value, str):
            is_card = not isinstance(value, Enum) and value in self._cards
            return frozenset((value,)) if is_card else frozenset()
        known = self._named.get(id(value))
        if known is None or known[0] is not value:
            found = frozenset(card for part in _parts(value) for card in self.named(part))
            known = self._named[id(value)] = (value, found)
        return known[1]

    def other(self, hidden: frozenset[str]) -> Callable[[Any], Any]:
        """Return what makes of a value the same in a world in which each of the `hidden` cards is the next of them."""
        cards = sorted(hidden)
        swapped = dict(zip(cards, cards[1:] + cards[:1], strict=True))
        return lambda value: self._swapped(value, swapped)

    def _swapped(self, value: Any, cards: Mapping[str, str]) -> Any:
        if isinstance(value, str):
            return value if isinstance(value, Enum) else cards.get(value, value)
        if self.named(value).isdisjoint(cards):
            return value
        if isinstance(value, msgspec.Struct):
            return type(value)(**{name: self._swapped(getattr(value, name), cards) for name in value.__struct_fields__})
        return type(value)(self._swapped(part, cards) for part in value)


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, msgspec.Struct):
        return (getattr(value, name) for name in value.__struct_fields__)
    return iter(value) if isinstance(value, tuple | frozenset) else iter(())


def _is_blanked(event: Any, shown: Any) -> bool:
    """Tell whether what `shown` leaves out of `event` leaves no trace."""
    if event == shown or shown in BLANK:
        return True
    if isinstance(event, msgspec.Struct) and type(event) is type(shown):
        return all(_is_blanked(getattr(event, name), getattr(shown, name)) for name in event.__struct_fields__)
    if isinstance(event, tuple) and isinstance(shown, tuple) and len(event) == len(shown):
        return all(map(_is_blanked, event, shown))
    return False


def _imagine(game: AnyGame) -> Callable[[Any, Random], Any]:
    """Return what draws a state from a view: the function `determinize` of the very rules that the game is of."""
    rules = next(kind for kind in type(game).__mro__ if kind.__module__.startswith("promontory.games."))
    package = rules.__module__.rpartition(".")[0]
    determinize = import_module(f"{package}.sampling").determinize
    return lambda view, rng: determinize(getattr(game, "deck", None), view, rng)


def _named(audience: Audience) -> str:
    return "a spectator" if audience is None else f"seat {audience}"
