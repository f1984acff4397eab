"""Pairs of games of Pacific that differ only in what somebody must not know.

A world is a game as its service serves it: a deck in a certain order, and what is submitted. Its twin has the same
public history for the observer, a seat or a spectator, but other cards where the observer sees none, and other secret
answers of the other seats wherever these were changed in time or are not revealed yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from random import Random
from typing import Any, NamedTuple

from msgspec.structs import replace

from promontory.games.kernel import Draws
from promontory.games.pacific.commands import Choose, Command, PutOut, Resign, SetExplicitRuns, SetupPlace
from promontory.games.pacific.decider import Pacific
from promontory.games.pacific.events import CardsRevealed, ChoicesRevealed, Event, SetupPlaced
from promontory.games.pacific.legal import LegalCommands
from promontory.games.pacific.phases import slot_choice, waited_for
from promontory.games.pacific.state import Player, State
from promontory.games.pacific.vocabulary import EffectKind, Phase
from promontory.rules.ruleset import Ruleset
from tests.support.pacific import DECK, GAME, after, open_decision, seeded
from tests.support.pacific_play import Commit, near_legal, plain
from tests.support.refereeing import ruleset

PROBED = 2
"""After how many of a world's last commits the observer asks for everything."""

TRIED = 12
"""How many commands the observer tries each time."""

SECRET = (SetupPlace, PutOut, Choose)
SECRET_PHASES = (Phase.SETUP_PLACE, Phase.PUT_OUT_FIRST, Phase.PUT_OUT_LATE, Phase.CHOOSE)
REVEALS = (SetupPlaced, CardsRevealed, ChoicesRevealed)
WANTED = (
    "dolphin_spy_network",
    "casinos",
    "make_the_rounds",
    "computer_chip_factory",
    "port",
    "direct_flight",
    "disperse",
    "oversee",
    "industrial_hotels",
    "car_factory",
)
"""Cards that raise decisions no other raises, and those that change who answers what, and when."""


class Arranged(Pacific):
    """Pacific with the deck in a certain order, whatever is drawn."""

    def __init__(self, order: Sequence[str]) -> None:
        super().__init__(DECK)
        self._order = tuple(order)

    def begin(self, state: State, rng: Draws, *, draw_start: bool, variant: str = "") -> tuple[Event, ...]:
        """Return what begins the game; see `Game.begin`."""
        return super().begin(state, _Order(self._order), draw_start=draw_start)


class _Order:
    def __init__(self, order: tuple[str, ...]) -> None:
        self._order = order

    def integer(self, n: int, purpose: str, number: int, index: int) -> int:
        return 0

    def shuffle(self, items: Sequence[Any], purpose: str, number: int) -> tuple[Any, ...]:
        return self._order


class World(NamedTuple):
    """A game up to somewhere: the order of the deck, what was submitted, and the state that this leads to."""

    order: tuple[str, ...]
    script: tuple[Command, ...]
    end: State

    def rules(self, kind: type[Arranged] = Arranged) -> Ruleset:
        """Return what a service of this world's game is made of, the game being one of `kind`."""
        return replace(ruleset("pacific"), games=(kind(self.order),))


class Pair(NamedTuple):
    """Two worlds that the observer, a seat or None for a spectator, cannot tell apart, and what it tries in both.

    `tried` holds the commands for each of the last `PROBED` commits. `secret` says what differs, in one word or more.
    """

    observer: int | None
    worlds: tuple[World, World]
    tried: tuple[tuple[Command, ...], ...]
    secret: str

    @property
    def seats(self) -> int:
        """How many play."""
        return len(self.worlds[0].end.players)

    @property
    def hides_answers(self) -> bool:
        """Whether the worlds differ in answers that are not revealed yet, not only in cards."""
        return self.worlds[0].end.phase in SECRET_PHASES


@cache
def played(seats: int, seed: int) -> tuple[tuple[str, ...], tuple[Commit, ...]]:
    """Return the order of a deck and a whole game of players who want `WANTED`, and change their minds."""
    random = seeded(seed)
    order = _dealing(seats, random)
    game = Arranged(order)
    start = game.initial(seats)
    events = game.begin(start, _Order(order), draw_start=False)
    commits = [Commit(start, None, events, after(start, *events))]
    while to_act := GAME.to_act(commits[-1].after):
        command = _wanting(commits[-1].after, random.choice(to_act), random)
        commits.append(_committed(commits[-1].after, command))
    return order, tuple(commits)


