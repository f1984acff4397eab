"""Games of Railroad Dice 2 played at random with fixed seeds, by players of different tempers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from random import Random
from typing import NamedTuple

from msgspec.structs import replace

from promontory.games.fairness import KeyedDraws
from promontory.games.kernel import Rejected, fold
from promontory.games.railroad_dice_2.commands import (
    Build,
    BuyLocomotive,
    Command,
    EndTurn,
    PlaceDie,
    PlaceGray,
    PlaceHome,
    Placement,
    PlaceTile,
    Resign,
    RestockAll,
    ReturnDice,
    RollDice,
    TakeComplex,
    Transport,
    UseLocomotive,
)
from promontory.games.railroad_dice_2.decider import RailroadDice2
from promontory.games.railroad_dice_2.events import Event
from promontory.games.railroad_dice_2.legal import LegalCommands, expand
from promontory.games.railroad_dice_2.state import State
from promontory.games.railroad_dice_2.vocabulary import Phase, Square
from tests.support.railroad_dice_2 import GAME, VARIABLE, seeded

Temper = Callable[[RailroadDice2, State, LegalCommands, Random], Command]

SEATS = (2, 3, 4)
GAMES = {"beginners": GAME, "variable": VARIABLE}
FACES = (*GAME.box.faces.simple, *GAME.box.faces.complex)


class Commit(NamedTuple):
    """One submission: the state before it, its command (None for the set-up), its events, the state after it."""

    before: State
    command: Command | None
    events: tuple[Event, ...]
    after: State


def plain(game: RailroadDice2, state: State, legal: LegalCommands, random: Random) -> Command:
    """Choose a kind of command, such as get on more often than others, then one of them."""
    listed = list(expand(legal, state.active))
    kinds = list(dict.fromkeys(map(type, listed)))
    (kind,) = random.choices(kinds, [_WEIGHTS.get(kind, 1) for kind in kinds])
    return random.choice([command for command in listed if type(command) is kind])


def wasteful(game: RailroadDice2, state: State, legal: LegalCommands, random: Random) -> Command:
    """Choose a kind of command, all alike, then one of them: such players restock until the bank is empty."""
    listed = list(expand(legal, state.active))
    kind = random.choice(list(dict.fromkeys(map(type, listed))))
    return random.choice([command for command in listed if type(command) is kind])


_WEIGHTS = {RestockAll: 0.03, ReturnDice: 0.05, EndTurn: 0.2, BuyLocomotive: 0.3, RollDice: 3}


def keen(game: RailroadDice2, state: State, legal: LegalCommands, random: Random) -> Command:
    """Carry as many passengers as can be, link stations, buy locomotives and build on; dice and money run short."""
    listed = list(expand(legal, state.active))
    transports = [command for command in listed if isinstance(command, Transport)]
    if transports:
        return max(transports, key=lambda command: command.count)
    links = {option.square for die in legal.dice for option in die.placements if option.links}
    placing = [command for command in listed if isinstance(command, PlaceDie | TakeComplex)]
    others = [command for command in listed if not isinstance(command, ReturnDice | RestockAll | EndTurn)]
    spending = [command for command in listed if isinstance(command, BuyLocomotive) and state.phase is Phase.TURN]
    for choice in ([command for command in placing if command.square in links], spending, placing, others):
        if choice:
            return random.choice(choice)
    return EndTurn(state.active)


def builder(game: RailroadDice2, state: State, legal: LegalCommands, random: Random) -> Command:
    """Choose at random, but place dice of the hand in batches, some of which go wrong and are then given up."""
    placements = [
        (die.die, option) for die in legal.dice for option in random.sample(die.placements, min(1, len(die.placements)))
    ]
    steps = tuple(Placement(die, option.square, option.rotation, option.face) for die, option in placements)
    batch = Build(state.active, steps)
    if steps and is_accepted(game, state, batch):
        return batch
    return plain(game, state, legal, random)


def quitter(game: RailroadDice2, state: State, legal: LegalCommands, random: Random) -> Command:
    """Choose at random, but let somebody resign now and then."""
    playing = [seat for seat in range(len(state.players)) if seat not in state.resigned]
    return Resign(random.choice(playing)) if random.random() < 0.005 else plain(game, state, legal, random)


def absent(game: RailroadDice2, state: State, legal: LegalCommands, random: Random) -> Command:
    """Leave everything to the automatic command."""
    return game.automatic(state, state.active)


TEMPERS: dict[str, Temper] = {
    "plain": plain,
    "keen": keen,
    "wasteful": wasteful,
    "builder": builder,
    "quitter": quitter,
    "absent": absent,
}


def draws_of(seed: int) -> KeyedDraws:
    """Return the draws of the games with `seed`."""
    return KeyedDraws(seed.to_bytes(32, "big"), GAME.name)


@cache
def played(temper: str, layout: str, seats: int, seed: int) -> tuple[Commit, ...]:
    """Return a whole game, commit by commit."""
    game, random, rng = GAMES[layout], seeded(seed), draws_of(seed)
    start = game.initial(seats)
    events = game.begin(start, rng, draw_start=False)
    state = fold(game, start, events)
    commits = [Commit(start, None, events, state)]
    while to_act := game.to_act(state):
        command = TEMPERS[temper](game, state, game.legal(state, to_act[0]), random)
        events = game.decide(state, command, rng)
        commits.append(Commit(state, command, events, fold(game, state, events)))
        state = commits[-1].after
    return tuple(commits)


def events_of(commits: Iterable[Commit]) -> list[Event]:
    """Return all events of a game."""
    return [event for commit in commits for event in commit.events]


def is_accepted(game: RailroadDice2, state: State, command: Command) -> bool:
    """Tell whether `decide` accepts a command."""
    try:
        return bool(game.decide(state, command, draws_of(0)))
    except Rejected:
        return False


def is_listed(legal: LegalCommands, command: Command) -> bool:
    """Tell whether `legal` describes a command of its seat other than `Build`.

    Dice to be returned are listed ascending, and of rotations with the same tracks only the smallest.
    """
    match command:
        case Resign():
            return legal.resign
        case ReturnDice(seat, dice):
            return ReturnDice(seat, tuple(sorted(dice))) in expand(legal, seat)
        case TakeComplex(seat, square, rotation, face):
            same = GAME.box.faces.die(face, rotation).rotation if face in GAME.box.faces.dice else rotation
            return TakeComplex(seat, square, same, face) in expand(legal, seat)
        case PlaceDie(seat, die, square, rotation, face):
            return any(
                (option.square, option.face) == (square, face)
                and option.rotation == GAME.box.faces.die(face, rotation).rotation
                for options in legal.dice
                for option in options.placements
                if options.die == die
            )
        case _:
            return command in expand(legal, command.seat)


def near_legal(state: State, legal: LegalCommands, random: Random) -> Command:
    """Return some command of any kind, mostly of the active seat, which often is not quite legal.

    `legal` is what the active seat may do.
    """
    if random.random() < 0.5:
        return _nudged(plain(GAME, state, legal, random), random)
    seat = random.choice([state.active] * 9 + [random.randrange(len(state.players))])
    makers = (_in_set_up, _with_dice) if state.board is None else (_in_set_up, *[_with_dice] * 3, *[_with_money] * 2)
    return random.choice(makers)(state, seat, random)


def _nudged(command: Command, random: Random) -> Command:
    """Return a command with one of its fields changed a little, or none."""
    name = random.choice(command.__struct_fields__)
    value = getattr(command, name)
    match name:
        case "square" | "station":
            return replace(command, **{name: Square(value.x + random.randint(-1, 1), value.y + random.randint(-1, 1))})
        case "rotation":
            return replace(command, rotation=random.randrange(4))
        case "face":
            return replace(command, face=random.choice(FACES))
        case "tile_id":
            return replace(command, tile_id=_tile_id(random))
        case "dice" | "seat":
            return command
        case _:
            return replace(command, **{name: value + random.randint(-1, 1)})


def _in_set_up(state: State, seat: int, random: Random) -> Command:
    square = _square(state, random)
    tile = PlaceTile(seat, _tile_id(random), square, random.randrange(4))
    return random.choice([tile, PlaceHome(seat, square), PlaceGray(seat, square)])


def _with_dice(state: State, seat: int, random: Random) -> Command:
    die, square, rotation = random.randint(1, 5), _square(state, random), random.randrange(4)
    kind = random.randrange(6)
    if kind == 0:
        return RollDice(seat, random.choice([4, 2, 0]), random.choice([0, 1, 2]))
    if kind == 1:
        return random.choice([RestockAll(seat), ReturnDice(seat, tuple(random.choices(range(1, 6), k=2)))])
    if kind == 2:
        return UseLocomotive(seat, die, _tile_id(random))
    if kind == 3:
        laid = [place for place, _ in state.board.laid_dice()] if state.board else []
        return TakeComplex(seat, random.choice([*laid, square]), rotation, random.choice(FACES))
    return PlaceDie(seat, die, square, rotation, random.choice(FACES))


def _with_money(state: State, seat: int, random: Random) -> Command:
    stations = [station.square for station in state.map.stations]
    station = random.choice([*stations, _square(state, random)])
    if random.random() < 0.2:
        return random.choice([BuyLocomotive(seat, random.randint(2, 6)), EndTurn(seat)])
    return Transport(seat, station, random.randint(2, 6), random.randint(0, 4))


def _square(state: State, random: Random) -> Square:
    if state.board is None:
        return Square(random.randint(-8, 8), random.randint(-8, 8))
    return Square(random.randint(-1, state.board.plan.width), random.randint(-1, state.board.plan.height))


def _tile_id(random: Random) -> str:
    return random.choice(["T1", "T2", "T3", "T4", "T5", "T6", "T7"])
