"""Games of Pacific played at random with fixed seeds, by players of different tempers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import islice
from random import Random
from typing import Any, NamedTuple, TypeVar

from msgspec.structs import replace

from promontory.games.fairness import KeyedDraws
from promontory.games.kernel import Rejected
from promontory.games.pacific.answers import all_answers, default_answer
from promontory.games.pacific.commands import (
    AnswerDecision,
    Choose,
    Command,
    PutOut,
    Resign,
    SetExplicitRuns,
    SetupPlace,
)
from promontory.games.pacific.decisions import (
    Answer,
    AreaPick,
    CardOrder,
    FactoryRun,
    Fetch,
    Fetches,
    Moves,
    PartOrder,
    PickMoves,
    Question,
    Removals,
    Replacements,
    RunArea,
    RunAreas,
    Step,
    SteppedRun,
)
from promontory.games.pacific.events import Event, Reservation
from promontory.games.pacific.holdings import Holdings
from promontory.games.pacific.legal import LegalCommands, expand
from promontory.games.pacific.state import Execution, Player, Setup, State
from promontory.games.pacific.tokens import TokenPick, Tokens
from promontory.games.pacific.vocabulary import AREAS, KINDS
from tests.support.pacific import GAME, after, open_decision, seeded

Temper = Callable[[State, int, LegalCommands, Random], Command]
T = TypeVar("T")

SEATS = (2, 3, 4, 5)
_COUNTED = 4000
_LOOKED_AT = 40
"""How many legal answers a random player looks at; the first ones are those that do least."""


class Commit(NamedTuple):
    """One submission: the state before it, its command (None for the set-up), its events, the state after it."""

    before: State
    command: Command | None
    events: tuple[Event, ...]
    after: State


def plain(state: State, seat: int, legal: LegalCommands, random: Random) -> Command:
    """Answer what is asked, at random."""
    if legal.setup_areas:
        return SetupPlace(seat, *random.sample(legal.setup_areas, 2))
    if legal.put_out_card_ids:
        return PutOut(seat, random.choice(legal.put_out_card_ids))
    if legal.choose is not None:
        return Choose(seat, _some_slots(legal, random))
    assert legal.decision is not None
    return AnswerDecision(seat, legal.decision.decision_id, some_answer(legal.decision.question, random))


def fickle(state: State, seat: int, legal: LegalCommands, random: Random) -> Command:
    """Answer at random, but now and then set how runs are asked for, or answer for somebody who has answered."""
    if random.random() < 0.1:
        return SetExplicitRuns(random.choice(_playing(state)), random.random() < 0.7)
    ready = [other for other in _playing(state) if _may_answer(GAME.legal(state, other))]
    if random.random() < 0.3 and ready:
        other = random.choice(ready)
        return plain(state, other, GAME.legal(state, other), random)
    return plain(state, seat, legal, random)


def quitter(state: State, seat: int, legal: LegalCommands, random: Random) -> Command:
    """Answer at random, but resign now and then."""
    return Resign(random.choice(_playing(state))) if random.random() < 0.01 else plain(state, seat, legal, random)


def absent(state: State, seat: int, legal: LegalCommands, random: Random) -> Command:
    """Leave everything to the automatic command."""
    return GAME.automatic(state, seat)


TEMPERS: dict[str, Temper] = {"plain": plain, "fickle": fickle, "quitter": quitter, "absent": absent}


def some_answer(question: Question, random: Random) -> Answer:
    """Return a legal answer; of runs also some that are given step by step."""
    if isinstance(question, RunArea) and random.random() < 0.3:
        return SteppedRun(tuple(_some_steps(question, random)))
    return random.choice(list(islice(all_answers(question), random.randint(1, _LOOKED_AT))))


def draws_of(seed: int) -> KeyedDraws:
    """Return the draws of the games with `seed`."""
    return KeyedDraws(seed.to_bytes(32, "big"), GAME.name)


@cache
def played(temper: str, seats: int, seed: int) -> tuple[Commit, ...]:
    """Return a whole game, commit by commit; whoever is to act acts in any order."""
    random, rng = seeded(seed), draws_of(seed)
    start = GAME.initial(seats)
    events = GAME.begin(start, rng, draw_start=False)
    state = after(start, *events)
    commits = [Commit(start, None, events, state)]
    while to_act := GAME.to_act(state):
        seat = random.choice(to_act)
        command = TEMPERS[temper](state, seat, GAME.legal(state, seat), random)
        events = GAME.decide(state, command, rng)
        commits.append(Commit(state, command, events, after(state, *events)))
        state = commits[-1].after
    return tuple(commits)


def events_of(commits: Iterable[Commit]) -> list[Event]:
    """Return all events of a game."""
    return [event for commit in commits for event in commit.events]


def is_accepted(state: State, command: Command) -> bool:
    """Tell whether `decide` accepts a command."""
    try:
        return bool(GAME.decide(state, command, draws_of(0)))
    except Rejected:
        return False


def near_legal(state: State, random: Random) -> Command:
    """Return some command of any kind and any seat, which often is not quite legal."""
    seat = random.choice([*range(len(state.players)), *GAME.to_act(state)])
    decision = open_decision(state, seat)
    kind = random.randrange(5) if decision is None else 4
    if kind == 0:
        return SetupPlace(seat, random.choice(AREAS), random.choice(AREAS))
    if kind == 1:
        return PutOut(seat, random.choice([*state.players[seat].holdings.hand, *GAME.deck.ids[:3]]))
    if kind in {2, 3}:
        return Choose(seat, tuple(random.choices(range(6), k=random.choice([1, 1, 1, 2]))))
    if decision is None:
        return AnswerDecision(seat, random.randint(0, 3), FactoryRun())
    number = decision.decision_id + random.choice([0, 0, 0, 0, 1])
    return AnswerDecision(seat, number, _near_answer(decision.question, random))


def is_listed(legal: LegalCommands, command: Command) -> bool:
    """Tell whether `legal` describes a command of its seat."""
    match command:
        case SetExplicitRuns():
            return legal.set_explicit_runs
        case Resign():
            return legal.resign
        case Choose(seat, slots):
            return Choose(seat, tuple(sorted(slots))) in expand(legal, seat)
        case AnswerDecision(seat, number, answer) if legal.decision is not None:
            return AnswerDecision(seat, number, _canonical(legal.decision.question, answer)) in expand(legal, seat)
        case _:
            return command in expand(legal, command.seat)


def is_countable(state: State, command: Command) -> bool:
    """Tell whether `is_listed` can judge a command: runs step by step are not listed, and some lists are too long."""
    legal = GAME.legal(state, command.seat)
    stepped = isinstance(command, AnswerDecision) and isinstance(command.answer, SteppedRun)
    return not stepped and len(list(islice(expand(legal, command.seat), _COUNTED + 1))) <= _COUNTED


def _canonical(question: Question, answer: Answer) -> Answer:
    """Return the answer that is listed for all those with the same effect."""
    match answer:
        case Moves((), source, destination) if isinstance(question, PickMoves) and question.may_decline:
            sources = [one.area for one in question.sources] if question.names_source else []
            destinations = question.destinations if question.names_destination else ()
            named = source in {None, *sources} and destination in {None, *destinations}
            return Moves(()) if named and (source is None or source is not destination) else answer
        case Moves(moves, source, destination):
            return Moves(tuple(sorted(moves, key=_place)), source, destination)
        case Removals(removals):
            return Removals(tuple(sorted(removals, key=_place)))
        case Replacements(replacements):
            return Replacements(tuple(sorted(replacements, key=_place)))
        case Fetches(fetches):
            return Fetches(tuple(sorted(fetches, key=_place)))
        case FactoryRun(removals):
            used = max((n for n, removed in enumerate(removals, start=1) if removed.total), default=0)
            all_act = isinstance(question, RunArea) and len(removals) <= _acting(question.factories, removals)
            return FactoryRun(removals[:used]) if all_act else answer
        case _:
            return answer


def _acting(factories: int, removals: Iterable[Tokens]) -> int:
    """Return how many of `factories` act when they remove one another like this, those that have acted first."""
    waiting, acted, acting = factories, 0, 0
    for removed in removals:
        if waiting <= 0:
            return acting
        acting += 1
        waiting -= 1 + max(0, removed.factory - acted)
        acted += 1 - min(removed.factory, acted)
    return acting + max(0, waiting)


def _place(pick: TokenPick | Fetch) -> tuple[int, int]:
    return AREAS.index(pick.area), KINDS.index(pick.kind)


def another_world(state: State, seat: int | None, random: Random) -> State:
    """Return a state that `seat`, or a spectator, cannot tell from `state`: what is hidden from it is otherwise."""
    others = [other for other in range(len(state.players)) if other != seat]
    pool = [*state.deck, *(card for other in others for card in state.players[other].holdings.hand)]
    undrawn = {number: _undrawn(player) for number, player in enumerate(state.players)}
    pool += [card for cards in undrawn.values() for card in cards]
    random.shuffle(pool)
    dealt = iter(pool)
    players = list(state.players)
    for other in range(len(players)):
        exchange = {card: next(dealt) for card in undrawn[other]}
        if other != seat:
            exchange |= {card: next(dealt) for card in players[other].holdings.hand}
            players[other] = _other_answers(state, players[other], other, random)
        players[other] = _exchanged(players[other], exchange)
    return replace(state, players=tuple(players), deck=tuple(dealt))


def _undrawn(player: Player) -> list[str]:
    if player.execution is None:
        return []
    reserved = [card for one in player.execution.reservations for card in one.drawn_card_ids]
    return [card for card in reserved if card not in player.holdings.hand]


def _exchanged(player: Player, exchange: dict[str, str]) -> Player:
    """Return the player with other cards in the hand and reserved, in whatever refers to them."""

    def other_hand(holdings: Holdings) -> Holdings:
        return replace(holdings, hand=tuple(exchange.get(card, card) for card in holdings.hand))

    def other_draws(one: Reservation) -> Reservation:
        return replace(one, drawn_card_ids=tuple(exchange.get(card, card) for card in one.drawn_card_ids))

    execution: Execution | None = player.execution
    if execution is not None:
        reservations = tuple(map(other_draws, execution.reservations))
        execution = replace(execution, reservations=reservations, start=other_hand(execution.start))
    put_out = exchange.get(player.put_out_card_id, player.put_out_card_id)
    return replace(player, holdings=other_hand(player.holdings), put_out_card_id=put_out, execution=execution)


def _other_answers(state: State, player: Player, seat: int, random: Random) -> Player:
    """Return the player with other secret answers, where there are any and the rules leave a choice."""
    legal = GAME.legal(state, seat) if seat not in state.resigned else None
    if player.put_out_card_id:
        return replace(player, put_out_card_id=random.choice(player.holdings.hand))
    if player.setup is not None:
        return replace(player, setup=Setup(*random.sample(AREAS, 2)))
    if player.slots and legal is not None:
        return replace(player, slots=_some_slots(legal, random))
    return player


def _playing(state: State) -> list[int]:
    return [seat for seat in range(len(state.players)) if seat not in state.resigned]


def _may_answer(legal: LegalCommands) -> bool:
    return bool(legal.setup_areas or legal.put_out_card_ids or legal.choose or legal.decision)


def _some_slots(legal: LegalCommands, random: Random) -> tuple[int, ...]:
    assert legal.choose is not None
    required = [] if legal.choose.required is None else [legal.choose.required]
    others = [slot for slot in legal.choose.slots if slot not in required]
    return tuple(sorted([*required, *random.sample(others, legal.choose.count - len(required))]))


def _some_steps(question: RunArea, random: Random) -> Iterable[Step]:
    """Yield steps that let some of the pending tokens act, in any order; factories remove nothing."""
    waiting = [kind for kind, number in question.pending.present() for _ in range(number)]
    for kind in random.sample(waiting, random.randint(0, len(waiting))):
        yield Step(kind, 1)


def _near_answer(question: Question, random: Random) -> Answer:
    """Return an answer of any kind, mostly of the one that is asked for, with something wrong in it or not."""
    right = some_answer(question, random)
    match right:
        case Moves(moves, source, destination):
            return Moves(_near_picks(moves, random), _near(source, AREAS, random), _near(destination, AREAS, random))
        case Removals(removals):
            return Removals(_near_picks(removals, random))
        case Fetches(fetches):
            more = [Fetch(random.choice(KINDS), random.choice(AREAS)) for _ in range(random.choice([0, 0, 1]))]
            return Fetches((*fetches, *more))
        case FactoryRun(removals):
            more = [_some_tokens(random) for _ in range(random.choice([0, 1, 2]))]
            return FactoryRun((*removals, *more))
        case SteppedRun(steps):
            removes = random.choice([None, _some_tokens(random)])
            return SteppedRun((*steps, Step(random.choice(KINDS), random.randint(0, 2), removes)))
        case RunAreas(areas):
            return RunAreas((*areas[:-1], *random.sample(AREAS, random.choice([1, 1, 2]))))
        case CardOrder(card_ids):
            return CardOrder(tuple(random.choices(card_ids, k=len(card_ids))))
        case PartOrder(parts):
            return PartOrder(tuple(random.choices(parts, k=len(parts))))
        case AreaPick():
            return random.choice([AreaPick(random.choice(AREAS)), default_answer(question), FactoryRun()])
        case _:
            return right


def _near(value: T | None, all_values: Sequence[T], random: Random) -> T | None:
    return random.choice([value, value, value, None, *all_values[:2]])


def _near_picks(chosen: Sequence[TokenPick], random: Random) -> tuple[TokenPick, ...]:
    more = [TokenPick(random.choice(KINDS), random.choice(AREAS), random.randint(0, 2))]
    return random.choice([tuple(chosen), (*chosen, *more), tuple(chosen[1:])])


def _some_tokens(random: Random) -> Tokens:
    counts: dict[str, Any] = {kind.value: 1 for kind in random.sample(KINDS[:5], random.choice([0, 1, 1, 2]))}
    return Tokens(**counts)
