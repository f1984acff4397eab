"""Railroad Dice 2's structs as messages and back, and the bytes under which its events are stored."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promontory.api.railroad_dice_2.v1 import commands_pb2, events_pb2, view_pb2
from promontory.codec.port import Undecodable
from promontory.codec.railroad_dice_2 import CODEC
from promontory.codec.stored import canonical
from promontory.games.railroad_dice_2 import commands, events
from promontory.games.railroad_dice_2.legal import LegalCommands
from promontory.games.railroad_dice_2.view import GameView
from promontory.games.railroad_dice_2.vocabulary import DieKind, EndReason, EndTrigger, RestockCause, Square
from tests.codec.strategies import values_of
from tests.support.railroad_dice_2_play import GAMES, SEATS, events_of, played

PACKAGE = "promontory.api.railroad_dice_2.v1"

GOLDEN = [
    (events.StartPlayerDrawn(3), "StartPlayerDrawn", "0803"),
    (events.TilePlaced(None, "T1", Square(0, 0), 0), "TilePlaced", "120254311a00"),
    (events.TilePlaced(0, "T4", Square(-4, 8), 3), "TilePlaced", "0800120254341a0d08fcffffffffffffffff0110082003"),
    (events.LayoutFixed(Square(4, 0)), "LayoutFixed", "0a020804"),
    (events.HomePlaced(1, Square(5, 2)), "HomePlaced", "0801120408051002"),
    (events.GrayPlaced(0, Square(0, 6)), "GrayPlaced", "12021006"),
    (events.GrayPlacementEnded(2), "GrayPlacementEnded", "0802"),
    (
        events.PassengersPlaced((events.TilePassengers("T1", 10), events.TilePassengers("T2", 5))),
        "PassengersPlaced",
        "0a060a025431100a0a060a0254321005",
    ),
    (events.TurnStarted(1, 2), "TurnStarted", "08011002"),
    (
        events.DiceRolled(
            1, 300, (events.HandDie(1, DieKind.SIMPLE, "curve"), events.HandDie(2, DieKind.COMPLEX, "question"))
        ),
        "DiceRolled",
        "080110ac021a0b080110011a0563757276651a0e080210021a087175657374696f6e",
    ),
    (events.ComplexTaken(0, 1, "wye"), "ComplexTaken", "10011a03777965"),
    (
        events.DiePlaced(2, 1, DieKind.SIMPLE, "straight", 1, Square(3, 1), cost=2),
        "DiePlaced",
        "0802100118012208737472616967687428013204080310013802",
    ),
    (
        events.DiePlaced(
            0,
            2,
            DieKind.COMPLEX,
            "crossing",
            0,
            Square(0, 0),
            cost=0,
            returned=events.HandDie(5, DieKind.SIMPLE, "curve", fixed=True),
        ),
        "DiePlaced",
        "10021802220863726f7373696e673200420d080510011a0563757276652001",
    ),
    (events.Linked(1, Square(9, 1), 0), "Linked", "0801120408091001"),
    (events.IncomePaid(0, Square(9, 1), 5), "IncomePaid", "1204080910011805"),
    (events.LocomotiveFaceUsed(1, 3, "T5"), "LocomotiveFaceUsed", "080110031a025435"),
    (
        events.Restocked(1, RestockCause.EMPTY_TILES, (events.TilePassengers("T5", 5),)),
        "Restocked",
        "080110031a060a0254351005",
    ),
    (events.DiceReturned(2, (1, 4)), "DiceReturned", "080212020104"),
    (events.LocomotiveBought(0, 4, 15), "LocomotiveBought", "1004180f"),
    (events.LocomotivesScrapped(2, (1, 2, 0, 2)), "LocomotivesScrapped", "0802120401020002"),
    (
        events.PassengersMoved(0, Square(9, 1), "T3", 3, count=2, tiles=3),
        "PassengersMoved",
        "1204080910011a025433200328023003",
    ),
    (events.EndTriggered((EndTrigger.ALL_STATIONS, EndTrigger.STALL)), "EndTriggered", "0a020105"),
    (events.FinalRefill((events.TilePassengers("T1", 5),)), "FinalRefill", "0a060a0254311005"),
    (events.TurnEnded(37, 1, auto=True, stalled=2, idle=1), "TurnEnded", "08251001180120022801"),
    (events.SeatResigned(1), "SeatResigned", "0801"),
    (events.GameOver(EndReason.IDLE_ROUND, (61, 0, 40), (1, 3, 2)), "GameOver", "080212033d00281a03010302"),
]
"""An event of each type, and the name and the bytes (hex) under which it is stored: these may never change."""

golden = pytest.mark.parametrize(
    ("event", "name", "stored"), GOLDEN, ids=[f"{n}-{one[1]}" for n, one in enumerate(GOLDEN)]
)
whole_games = pytest.mark.parametrize(
    ("layout", "seats"), [(layout, seats) for layout in GAMES for seats in SEATS], ids=str
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


@whole_games
@pytest.mark.parametrize("reader", [0, 1, None])
def test_every_view_of_a_game_comes_back(layout: str, seats: int, reader: int | None) -> None:
    """A bot sees the same through the API as beside the referee."""
    views = [GAMES[layout].view(commit.after, reader) for commit in played("builder", layout, seats, 0)[::8]]
    assert [CODEC.decode_view(CODEC.encode_view(view)) for view in views] == views


@whole_games
def test_every_event_and_command_of_a_game_comes_back(layout: str, seats: int) -> None:
    """From the log, and from the commands that an audit judges again."""
    commits = played("builder", layout, seats, 0)
    happened = events_of(commits)
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
        pytest.param(commands_pb2.Command(place_tile={"tile_id": "T1"}), "place_tile.square", id="a tile nowhere"),
        pytest.param(commands_pb2.Command(place_home={}), "place_home.square", id="a home nowhere"),
        pytest.param(commands_pb2.Command(take_complex={"face": "wye"}), "take_complex.square", id="a die nowhere"),
        pytest.param(
            commands_pb2.Command(build={"steps": [{"die": 1, "square": {"x": 1}}, {"die": 2}]}),
            "build.steps[1].square",
            id="a step nowhere",
        ),
        pytest.param(commands_pb2.Command(transport={"count": 1}), "transport.station", id="from nowhere"),
    ],
)
def test_a_command_that_cannot_be_read_names_the_field(command: Any, field: str) -> None:
    """`Undecodable.field` is the path that a client needs to find its mistake."""
    with pytest.raises(Undecodable) as raised:
        CODEC.decode_command(command, 0)
    assert raised.value.field == field


def test_the_square_in_the_corner_is_not_mistaken_for_none() -> None:
    """[Railroad Dice 2 1.1] (0,0) is a square like any other; its message is empty, but set."""
    command = commands_pb2.Command(place_home={"square": {}})
    assert CODEC.decode_command(command, 2) == commands.PlaceHome(2, Square(0, 0))


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        pytest.param(events_pb2.Event(), "kind: is not set", id="no kind"),
        pytest.param(
            events_pb2.Event(die_placed={"square": {}, "kind": 3}),
            "die_placed.kind: has the unknown value 3",
            id="an unknown kind of die",
        ),
        pytest.param(events_pb2.Event(restocked={}), "restocked.cause: is not set", id="no cause"),
        pytest.param(
            events_pb2.Event(end_triggered={"reasons": [1, 0]}),
            r"end_triggered.reasons\[1\]: is not set",
            id="no reason",
        ),
    ],
)
def test_an_event_that_is_none_of_this_version_is_undecodable(event: Any, problem: str) -> None:
    """An event of a kind that this version does not know arrives with no kind set."""
    with pytest.raises(Undecodable, match=problem):
        CODEC.decode_event(event)


def test_a_view_without_its_turn_is_undecodable() -> None:
    """A field that is neither repeated nor optional must be there."""
    with pytest.raises(Undecodable, match="turn: is not set"):
        CODEC.decode_view(view_pb2.GameView(phase=1))


def stored_again(type_name: str, payload: bytes) -> bytes | None:
    """Return what storing the restored event gives, or None if `payload` is undecodable."""
    try:
        return CODEC.store(CODEC.restore(type_name, payload))[1]
    except Undecodable:
        return None
