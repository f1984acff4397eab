"""Who sees what: views and redacted events [Pacific 7]."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from promontory.games.pacific.commands import Choose, PutOut, SetExplicitRuns
from promontory.games.pacific.decisions import AreaPick, Decision, PickArea
from promontory.games.pacific.events import (
    CardDrawn,
    CardPutOut,
    CardsRevealed,
    Choice,
    ChoicesRevealed,
    DecisionOpened,
    DeckShuffled,
    DummiesDealt,
    Event,
    ExplicitRunsSet,
    HandDealt,
    PhaseStarted,
    Reservation,
    SeatCard,
    SetupChosen,
    SetupPlaced,
    SlotsChosen,
)
from promontory.games.pacific.legal import LegalCommands
from promontory.games.pacific.state import Given, Player, Setup, State
from promontory.games.pacific.tokens import Effect, Hq, Tokens
from promontory.games.pacific.view import ExecutionView, GameView, PlayerView, StartView
from promontory.games.pacific.vocabulary import AREAS, Area, Arrow, EffectKind, Kind, Phase
from tests.support.pacific import (
    DECK,
    GAME,
    answers,
    begun,
    choose,
    choosing,
    decide,
    executing,
    mat,
    player,
    putting_out,
    resign,
    set_up,
    state_after,
)

CHIPS = "computer_chip_factory"


def told(events: list[Event], state: State, seat: int | None) -> list[Event]:
    """Return events as a seat, or a spectator, is told them."""
    return [GAME.redact(state, event, seat) for event in events]


def test_a_seat_sees_its_hand_and_the_public_rest() -> None:
    """[Pacific 7] Money, mats, Paths, effects, sizes and the cards on the table."""
    state = putting_out(
        player("japan 2 fish 1 hq", money=7, hand="spas port", paths="japan_california", active="documentary"),
        player("", hand="dugongs octopus", pending="casinos"),
        player("", hand="sharks yachts"),
        deck="fishing disperse",
    )
    state = state_after(state, PutOut(0, "port"), SetExplicitRuns(2, on=True))
    view = GAME.view(state, 0)
    nothing = PlayerView(
        money=0,
        hand_size=2,
        mat=mat(""),
        hqs=(),
        hqs_placed=0,
        paths=(),
        active=(),
        pending=(),
        explicit_runs=False,
        decisions=0,
        ready=False,
        execution=None,
    )
    assert view == GameView(
        seat=0,
        turn=5,
        phase=Phase.PUT_OUT_FIRST,
        players=(
            PlayerView(
                money=7,
                hand_size=2,
                mat=mat("japan 2 fish 1 hq"),
                hqs=(Hq(1, Area.JAPAN),),
                hqs_placed=1,
                paths=(Arrow.JAPAN_CALIFORNIA,),
                active=(Effect("documentary", EffectKind.GAIN_PER_DEPARTURE, 2),),
                pending=(),
                explicit_runs=False,
                decisions=0,
                ready=True,
                execution=None,
            ),
            replace(nothing, pending=(Effect("casinos", EffectKind.OWN_CARD_ONLY),)),
            replace(nothing, explicit_runs=True),
        ),
        table=("", "", ""),
        history=(),
        deck_size=2,
        resigned=(),
        hand_card_ids=("spas", "port"),
        put_out_card_id="port",
        unseen_card_ids=tuple(card_id for card_id in DECK.ids if card_id not in {"spas", "port"}),
        legal=LegalCommands(put_out_card_ids=("spas", "port"), set_explicit_runs=True, resign=True),
    )


def test_a_spectator_sees_public_knowledge_only() -> None:
    """[Pacific 7] The intersection of all views: no hand, no card face down, nothing to do."""
    state = state_after(begun(3), PutOut(0, DECK.ids[0]), PutOut(1, DECK.ids[10]))
    view = GAME.view(state, None)
    own = (view.hand_card_ids, view.put_out_card_id, view.setup, view.chosen_slots, view.unseen_card_ids, view.legal)
    assert own == ((), "", None, (), (), None)
    assert ([one.ready for one in view.players], view.table, view.seat) == ([True, True, False], ("", "", ""), None)


@pytest.mark.parametrize("seat", [-1, 3])
def test_a_seat_that_does_not_exist_sees_nothing(seat: int) -> None:
    """[Pacific 7] It is an error, not somebody's view."""
    with pytest.raises(ValueError, match="no seat"):
        GAME.view(begun(3), seat)


