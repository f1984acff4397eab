"""Pacific's structs as messages and back, and the bytes under which its events are stored."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promontory.api.pacific.v1 import commands_pb2, events_pb2
from promontory.codec.pacific import CODEC
from promontory.codec.port import Undecodable
from promontory.codec.stored import canonical
from promontory.games.pacific import commands, events
from promontory.games.pacific import decisions as d
from promontory.games.pacific.legal import LegalCommands
from promontory.games.pacific.tokens import Effect, TokenPick, Tokens
from promontory.games.pacific.view import GameView
from promontory.games.pacific.vocabulary import (
    Area,
    Arrow,
    EffectKind,
    EndReason,
    GainCause,
    Kind,
    MoveCause,
    Per,
    Phase,
    PlacingSource,
    RemovalCause,
)
from tests.codec.strategies import values_of
from tests.support.pacific import GAME
from tests.support.pacific_play import SEATS, played

PACKAGE = "promontory.api.pacific.v1"

GOLDEN = [
    (events.DeckShuffled(2, ("port", "spas")), "DeckShuffled", "08021204706f7274120473706173"),
    (events.HandDealt(1, 1, ("port",)), "HandDealt", "080110011a04706f7274"),
    (events.PhaseStarted(10, Phase.CHOOSE), "PhaseStarted", "080a1004"),
    (events.SetupChosen(0, Area.JAPAN, Area.CORAL_SEA), "SetupChosen", "080010011805"),
    (events.SetupChosen(None, again=True), "SetupChosen", "2001"),
    (events.SetupPlaced(1, Area.PERU, Area.POLYNESIA), "SetupPlaced", "080110031804"),
    (events.CardPutOut(0, "port"), "CardPutOut", "08001204706f7274"),
    (
        events.CardsRevealed(Phase.PUT_OUT_LATE, (events.SeatCard(0, "port"), events.SeatCard(2, "spas"))),
        "CardsRevealed",
        "080312061204706f727412080802120473706173",
    ),
    (events.DummiesDealt(("port", "spas")), "DummiesDealt", "0a04706f72740a0473706173"),
    (events.SlotsChosen(3, (0, 2), again=True, forced=True), "SlotsChosen", "08031202000218012001"),
    (
        events.ChoicesRevealed(
            (events.Choice(0, (0, 2), (True, False)),), (events.Reservation(0, "spas", 1, ("port",)),)
        ),
        "ChoicesRevealed",
        "0a08120200021a020100120e12047370617318012204706f7274",
    ),
    (
        events.DecisionOpened(1, d.Decision(7, "spas", d.PickArea((Area.JAPAN, Area.PERU)))),
        "DecisionOpened",
        "0801121008071204737061731a0612040a020103",
    ),
    (
        events.DecisionOpened(
            0, d.Decision(1, "", d.RunArea(Area.PERU, Tokens(fish=1), Tokens(fish=3, hq=1), 0, fish_stay=True))
        ),
        "DecisionOpened",
        "121408011a10520e0803120208011a04080340012801",
    ),
    (
        events.DecisionOpened(
            0,
            d.Decision(
                1,
                "port",
                d.PickMoves(
                    (d.MoveSource(None, d.TokenChoice((TokenPick(Kind.FISH, Area.PERU, 2),), 0, 1, Per.AREA)),),
                    (Area.JAPAN,),
                    False,
                    False,
                    True,
                ),
            ),
        ),
        "DecisionOpened",
        "122108011204706f72741a172a150a0e120c0a06080110031802180120011201012801",
    ),
    (events.DecisionAnswered(1, 7, d.AreaPick(Area.PERU)), "DecisionAnswered", "080110071a0412020803"),
    (
        events.DecisionAnswered(0, 1, d.SteppedRun((d.Step(Kind.BOAT, 2), d.Step(Kind.FACTORY, 1, Tokens(fish=1))))),
        "DecisionAnswered",
        "10011a125a100a04080410020a08080310011a020801",
    ),
    (
        events.DecisionAnswered(0, 2, d.Moves((TokenPick(Kind.FISH, Area.PERU, 2),), Area.PERU, None)),
        "DecisionAnswered",
        "10021a0c2a0a0a060801100318021003",
    ),
    (
        events.TokensPlaced(0, Area.JAPAN, Tokens(fish=2, boat=1), PlacingSource.HATCHERY),
        "TokensPlaced",
        "10011a04080220012004",
    ),
    (events.PathPlaced(0, Arrow.CORAL_SEA_JAPAN), "PathPlaced", "1005"),
    (
        events.TokensMoved(0, Kind.HQ, Area.JAPAN, Area.PERU, 2, MoveCause.PORT, (1, 4)),
        "TokensMoved",
        "100818012003280230033a020104",
    ),
    (events.TokensRemoved(0, Kind.FISH, Area.JAPAN, 3, RemovalCause.FACTORY), "TokensRemoved", "1001180120032803"),
    (events.MoneyGained(4, 300, GainCause.BALLOON), "MoneyGained", "080410ac021805"),
    (events.AreaRunStarted(0, Area.PERU), "AreaRunStarted", "1003"),
    (events.AreaRunEnded(0, Area.PERU), "AreaRunEnded", "1003"),
    (events.CardDrawn(1, "port"), "CardDrawn", "08011204706f7274"),
    (
        events.EffectArmed(0, Effect("upgrade", EffectKind.PLACE_PER_PLACEMENT, 0, Tokens(hotel=1))),
        "EffectArmed",
        "120f0a0775706772616465100622021001",
    ),
    (events.ExecutionDone(3), "ExecutionDone", "0803"),
    (
        events.TurnEnded(10, (events.SeatEffect(1, Effect("casinos", EffectKind.OWN_CARD_ONLY)),)),
        "TurnEnded",
        "080a120f0801120b0a07636173696e6f731001",
    ),
    (events.ExplicitRunsSet(2, on=True), "ExplicitRunsSet", "08021001"),
    (events.SeatResigned(1), "SeatResigned", "0801"),
    (events.GameOver(EndReason.TENTH_TURN, (84, 91), (1,)), "GameOver", "08011202545b1a0101"),
]
"""An event of each type, and the name and the bytes (hex) under which it is stored: these may never change."""

golden = pytest.mark.parametrize(
    ("event", "name", "stored"), GOLDEN, ids=[f"{n}-{one[1]}" for n, one in enumerate(GOLDEN)]
)


@given(values_of(events.Event))
def test_every_event_comes_back_from_its_message(event: events.Event) -> None:
    """`decode_event` after `encode_event` gives an equal event."""
    message = CODEC.encode_event(event)
    assert CODEC.decode_event(message) == event
    assert CODEC.write_event(event) == canonical(message)


@given(values_of(events.Event))
def test_every_event_comes_back_from_the_log(event: events.Event) -> None:
    """`restore` after `store` gives an equal event."""
    assert CODEC.restore(*CODEC.store(event)) == event


@given(values_of(commands.Command))
def test_every_command_comes_back_with_the_seat_that_gave_it(command: commands.Command) -> None:
    """The seat is not part of the message; the caller adds it."""
    message = CODEC.encode_command(command)
    assert CODEC.decode_command(message, command.seat) == command
    assert CODEC.write_command(command) == canonical(message)


@settings(max_examples=50)
@given(values_of(LegalCommands))
def test_legal_commands_come_back_from_their_message(legal: LegalCommands) -> None:
    """`decode_legal` after `encode_legal` gives an equal struct."""
    assert CODEC.decode_legal(CODEC.encode_legal(legal)) == legal


@settings(max_examples=30, deadline=None)
@given(values_of(GameView))
def test_every_view_comes_back_from_its_message(view: GameView) -> None:
    """`decode_view` after `encode_view` gives an equal view, a spectator's or a seat's."""
    message = CODEC.encode_view(view)
    assert CODEC.decode_view(message) == view
    assert CODEC.write_view(view) == canonical(message)


@pytest.mark.parametrize("seats", SEATS)
@pytest.mark.parametrize("reader", [0, 1, None])
def test_every_view_of_a_game_comes_back(seats: int, reader: int | None) -> None:
    """A bot sees the same through the API as beside the referee."""
    views = [GAME.view(commit.after, reader) for commit in played("fickle", seats, 0)[::4]]
    assert [CODEC.decode_view(CODEC.encode_view(view)) for view in views] == views


@pytest.mark.parametrize("seats", SEATS)
def test_every_event_and_command_of_a_game_comes_back(seats: int) -> None:
    """From the log, and from the commands that an audit judges again."""
    commits = played("fickle", seats, 0)
    happened = [event for commit in commits for event in commit.events]
    assert [CODEC.restore(*CODEC.store(event)) for event in happened] == happened
    sent = [commit.command for commit in commits if commit.command is not None]
    assert [CODEC.decode_command(CODEC.encode_command(one), one.seat) for one in sent] == sent


@golden
def test_an_event_is_stored_under_its_proto_name_in_these_bytes(event: events.Event, name: str, stored: str) -> None:
    """A released event is never edited: old logs must stay readable."""
    assert CODEC.store(event) == (f"{PACKAGE}.{name}", bytes.fromhex(stored))


@golden
def test_stored_bytes_give_the_event(event: events.Event, name: str, stored: str) -> None:
    """What earlier versions wrote is read as it was meant."""
    assert CODEC.restore(f"{PACKAGE}.{name}", bytes.fromhex(stored)) == event


def test_every_type_of_event_has_golden_bytes() -> None:
    """A new event needs its line above."""
    assert {type(event) for event, _, _ in GOLDEN} == set(get_args(events.Event))


@settings(max_examples=200)
@given(st.sampled_from([name for _, name, _ in GOLDEN]), st.binary(max_size=40))
def test_garbage_is_undecodable_or_exactly_an_event(name: str, payload: bytes) -> None:
    """Bytes that were never stored raise nothing but `Undecodable`, or are the very bytes of some event."""
    assert stored_again(f"{PACKAGE}.{name}", payload) in (None, payload)


@pytest.mark.parametrize(
    ("command", "field"),
    [
        pytest.param(commands_pb2.Command(), "kind", id="no kind"),
        pytest.param(commands_pb2.Command(setup_place={"hotel": 1}), "setup_place.factory", id="no area"),
        pytest.param(commands_pb2.Command(answer_decision={}), "answer_decision.answer", id="no answer"),
        pytest.param(
            commands_pb2.Command(answer_decision={"answer": {"moves": {"moves": [{"kind": 1, "n": 1}]}}}),
            "answer_decision.answer.moves.moves[0].area",
            id="a move from nowhere",
        ),
        pytest.param(
            commands_pb2.Command(answer_decision={"answer": {"stepped_run": {"steps": [{"n": 1}]}}}),
            "answer_decision.answer.stepped_run.steps[0].kind",
            id="a step of nothing",
        ),
    ],
)
def test_a_command_that_cannot_be_read_names_the_field(command: Any, field: str) -> None:
    """`Undecodable.field` is the path that a client needs to find its mistake."""
    with pytest.raises(Undecodable) as raised:
        CODEC.decode_command(command, 0)
    assert raised.value.field == field


def test_an_event_of_no_kind_is_undecodable() -> None:
    """An event of a kind that this version does not know arrives with no kind set."""
    with pytest.raises(Undecodable, match="kind: is not set"):
        CODEC.decode_event(events_pb2.Event())


def stored_again(type_name: str, payload: bytes) -> bytes | None:
    """Return what storing the restored event gives, or None if `payload` is undecodable."""
    try:
        return CODEC.store(CODEC.restore(type_name, payload))[1]
    except Undecodable:
        return None
