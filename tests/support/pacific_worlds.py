"""Pairs of games of Pacific that differ only in what somebody must not know, and all that a service tells of them.

A world is a game as its service serves it: a deck in a certain order, and what is submitted. Its twin has the same
public history for the observer, a seat or a spectator, but other cards where the observer sees none, and other secret
answers of the other seats wherever these were changed in time or are not revealed yet.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import cache
from random import Random
from typing import Any, NamedTuple, Protocol
from unittest.mock import patch

from msgspec.structs import replace

from promontory.codec.pacific import CODEC
from promontory.games.kernel import Draws
from promontory.games.pacific.commands import Choose, Command, PutOut, Resign, SetExplicitRuns, SetupPlace
from promontory.games.pacific.decider import Pacific
from promontory.games.pacific.events import CardsRevealed, ChoicesRevealed, Event, SetupPlaced
from promontory.games.pacific.legal import LegalCommands
from promontory.games.pacific.phases import slot_choice, waited_for
from promontory.games.pacific.state import Player, State
from promontory.games.pacific.vocabulary import EffectKind, Phase
from promontory.rules.domain import SeatSetup, Setup
from promontory.rules.records import setup_message
from promontory.rules.ruleset import Ruleset
from promontory.runtime import clock
from tests.support.pacific import DECK, GAME, after, open_decision, seeded
from tests.support.pacific_play import Commit, near_legal, plain
from tests.support.refereeing import ruleset

NAMES = ("ada", "ben", "cyd", "dot", "eli")
SPECTATOR = "eve"
FIRST_MS = 1_767_225_600_000
PROBED = 2
"""After how many of a world's last commits the observer asks for everything."""

TRIED = 12
"""How many commands the observer tries each time."""

FORESTALLED = 4
"""How many of them it submits for versions and seats that are not the right ones."""

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
    """Tell whether the secret answer of a commit is what was revealed in the end."""
    given = commits[number].command
    for later in commits[number:]:
        if any(isinstance(event, REVEALS) for event in later.events):
            return later is commits[number] or type(later.command) is not type(given) or _is_other(later, given)
        if later is not commits[number] and type(later.command) is type(given) and not _is_other(later, given):
            return False
    return False


def _is_other(commit: Commit, given: Command | None) -> bool:
    return commit.command is None or given is None or commit.command.seat != given.seat


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


class Service(Protocol):
    """A rules service, however it is reached; answers and refusals come as bytes, all that tells anything in them."""

    async def ask(self, who: str, method: str, **fields: Any) -> tuple[bool, bytes]:
        """Return whether the call of `who` succeeded, and what it was answered."""

    def watch(self, who: str, **fields: Any) -> AsyncIterator[bytes]:
        """Yield the messages of a watching stream."""


Told = list[tuple[str, bytes]]
"""What somebody is told, and on what occasion."""


