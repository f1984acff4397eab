"""Running an area: what its tokens do, in which order, and what is asked [Pacific 4]."""

from __future__ import annotations

from collections.abc import Generator, Sequence

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
    executor.record(AreaRunStarted(executor.seat, area))
    executor.running = area
    executor.pending = acting(executor.tokens(area))
    if executor.pending != NO_TOKENS:
        run = _Run(executor, area, fish_stay=fish_stay or executor.frozen)
        yield from run.ports()
        yield from run.others()
    executor.running = None
    executor.record(AreaRunEnded(executor.seat, area))


class _Run:
    """One run of one area; in it the executor's `pending` are the tokens that have not acted yet."""

    def __init__(self, executor: Executor, area: Area, *, fish_stay: bool) -> None:
        self._executor, self._area, self._fish_stay = executor, area, fish_stay

    def ports(self) -> Script:
        """Let the Ports fetch, before everything else [P-25]."""
        fetching = self._executor.pending.port
        if not fetching:
            return
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

    def others(self) -> Script:
        """Let everything else act, as the player wishes where there is something to decide."""
        if not self._is_asked():
            self._in_default_order(())
            return
        answer: Answer = yield self._question()
        if isinstance(answer, SteppedRun):
            for step in answer.steps:
                self._step(step)
            self._in_default_order(())
        else:
            self._in_default_order(answer_as(FactoryRun, answer).removals)

    def _is_asked(self) -> bool:
        removes = self._executor.pending.factory > 0 and self._executor.tokens(self._area).total > 1
        return removes or (self._executor.explicit_runs and any(self._waiting(kind) for kind in ACTING))

    def _question(self) -> RunArea:
        tried = self._executor.trial()
        trial = _Run(tried, self._area, fish_stay=self._fish_stay)
        trial._all_act(HATCHERY)
        return RunArea(
            area=self._area,
            pending=Tokens(**{kind: self._waiting(kind) for kind in ACTING}),
            removable=tried.tokens(self._area),
            factories=tried.pending.factory,
            fish_stay=self._fish_stay,
        )

    def _waiting(self, kind: Kind) -> int:
        """Return how many tokens of a kind have to act."""
        return 0 if kind is FISH and self._fish_stay else self._executor.pending.of(kind)

    def _in_default_order(self, removals: Sequence[Tokens]) -> None:
        for kind in (HATCHERY, HOTEL, BOAT):
            self._all_act(kind)
        self._factories_act(removals)
        for kind in (FISH, BALLOON):
            self._all_act(kind)

    def _all_act(self, kind: Kind) -> None:
        while waiting := self._waiting(kind):
            self._act(kind, waiting)

    def _factories_act(self, removals: Sequence[Tokens]) -> None:
        acted = 0
        while self._waiting(FACTORY):
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
