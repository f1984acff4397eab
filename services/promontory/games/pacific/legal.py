"""What a seat may do now, in a compact form [Pacific 3.7]."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations

import msgspec

from promontory.games.kernel import Seat
from promontory.games.pacific.answers import all_answers
from promontory.games.pacific.commands import AnswerDecision, Choose, Command, PutOut, SetupPlace
from promontory.games.pacific.decisions import Decision
from promontory.games.pacific.phases import SlotChoice, is_asked, slot_choice
from promontory.games.pacific.state import State
from promontory.games.pacific.vocabulary import AREAS, Area, Phase

_PUTTING_OUT = (Phase.PUT_OUT_FIRST, Phase.PUT_OUT_LATE)


class LegalCommands(msgspec.Struct, frozen=True):
    """Everything the rules accept from a seat now.

    `setup_areas`: any two different ones, the first for the hotel; empty outside the set-up of a game for two.
    `put_out_card_ids` is empty and `choose` None outside the seat's phases; both are there, too, for a seat that has
    answered and may change its mind [P-4]. `decision` is the open one, whose question describes every legal answer
    completely; only `SteppedRun`, which leads to nothing better than `FactoryRun` [P-33], is to be tried out.
    """

    setup_areas: tuple[Area, ...] = ()
    put_out_card_ids: tuple[str, ...] = ()
    choose: SlotChoice | None = None
    decision: Decision | None = None
    set_explicit_runs: bool = False
    resign: bool = False


def legal_commands(state: State, seat: Seat) -> LegalCommands:
    """Return what `seat` may do in `state`; nothing at all once it has resigned or the game is over."""
    if not 0 <= seat < len(state.players):
        raise ValueError(f"there is no seat {seat} in a game for {len(state.players)}")
    if state.result is not None or seat in state.resigned:
        return LegalCommands()
    player = state.players[seat]
    puts_out = state.phase in _PUTTING_OUT and is_asked(state, seat)
    return LegalCommands(
        setup_areas=AREAS if state.phase is Phase.SETUP_PLACE else (),
        put_out_card_ids=player.holdings.hand if puts_out else (),
        choose=slot_choice(state, seat) if state.phase is Phase.CHOOSE else None,
        decision=None if player.execution is None else player.execution.decision,
        set_explicit_runs=True,
        resign=True,
    )


def expand(legal: LegalCommands, seat: Seat) -> Iterator[Command]:
    """Yield, one by one, the commands that `legal` describes for `seat`, the setting and resigning excepted.

    Of commands with the same effect only one comes: slots ascending, answers as `answers.all_answers` says.
    """
    for hotel, factory in permutations(legal.setup_areas, 2):
        yield SetupPlace(seat, hotel, factory)
    for card_id in legal.put_out_card_ids:
        yield PutOut(seat, card_id)
    if legal.choose is not None:
        for slots in combinations(legal.choose.slots, legal.choose.count):
            if legal.choose.required is None or legal.choose.required in slots:
                yield Choose(seat, slots)
    if legal.decision is not None:
        for answer in all_answers(legal.decision.question):
            yield AnswerDecision(seat, legal.decision.decision_id, answer)