class Observer:
    """Lives through one world of a pair, and keeps all that the pair's observer is told."""

    def __init__(self, service: Service, pair: Pair, world: World) -> None:
        self._service, self._pair, self._script = service, pair, world.script
        self._seat: dict[str, Any] = {} if pair.observer is None else {"seat": pair.observer}
        self._who = SPECTATOR if pair.observer is None else NAMES[pair.observer]
        self._now_ms, self._match_id, self._version = FIRST_MS, "", 1
        self.told: Told = []

    async def live(self) -> Told:
        """Return what the observer is told from the beginning to the end of the world."""
        with patch.object(clock, "now_ms", lambda: self._now_ms):
            await self._create()
            streams = [_Stream(self._watch(**self._seat)), _Stream(self._watch())]
            for number, command in enumerate(self._script):
                await asyncio.gather(*(stream.reaches(self._version) for stream in streams))
                await self._submit(command)
                probe = number - len(self._script) + PROBED
                if probe >= 0:
                    await self._look()
                    await self._try(self._pair.tried[probe - PROBED])
            await self._look_back()
            for stream in streams:
                await stream.reaches(self._version)
                self.told += [("WatchMatch", message) for message in await stream.end()]
        return self.told

    async def _create(self) -> None:
        setup = setup_message(Setup(tuple(map(SeatSetup, NAMES[: self._pair.seats]))))
        _, raw = await self._service.ask("platform", "CreateMatch", request_id="a match", setup=setup)
        self._match_id = CODEC.messages.CreateMatchResponse.FromString(raw).match.match_id

    def _watch(self, **fields: Any) -> AsyncIterator[bytes]:
        return self._service.watch(self._who, match_id=self._match_id, **fields)

    async def _submit(self, command: Command) -> None:
        """Submit what comes next; only the observer's own answers are kept."""
        self._now_ms += 1000
        fields = self._submission(command, f"at {self._version}")
        accepted, answer = await self._service.ask(NAMES[command.seat], "SubmitCommand", **fields)
        assert accepted, answer
        self._version += 1
        if command.seat == self._pair.observer:
            self.told.append(("SubmitCommand accepted", answer))

    def _submission(self, command: Command, request_id: str) -> dict[str, Any]:
        commands = [CODEC.encode_command(command)]
        return {"match_id": self._match_id, "seat": command.seat, "commands": commands, "request_id": request_id}

    async def _ask(self, method: str, occasion: str = "", **fields: Any) -> bool:
        fields.setdefault("match_id", self._match_id)
        done, answer = await self._service.ask(self._who, method, **fields)
        self.told.append((f"{method} {occasion}".strip(), answer))
        return done

    async def _look(self) -> None:
        await self._ask("GetMatch", **self._seat)
        await self._ask("GetMatch", "as a spectator")
        await self._ask("ExportMatch")
        for seat in range(self._pair.seats):
            await self._ask("ListLegalCommands", f"of seat {seat}", seat=seat)

    async def _try(self, commands: Sequence[Command]) -> None:
        """Try commands without changing anything: in previews, and what is refused there also in earnest."""
        for number, command in enumerate(commands):
            fields = self._submission(command, f"try {number} at {self._version}")
            previewed = {key: value for key, value in fields.items() if key != "request_id"}
            if not await self._ask("PreviewCommand", **previewed):
                await self._ask("SubmitCommand", "refused", **fields)
            following = CODEC.encode_command(commands[number - 1])
            previewed["commands"] = [*fields["commands"], following]
            await self._ask("PreviewCommand", "of two", **previewed)
        for number, command in enumerate(commands[:FORESTALLED]):
            fields = self._submission(command, f"forestalled {number} at {self._version}")
            for version in (self._version - 1, self._version + 1):
                await self._ask("SubmitCommand", "at another version", **fields, expected_version=version)
            await self._ask(
                "SubmitCommand", "for another seat", **{**fields, "seat": (command.seat + 1) % self._pair.seats}
            )

    async def _look_back(self) -> None:
        """Ask for what was before, list it, submit again what was submitted, and wait for a heartbeat."""
        for version in {1, self._version // 2, max(1, self._version - 1)}:
            await self._ask("GetMatch", "of an earlier version", version=version, **self._seat)
        await self._ask("ListMatchEvents", page_size=500, **self._seat)
        await self._ask("ListMatchEvents", "as a spectator", page_size=500)
        await self._ask("ListMatchEvents", "in pages", page_size=7)
        submitted = enumerate(self._script, start=1)
        own = [(version, command) for version, command in submitted if command.seat == self._pair.observer][-2:]
        for version, command in own:
            await self._ask("SubmitCommand", "again", **self._submission(command, f"at {version}"))
            anew = self._submission(SetExplicitRuns(command.seat, False), f"at {version}")
            await self._ask("SubmitCommand", "with an id of old", **anew)
        async for message in self._watch(after_version=self._version, **self._seat):
            self.told.append(("WatchMatch heartbeat", message))
            break


class _Stream:
    """Follows a watching stream in a task of its own, and keeps all but heartbeats."""

    def __init__(self, messages: AsyncIterator[bytes]) -> None:
        self._told: list[bytes] = []
        self._came = asyncio.Condition()
        self._task = asyncio.create_task(self._follow(messages))

    async def _follow(self, messages: AsyncIterator[bytes]) -> None:
        async for message in messages:
            if not CODEC.messages.WatchMatchResponse.FromString(message).HasField("heartbeat"):
                async with self._came:
                    self._told.append(message)
                    self._came.notify_all()

    async def reaches(self, count: int) -> None:
        """Wait until `count` messages have come, the first of which is the snapshot of version 1."""
        async with asyncio.timeout(10), self._came:
            await self._came.wait_for(lambda: len(self._told) >= count)

    async def end(self) -> list[bytes]:
        """End the stream, and return its messages."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        return self._told


def differences(told: Told, otherwise: Told) -> list[str]:
    """Return the occasions on which two worlds tell somebody different things, or different numbers of things."""
    found = [first[0] for first, second in zip(told, otherwise, strict=False) if first != second]
    return found if len(told) == len(otherwise) else [*found, "number of messages"]