def _dealing(seats: int, random: Random) -> tuple[str, ...]:
    """Return a shuffled deck of which each hand gets its share of `WANTED` first."""
    rest = [card_id for card_id in DECK.ids if card_id not in WANTED]
    random.shuffle(rest)
    hands = [list(WANTED[seat::seats]) for seat in range(seats)]
    for hand in hands:
        while len(hand) < 10:
            hand.append(rest.pop())
    return (*(card_id for hand in hands for card_id in hand), *rest)


def _wanting(state: State, seat: int, random: Random) -> Command:
    """Return what a player does who puts out and executes the wanted cards, but now and then anything."""
    playing = [other for other in range(len(state.players)) if other not in state.resigned]
    if random.random() < 0.04:
        return SetExplicitRuns(random.choice(playing), random.random() < 0.6)
    if random.random() < 0.01 and len(playing) > 2:
        return Resign(random.choice(playing))
    ready = [other for other in playing if _has_answered(state.players[other])]
    if ready and random.random() < 0.25:
        seat = random.choice(ready)
    legal = GAME.legal(state, seat)
    if random.random() < 0.25:
        return plain(state, seat, legal, random)
    wanted = [card_id for card_id in WANTED if card_id in legal.put_out_card_ids]
    if wanted:
        return PutOut(seat, wanted[0])
    if legal.choose is not None and legal.choose.required is None:
        return Choose(seat, _wanted_slots(state, legal, random))
    return plain(state, seat, legal, random)


def _wanted_slots(state: State, legal: LegalCommands, random: Random) -> tuple[int, ...]:
    assert legal.choose is not None
    slots = random.sample(legal.choose.slots, len(legal.choose.slots))
    return tuple(sorted(sorted(slots, key=lambda slot: state.table[slot] not in WANTED)[: legal.choose.count]))


def _committed(state: State, command: Command) -> Commit:
    events = GAME.decide(state, command, _Order(()))
    return Commit(state, command, events, after(state, *events))


def pairs(seats: int, seed: int) -> Iterator[Pair]:
    """Yield a pair of worlds for each sort of secret that there is in a game, for any observer."""
    random = seeded(seed)
    _, commits = played(seats, seed)
    moments: dict[str, list[tuple[int, int | None]]] = {}
    for stop, commit in enumerate(commits):
        for observer in (None, *range(seats)):
            moments.setdefault(_secret(commit.after, observer), []).append((stop, observer))
    moments.pop("", None)
    for secret, found in sorted(moments.items()):
        stop, observer = random.choice(found)
        yield pair(seats, seed, stop=stop, observer=observer, secret=secret)


def pair(seats: int, seed: int, *, stop: int, observer: int | None, secret: str) -> Pair:
    """Return a game up to commit `stop`, counted from 0, and its twin for the observer."""
    random = seeded(stop)
    order, commits = played(seats, seed)
    commits = commits[: stop + 1]
    world = World(order, tuple(commit.command for commit in commits[1:] if commit.command), commits[-1].after)
    tried = tuple(tuple(_tried(commit.after, observer, random)) for commit in commits[1:][-PROBED:])
    return Pair(observer, (world, _twin(order, commits, observer, random)), tried, secret)


def _secret(state: State, observer: int | None) -> str:
    """Return what is hidden from the observer, or what it is to decide while cards are; "" if that is nothing new.

    It is a phase in which another seat has answered, with the effects that change it for any seat, whether the
    observer must choose a certain slot, and whether it is the last one that is waited for; cards reserved for what will
    be drawn; or the observer's open decision.
    """
    if any(map(_undrawn, state.players)):
        return "reserved draws"
    if state.phase is Phase.EXECUTE:
        decision = None if observer is None else open_decision(state, observer)
        return "" if decision is None else type(decision.question).__name__
    if not any(_keeps_secret(state, seat) for seat in range(len(state.players)) if seat != observer):
        return ""
    kinds = {effect.kind.value for player in state.players for effect in player.active}
    mattering = {
        Phase.PUT_OUT_FIRST: {EffectKind.LATE_PUT_OUT.value},
        Phase.CHOOSE: {EffectKind.OWN_CARD_ONLY.value, EffectKind.EXTRA_CARD.value},
    }
    words = [state.phase.value, *sorted(kinds & mattering.get(state.phase, set()))]
    if state.phase is Phase.CHOOSE and observer is not None and slot_choice(state, observer).required is not None:
        words.append("required")
    if waited_for(state) == (observer,):
        words.append("last")
    return " ".join(words)