def test_a_choice_in_the_set_up_is_ones_own() -> None:
    """[Pacific 7] The other sees only that it has been made."""
    state = state_after(begun(2), set_up(0, "japan", "peru"))
    assert (GAME.view(state, 0).setup, GAME.view(state, 1).setup) == (Setup(Area.JAPAN, Area.PERU), None)
    assert [one.ready for one in GAME.view(state, 1).players] == [True, False]


def test_chosen_slots_are_ones_own_until_all_are_shown() -> None:
    """[Pacific 7] Then everybody sees what everybody executes."""
    state = state_after(choosing(Player(), Player(), Player(), table="fishing port dugongs"), Choose(0, (2,)))
    assert [GAME.view(state, seat).chosen_slots for seat in (0, 1, None)] == [(2,), (), ()]
    state = state_after(state, Choose(1, (0,)), Choose(2, (2,)))
    shown = GAME.view(state, None).players
    assert [one.execution.card_ids for one in shown if one.execution] == [("dugongs",), ("fishing",), ("dugongs",)]
    assert GAME.view(state, 0).chosen_slots == ()


def test_executions_are_public() -> None:
    """[Pacific 7] What is executed, from where on, the answers so far and the open decision."""
    state = executing(["giant_squid"], player("peru 1 hq", money=3, paths="peru_polynesia"))
    state = answers(state, "area peru")[1]
    execution = GAME.view(state, None).players[0].execution
    start = StartView(3, mat("peru 1 hq"), (Hq(1, Area.PERU),), 1, (Arrow.PERU_POLYNESIA,))
    others = tuple(area for area in AREAS if area is not Area.PERU)
    assert execution == ExecutionView(
        slots=(0,),
        card_ids=("giant_squid",),
        sole_picks=(True,),
        reserved=(0,),
        start=start,
        explicit_runs=False,
        given=(Given(AreaPick(Area.PERU), explicit_runs=False),),
        decision=Decision(2, "giant_squid", PickArea(others)),
        done=False,
    )
    assert GAME.view(state, None).players[0].hqs == (Hq(1, Area.PERU, (Kind.BOAT,)),)


def test_reserved_cards_are_counted_but_not_shown() -> None:
    """[Pacific 7] To nobody, the seat that will draw them included."""
    state = choosing(
        player(active="make_the_rounds"), Player(), Player(), table=f"{CHIPS} direct_flight spas", deck="port"
    )
    state = state_after(state, *choose((0, 1), 2, 2))
    for seat in (0, 1, None):
        view = GAME.view(state, seat)
        assert view.players[0].execution is not None
        assert (view.players[0].execution.reserved, view.deck_size) == ((1, 0), 0)
        assert seat is None or "port" in view.unseen_card_ids


def test_earlier_turns_stay_readable() -> None:
    """[Pacific 7] Cards, and who executed what."""
    state = choosing(player(hand="yachts"), player(hand="octopus"), player(hand="sharks"), table="dugongs spas port")
    state = state_after(state, *choose(0, 1, 0))
    past = GAME.view(state, None).history[0]
    assert (past.turn, past.card_ids) == (5, ("dugongs", "spas", "port"))
    assert past.choices == (Choice(0, (0,), (False,)), Choice(1, (1,), (True,)), Choice(2, (0,), (False,)))
    assert not {"dugongs", "spas", "port", "yachts"} & set(GAME.view(state, 0).unseen_card_ids)


def test_a_finished_game_shows_its_result() -> None:
    """[Pacific 7] And that nothing is left to do; hands stay hidden."""
    view = GAME.view(state_after(begun(2), resign(0)), 1)
    assert view.result is not None
    assert (view.result.winners, view.legal, view.phase) == ((1,), LegalCommands(), Phase.OVER)
    assert len(view.unseen_card_ids) == 70


@pytest.mark.parametrize("seat", [0, 1, None])
def test_the_deal_shows_a_seat_its_own_cards(seat: int | None) -> None:
    """[Pacific 7] No other hand, and not the order of the deck."""
    state = GAME.initial(3)
    events = list(GAME.begin(state, _FileOrder(), draw_start=False))
    assert told(events, begun(3), seat) == [
        DeckShuffled(80),
        *(HandDealt(one, 10, DECK.ids[10 * one : 10 * one + 10] if one == seat else ()) for one in range(3)),
        PhaseStarted(1, Phase.PUT_OUT_FIRST),
    ]


