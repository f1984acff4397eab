"""Running an area: what its tokens do, in which order, and what is asked [Pacific 4]."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from msgspec.structs import replace

from promontory.games.kernel import Malformed, Rejected
from promontory.games.pacific.answers import MOST_REMOVALS, answer_as
from promontory.games.pacific.choices import check_choice, options_in, token_choice
from promontory.games.pacific.decisions import (
    Answer,
    FactoryRun,
    Fetches,
    Ports,
    Question,
    RunArea,
    Step,
    SteppedRun,
    TokenChoice,
)
from promontory.games.pacific.events import AreaRunEnded, AreaRunStarted
from promontory.games.pacific.executor import Executor, acting
from promontory.games.pacific.instructions import Limit
from promontory.games.pacific.tokens import NO_TOKENS, TokenPick, Tokens, some
from promontory.games.pacific.vocabulary import (
    AREAS,
    BALLOON,
    BASIC_KINDS,
    BOAT,
    FACTORY,
    FISH,
    HATCHERY,
    HOTEL,
    HQ,
    KINDS,
    PORT,
    Area,
    GainCause,
    Kind,
    MoveCause,
    PlacingSource,
    RemovalCause,
)

Script = Generator[Question, Answer, None]
"""Something a player does: it yields questions, and is sent their answers."""

HATCHED = some(FISH, 2)
REMOVAL_GAIN = 2
ACTING = (HATCHERY, HOTEL, BOAT, FACTORY, FISH, BALLOON)
"""The kinds that act after the Ports, in the default order [Pacific 4.3]."""


def run_area(executor: Executor, area: Area, *, fish_stay: bool = False) -> Script:
    """Run `area`, unless it is to be skipped or was run this turn [P-30, P-32]."""
    if area in executor.skip or area in executor.ran:
        return
    executor.ran.append(area)
    executor.events.append(AreaRunStarted(executor.seat, area))
    executor.pending = acting(executor.holdings.mat[area.place])
    if executor.pending != NO_TOKENS:
        executor.running = area
        run = _Run(executor, area, fish_stay=fish_stay or executor.frozen)
        if executor.pending.port:
            yield from run.ports()
        if run.is_asked():
            yield from run.as_wished()
        else:
            run.in_default_order()
        executor.running = None
    executor.events.append(AreaRunEnded(executor.seat, area))


class _Run:
    """One run of one area; in it the executor's `pending` are the tokens that have not acted yet."""

    def __init__(self, executor: Executor, area: Area, *, fish_stay: bool) -> None:
        self._executor, self._area, self._fish_stay = executor, area, fish_stay

    def ports(self) -> Script:
        """Let the Ports fetch, before everything else [P-25]."""
        fetching = self._executor.pending.port
        self._act_no_more(PORT, fetching)
        elsewhere = [area for area in AREAS if area is not self._area]
        options = options_in(self._executor.holdings.mat, elsewhere, BASIC_KINDS)
        if not options:
            return
        choice = token_choice(options, Limit(up_to=fetching), None)
        answer = answer_as(Fetches, (yield Ports(self._area, choice)))
        self._check_fetches(answer, choice)
        for fetch in answer.fetches:
            self._executor.move(TokenPick(fetch.kind, fetch.area, 1), self._area, MoveCause.PORT)

    def _check_fetches(self, answer: Fetches, choice: TokenChoice) -> None:
        named = [(fetch.kind, fetch.area) for fetch in answer.fetches]
        picks = [TokenPick(kind, area, named.count((kind, area))) for kind, area in dict.fromkeys(named)]
        check_choice(choice, picks, BASIC_KINDS, areas=[area for area in AREAS if area is not self._area])

    def is_asked(self) -> bool:
        """Tell whether there is something to decide about what acts after the Ports."""
        removes = self._executor.pending.factory > 0 and self._executor.tokens(self._area).total > 1
        return removes or (self._executor.explicit_runs and any(self._waiting(kind) for kind in ACTING))

    def as_wished(self) -> Script:
        """Let everything but the Ports act as the player wishes."""
        answer: Answer = yield self._question()
        if isinstance(answer, SteppedRun):
            for step in answer.steps:
                self._step(step)
            self.in_default_order()
        else:
            self.in_default_order(answer_as(FactoryRun, answer).removals)

    def in_default_order(self, removals: Sequence[Tokens] = ()) -> None:
        """Let everything but the Ports act in the default order, the factories with these removals [Pacific 4.3]."""
        executor = self._executor
        self._hatch()
        while hotels := executor.pending.hotel:
            self._act(HOTEL, hotels)
        while boats := executor.pending.boat:
            self._act(BOAT, boats)
        self._factories_act(removals)
        while (fish := executor.pending.fish) and not self._fish_stay:
            self._act(FISH, fish)
        while balloons := executor.pending.balloon:
            self._act(BALLOON, balloons)

    def _question(self) -> RunArea:
        executor = self._executor
        pending = replace(executor.pending, port=0, fish=0 if self._fish_stay else executor.pending.fish)
        tried = executor.trial() if pending.hatchery else executor
        _Run(tried, self._area, fish_stay=self._fish_stay)._hatch()
        return RunArea(
            area=self._area,
            pending=pending,
            removable=tried.tokens(self._area),
            factories=tried.pending.factory,
            fish_stay=self._fish_stay,
        )

    def _waiting(self, kind: Kind) -> int:
        """Return how many tokens of a kind have to act."""
        return 0 if kind is FISH and self._fish_stay else self._executor.pending.of(kind)

    def _hatch(self) -> None:
        while hatcheries := self._executor.pending.hatchery:
            self._act(HATCHERY, hatcheries)

    def _factories_act(self, removals: Sequence[Tokens]) -> None:
        acted = 0
        while self._executor.pending.factory:
            self._factory_acts(removals[acted] if acted < len(removals) else NO_TOKENS)
            acted += 1
        if acted < len(removals):
            raise Rejected("UNUSED_REMOVAL_LIST", rule="Pacific 4.3", factories=acted)

    def _step(self, step: Step) -> None:
        if step.kind not in ACTING:
            raise Rejected("KIND_NOT_ALLOWED", rule="Pacific 4.3", kind=step.kind.value)
        is_factory = step.kind is FACTORY
        if step.n < 1 or (is_factory and step.n > 1) or (step.removes is not None and not is_factory):
            raise Malformed("MALFORMED", rule="Pacific 4.3")
        if step.n > self._waiting(step.kind):
            raise Rejected("NOTHING_PENDING", rule="Pacific 4.3", kind=step.kind.value)
        if is_factory:
            self._factory_acts(step.removes or NO_TOKENS)
        else:
            self._act(step.kind, step.n)

    def _act(self, kind: Kind, n: int) -> None:
        """Let `n` waiting tokens of a kind act, one after another."""
        executor = self._executor
        self._act_no_more(kind, n)
        if kind is HOTEL:
            executor.gain(n, GainCause.HOTEL)
        elif kind is BOAT:
            executor.gain(n * executor.tokens(self._area).fish, GainCause.BOAT)
        elif kind is HATCHERY:
            for _ in range(n):
                executor.place(self._area, HATCHED, PlacingSource.HATCHERY)
        else:
            executor.move(TokenPick(kind, self._area, n), self._area.following, MoveCause.RUN)

    def _factory_acts(self, removes: Tokens) -> None:
        """Let a factory remove up to 3 other tokens; of a kind those that have acted go first [P-28]."""
        executor = self._executor
        self._act_no_more(FACTORY, 1)
        self._check_removal(removes)
        for kind, n in removes.present():
            acted = executor.tokens(self._area).of(kind) - executor.pending.of(kind) - (kind is FACTORY)
            if kind is not HQ:
                self._act_no_more(kind, max(0, n - acted))
            executor.remove(TokenPick(kind, self._area, n), RemovalCause.FACTORY)
        executor.gain(REMOVAL_GAIN * removes.total, GainCause.FACTORY)

    def _act_no_more(self, kind: Kind, n: int) -> None:
        self._executor.pending = self._executor.pending.plus(kind, -n)

    def _check_removal(self, removes: Tokens) -> None:
        if any(removes.of(kind) < 0 for kind in KINDS):
            raise Malformed("MALFORMED", rule="Pacific 4.3")
        if removes.total > MOST_REMOVALS:
            raise Rejected("TOO_MANY", rule="Pacific 4.2", most=MOST_REMOVALS)
        for kind, n in removes.present():
            if n > self._executor.tokens(self._area).of(kind) - (kind is FACTORY):
                raise Rejected("NOT_ENOUGH_TOKENS", rule="Pacific 4.2", kind=kind.value, area=self._area.value)