def _twin(order: Sequence[str], commits: Sequence[Commit], observer: int | None, random: Random) -> World:
    """Return a world with the same public history, in which what is hidden from the observer is otherwise."""
    hidden = [card_id for card_id in order if card_id in hidden_from(commits[-1].after, observer)]
    exchange = dict(zip(hidden, random.sample(hidden, len(hidden)), strict=True))
    twisted = tuple(exchange.get(card_id, card_id) for card_id in order)
    start = commits[0].before
    state = after(start, *Arranged(twisted).begin(start, _Order(()), draw_start=False))
    script: list[Command] = []
    for number, commit in enumerate(commits[1:], start=1):
        command = commit.command
        assert command is not None
        if command.seat != observer and isinstance(command, SECRET) and not _is_revealed(commits, number):
            command = _another(state, command, random)
        script.append(command)
        state = _committed(state, command).after
    return World(twisted, tuple(script), state)


def _another(state: State, command: Command, random: Random) -> Command:
    """Return some other answer of the seat, or the same one if there is no other."""
    legal = GAME.legal(state, command.seat)
    answers = (plain(state, command.seat, legal, random) for _ in range(20))
    return next((answer for answer in answers if answer != command), command)


def _is_revealed(commits: Sequence[Commit], number: int) -> bool:
    """Tell whether the secret answer of a commit is what was revealed in the end, and not one that replaced it."""
    later = enumerate(commits[number:], start=number)
    reveal = next((at for at, commit in later if any(isinstance(event, REVEALS) for event in commit.events)), None)
    if reveal is None:
        return False
    given = commits[number].command
    return not any(_replaces(commit.command, given) for commit in commits[number + 1 : reveal + 1])


def _replaces(command: Command | None, given: Command | None) -> bool:
    return type(command) is type(given) and command is not None and given is not None and command.seat == given.seat


def hidden_from(state: State, observer: int | None) -> set[str]:
    """Return the cards in the draw deck, in other hands, and reserved for anybody."""
    hidden = {*state.deck, *(card_id for player in state.players for card_id in _undrawn(player))}
    for seat, player in enumerate(state.players):
        hidden.update(player.holdings.hand if seat != observer else ())
    return hidden


def _undrawn(player: Player) -> list[str]:
    if player.execution is None:
        return []
    reserved = [card_id for one in player.execution.reservations for card_id in one.drawn_card_ids]
    return [card_id for card_id in reserved if card_id not in player.holdings.hand]


def _keeps_secret(state: State, seat: int) -> bool:
    """Tell whether a seat has given an answer in this phase for which it had a choice."""
    if seat in state.resigned:
        return False
    forced = state.phase is Phase.CHOOSE and slot_choice(state, seat).forced is not None
    return _has_answered(state.players[seat]) and not forced


def _has_answered(player: Player) -> bool:
    return bool(player.setup or player.put_out_card_id or player.slots)


def _tried(state: State, observer: int | None, random: Random) -> Iterator[Command]:
    """Yield commands of the observer: what others might do, hidden cards, what is legal, and what nearly is."""
    if observer is None:
        return
    for card_id in sorted(hidden_from(state, observer) & {*state.deck[:2], *WANTED}):
        yield PutOut(observer, card_id)
    legal = GAME.legal(state, observer)
    if legal.setup_areas or legal.put_out_card_ids or legal.choose or legal.decision:
        yield plain(state, observer, legal, random)
    yield from (SetExplicitRuns(observer, True), Resign(observer), PutOut(observer, "no_card"))
    yield from (Choose(observer, (slot,)) for slot in range(state.slots + 1))
    for _ in range(TRIED):
        yield replace(near_legal(state, random), seat=observer)