class _FileOrder:
    def integer(self, n: int, purpose: str, number: int, index: int) -> int:
        return 0

    def shuffle(self, items: Any, purpose: str, number: int) -> Any:
        return items


SECRETS = [
    SetupChosen(0, Area.JAPAN, Area.PERU),
    CardPutOut(0, "spas"),
    SlotsChosen(0, (1, 2)),
]


@pytest.mark.parametrize("event", SECRETS)
@pytest.mark.parametrize("seat", [1, None])
def test_a_secret_answer_is_told_to_others_without_content(event: Any, seat: int | None) -> None:
    """[P-4] Only that it is there; of a later one not even whose it is."""
    again = replace(event, again=True)
    assert told([event, again], begun(3), 0) == [event, again]
    assert told([event, again], begun(3), seat) == [type(event)(0), type(event)(None, again=True)]


@pytest.mark.parametrize("seat", [0, 1, None])
def test_a_forced_choice_is_told_to_everybody(seat: int | None) -> None:
    """[Pacific 7] It is public knowledge anyway."""
    forced = SlotsChosen(2, (2,), forced=True)
    assert told([forced], begun(3), seat) == [forced]


@pytest.mark.parametrize(("seat", "card_id"), [(0, "spas"), (1, ""), (None, "")])
def test_a_drawn_card_is_told_to_its_drawer_only(seat: int | None, card_id: str) -> None:
    """[Pacific 7] The others learn that a card was drawn; nobody what is reserved."""
    state = choosing(Player(), Player(), Player(), table=f"{CHIPS} port dugongs", deck="spas")
    events, state = decide(state, *choose(0, 1, 2))
    seen = told(events, state, seat)
    assert [event for event in seen if isinstance(event, CardDrawn)] == [CardDrawn(0, card_id)]
    (revealed,) = [event for event in seen if isinstance(event, ChoicesRevealed)]
    assert revealed.reservations == (Reservation(0, CHIPS, 1),)


@pytest.mark.parametrize("seat", [0, 1, None])
def test_all_else_is_told_to_everybody(seat: int | None) -> None:
    """[Pacific 7] Reveals, decisions and their answers, and all that happens on mats."""
    state = choosing(player("japan 2 fish 1 boat"), Player(), Player(), table="migration documentary fishing")
    events, state = decide(state, *choose(0, 1, 2))
    more, state = answers(state, "area peru", "move 2 fish japan from japan")
    public = [event for event in events + more if not isinstance(event, SlotsChosen)]
    assert told(public, state, seat) == public
    assert any(isinstance(event, DecisionOpened) for event in public)


@pytest.mark.parametrize(
    ("event", "foreseeable"),
    [
        (DeckShuffled(80), False),
        (HandDealt(0, 10), False),
        (SetupChosen(0, Area.JAPAN, Area.PERU), True),
        (SetupPlaced(0, Area.JAPAN, Area.PERU), False),
        (CardPutOut(0, "spas"), True),
        (CardsRevealed(Phase.PUT_OUT_FIRST, (SeatCard(0, "spas"),)), False),
        (DummiesDealt(("spas", "port")), False),
        (SlotsChosen(0, (1,)), True),
        (ChoicesRevealed(()), False),
        (CardDrawn(0, "spas"), False),
        (DecisionOpened(0, Decision(1, "fishing", PickArea(AREAS))), True),
        (ExplicitRunsSet(0, on=True), True),
        (PhaseStarted(1, Phase.CHOOSE), True),
    ],
)
def test_a_preview_ends_at_hidden_cards_and_answers_of_others(event: Event, foreseeable: bool) -> None:
    """[Pacific 7] Everything else follows from what the seat knows."""
    assert GAME.foreseeable(begun(3), event) == foreseeable


def test_whether_a_phase_ends_can_be_seen_by_who_is_ready() -> None:
    """[P-4] So a preview tells nothing new by ending early."""
    state = state_after(begun(3), PutOut(0, DECK.ids[0]))
    assert [one.ready for one in GAME.view(state, 2).players] == [True, False, False]


def test_tokens_are_shown_area_by_area() -> None:
    """[Pacific 7] In ring order."""
    assert GAME.view(putting_out(player("peru 2 fish"), player(), player()), None).players[0].mat == (
        Tokens(),
        Tokens(),
        Tokens(fish=2),
        Tokens(),
        Tokens(),
    )
