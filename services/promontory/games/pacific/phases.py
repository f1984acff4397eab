"""Whom a phase asks, for whom the game still waits, and what may be chosen [Pacific 2.1]."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from promontory.games.kernel import Seat
from promontory.games.pacific.state import Player, State
from promontory.games.pacific.vocabulary import EffectKind, Phase


class SlotChoice(msgspec.Struct, frozen=True):
    """Any choice of `count` different slots out of `slots`, `required` among them unless that is None."""

    slots: tuple[int, ...]
    count: int
    required: int | None = None

    @property
    def forced(self) -> tuple[int, ...] | None:
        """The only choice there is, or None if there are several [Pacific 2.2]."""
        if self.count == len(self.slots):
            return self.slots
        return (self.required,) if self.count == 1 and self.required is not None else None


def asked(state: State) -> tuple[Seat, ...]:
    """Return the seats that have something to answer in the phase, whether they have answered or not."""
    asks = _ASKS[state.phase]
    return tuple([seat for seat, player in enumerate(state.players) if asks(player)])


def is_asked(state: State, seat: Seat) -> bool:
    """Tell whether `seat` has something to answer in the phase, whether it has answered or not."""
    return _ASKS[state.phase](state.players[seat])


def waited_for(state: State) -> tuple[Seat, ...]:
    """Return the seats whose answers are missing, ascending."""
    asks = _ASKS[state.phase]
    return tuple(
        [
            seat
            for seat, player in enumerate(state.players)
            if not (player.setup or player.put_out_card_id or player.slots) and asks(player)
        ]
    )


def _everybody(_: Player) -> bool:
    return True


def _nobody(_: Player) -> bool:
    return False


def _the_early(player: Player) -> bool:
    return not player.active or not player.has(EffectKind.LATE_PUT_OUT)


def _the_late(player: Player) -> bool:
    return player.has(EffectKind.LATE_PUT_OUT)


def _the_undecided(player: Player) -> bool:
    return player.execution is not None and player.execution.decision is not None


_ASKS: dict[Phase, Callable[[Player], bool]] = {
    Phase.SETUP_PLACE: _everybody,
    Phase.PUT_OUT_FIRST: _the_early,
    Phase.PUT_OUT_LATE: _the_late,
    Phase.CHOOSE: _everybody,
    Phase.EXECUTE: _the_undecided,
    Phase.OVER: _nobody,
}
"""Whom a phase asks."""


def is_ready(player: Player) -> bool:
    """Tell whether the player's answer in a secret phase is there."""
    return bool(player.setup or player.put_out_card_id or player.slots)


def slot_choice(state: State, seat: Seat) -> SlotChoice:
    """Return what `seat` has to choose in the phase of that name; empty slots cannot be chosen [P-7]."""
    player = state.players[seat]
    table = state.table
    slots = tuple([slot for slot, card_id in enumerate(table) if card_id]) if "" in table else tuple(range(len(table)))
    if not player.active:
        return SlotChoice(slots, min(1, len(slots)))
    extra = sum(effect.amount for effect in player.active if effect.kind is EffectKind.EXTRA_CARD)
    required = seat if player.has(EffectKind.OWN_CARD_ONLY) else None
    return SlotChoice(slots, min(1 + extra, len(slots)), required)
