"""The procedures that all executing is made of: placing, moving, removing, gaining [Pacific 3.4 to 3.6]."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from promontory.games.kernel import Seat
from promontory.games.pacific.events import (
    CardDrawn,
    EffectArmed,
    Event,
    MoneyGained,
    PathPlaced,
    TokensMoved,
    TokensPlaced,
    TokensRemoved,
)
from promontory.games.pacific.holdings import Holdings, HoldingsEvent, changed
from promontory.games.pacific.tokens import NO_TOKENS, Effect, TokenPick, Tokens, some
from promontory.games.pacific.vocabulary import (
    BALLOON,
    HQ,
    Area,
    Arrow,
    EffectKind,
    GainCause,
    MoveCause,
    PlacingSource,
    RemovalCause,
)

BALLOON_GAIN = 15


def acting(tokens: Tokens) -> Tokens:
    """Return those of `tokens` that act when their area is run: all but HQs [P-27]."""
    return replace(tokens, hq=0) if tokens.hq else tokens


class Executor:
    """A player who executes cards: what it holds now, and the events so far.

    `pending` are, while the area `running` is run, its tokens that have not acted yet [Pacific 4.2]. `ran` and
    `skip` are the areas that were run, and that are not to be run, this turn; with `frozen` fish do not swim.
    """

    def __init__(self, seat: Seat, holdings: Holdings, active: Iterable[Effect]) -> None:
        self.seat = seat
        self.holdings = holdings
        self.active = tuple(active)
        self.events: list[Event] = []
        self.card_id = ""
        self.explicit_runs = False
        self.frozen = False
        self.ran: list[Area] = []
        self.skip: set[Area] = set()
        self.running: Area | None = None
        self.pending = NO_TOKENS

    def trial(self) -> Executor:
        """Return a copy to try something out with."""
        copy = Executor(self.seat, self.holdings, self.active)
        copy.running, copy.pending = self.running, self.pending
        return copy

    def tokens(self, area: Area) -> Tokens:
        """Return the tokens of `area` now."""
        return self.holdings.mat[area.place]

    def record(self, *events: Event) -> None:
        """Record events that change nothing but what is known."""
        self.events.extend(events)

    def gain(self, amount: int, cause: GainCause) -> None:
        """Make `amount` dollars, if any."""
        if amount:
            self._change(MoneyGained(self.seat, amount, cause))

    def place(self, area: Area, batch: Tokens, source: PlacingSource) -> None:
        """Put tokens from the supply into `area` together, with all that reacts to it [Pacific 3.4]."""
        if batch == NO_TOKENS:
            return
        hqs = self.holdings.hqs
        bonus = self._hq_bonus(area, batch) if hqs and source is not PlacingSource.HQ else NO_TOKENS
        self._change(TokensPlaced(self.seat, area, batch, source))
        if area is self.running:
            self._arrived(batch)
        if self.active:
            self._paid_for_placing(batch.total)
        if bonus != NO_TOKENS:
            self.place(area, bonus, PlacingSource.HQ)
        if not self.active or source is PlacingSource.UPGRADE:
            return
        for effect in self._working(EffectKind.PLACE_PER_PLACEMENT):
            if effect.tokens is not None:
                self.place(area, effect.tokens * batch.total, PlacingSource.UPGRADE)

    def place_path(self, arrow: Arrow) -> None:
        """Lay a Path, which is in no area: only effects that pay for placements react [P-23]."""
        self._change(PathPlaced(self.seat, arrow))
        if self.active:
            self._paid_for_placing(1)

    def move(
        self, pick: TokenPick, destination: Area, cause: MoveCause, *, hq_ids: tuple[int, ...] | None = None
    ) -> None:
        """Move tokens to another area, of HQs `hq_ids` or those with the fewest used kinds [Pacific 3.5]."""
        if not pick.n:
            return
        ids = self._leaving(pick) if hq_ids is None else hq_ids
        self._change(TokensMoved(self.seat, pick.kind, pick.area, destination, pick.n, cause, ids))
        if destination is self.running:
            self._arrived(some(pick.kind, pick.n))
        if pick.kind is BALLOON and destination is Area.CALIFORNIA:
            self.gain(BALLOON_GAIN * pick.n, GainCause.BALLOON)
        if self.active:
            self._departed(pick.n)

    def remove(self, pick: TokenPick, cause: RemovalCause) -> None:
        """Take tokens off the mat, of HQs those with the fewest used kinds [Pacific 3.6]."""
        if pick.n:
            self._change(TokensRemoved(self.seat, pick.kind, pick.area, pick.n, cause, self._leaving(pick)))
            if self.active:
                self._departed(pick.n)

    def draw(self, card_id: str) -> None:
        """Take a reserved card into the hand."""
        self._change(CardDrawn(self.seat, card_id))

    def arm(self, effect: Effect) -> None:
        """Arm an effect for the next turn."""
        self._change(EffectArmed(self.seat, effect))

    def _change(self, event: HoldingsEvent) -> None:
        self.holdings = changed(self.holdings, event)
        self.events.append(event)

    def _working(self, kind: EffectKind) -> Sequence[Effect]:
        return [effect for effect in self.active if effect.kind is kind]

    def _arrived(self, tokens: Tokens) -> None:
        """Let new tokens of the area that is run act in this run, all but HQs [P-27]."""
        self.pending += acting(tokens)

    def _paid_for_placing(self, n: int) -> None:
        for effect in self._working(EffectKind.GAIN_PER_PLACEMENT):
            self.gain(effect.amount * n, GainCause.PLACEMENT)

    def _departed(self, n: int) -> None:
        for effect in self._working(EffectKind.GAIN_PER_DEPARTURE):
            self.gain(effect.amount * n, GainCause.DEPARTURE)

    def _hq_bonus(self, area: Area, batch: Tokens) -> Tokens:
        """Return what the HQs of `area` add to a batch: each of them one token of each kind new to it [P-21]."""
        hqs = [hq for hq in self.holdings.hqs if hq.area is area]
        return Tokens(**{kind: sum(kind not in hq.used for hq in hqs) for kind, _ in batch.present()})

    def _leaving(self, pick: TokenPick) -> tuple[int, ...]:
        if pick.kind is not HQ:
            return ()
        hqs = [hq for hq in self.holdings.hqs if hq.area is pick.area]
        first = sorted(hqs, key=lambda hq: (len(hq.used), hq.hq_id))[: pick.n]
        return tuple(sorted(hq.hq_id for hq in first))
