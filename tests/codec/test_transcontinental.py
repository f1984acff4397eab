"""Transcontinental's structs as messages and back, and the bytes under which its events are stored."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promontory.api.transcontinental.v1 import commands_pb2, events_pb2, view_pb2
from promontory.codec.port import Undecodable
from promontory.codec.stored import canonical
from promontory.codec.transcontinental import CODEC
from promontory.games.transcontinental import commands, events
from promontory.games.transcontinental.legal import LegalCommands
from promontory.games.transcontinental.view import GameView
from promontory.games.transcontinental.vocabulary import EndReason, MeldKind, Phase, Side, Source
from tests.bots.worlds import position
from tests.codec.strategies import values_of
from tests.support.transcontinental import GAME

PACKAGE = "promontory.api.transcontinental.v1"

GOLDEN = [
    (events.SidesAssigned(1), "SidesAssigned", "0801"),
    (events.DeckShuffled(1, 2, ("filling", "cutting")), "DeckShuffled", "080110021a0766696c6c696e671a0763757474696e67"),
    (events.HandsDealt(("filling",), ("cutting",)), "HandsDealt", "0a0766696c6c696e67120763757474696e67"),
    (events.TurnStarted(300, Side.UP), "TurnStarted", "08ac021002"),
    (events.CardDrawn(Side.CP, Source.DISCARD, "filling"), "CardDrawn", "080110021a0766696c6c696e67"),
    (
        events.MeldPlayed(Side.UP, ("filling", "cutting"), (MeldKind.RAIL, MeldKind.RAIL_LINE), 4, 10),
        "MeldPlayed",
        "0802120766696c6c696e67120763757474696e671a0202052004280a",
    ),
    (events.WorkEnded(Side.CP, 0), "WorkEnded", "0801"),
    (events.HandRefilled(Side.UP, 1, ("filling",)), "HandRefilled", "080210011a0766696c6c696e67"),
    (
        events.CardsDiscarded(Side.CP, Phase.LOGISTICS, ("filling",)),
        "CardsDiscarded",
        "080110041a0766696c6c696e67",
    ),
    (events.TurnEnded(5, Side.UP, 3), "TurnEnded", "080510021803"),
    (events.GameOver(EndReason.NO_PROGRESS, None, 17, 17), "GameOver", "080218112011"),
]
"""An event of each type, and the name and the bytes (hex) under which it is stored: these may never change."""


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


@settings(max_examples=50)
@given(values_of(GameView))
def test_every_view_comes_back_from_its_message(view: GameView) -> None:
    """`decode_view` after `encode_view` gives an equal view, a spectator's or a seat's."""
    message = CODEC.encode_view(view)
    assert CODEC.decode_view(message) == view
    assert CODEC.write_view(view) == canonical(message)


@pytest.mark.parametrize("seat", [0, 1, None])
@pytest.mark.parametrize("decisions", range(0, 120, 8))
def test_every_view_of_a_game_comes_back(decisions: int, seat: int | None) -> None:
    """A bot sees the same through the API as beside the referee."""
    view = GAME.view(position(1, decisions=decisions), seat)
    assert CODEC.decode_view(CODEC.encode_view(view)) == view


@pytest.mark.parametrize(("event", "name", "stored"), GOLDEN, ids=[name for _, name, _ in GOLDEN])
def test_an_event_is_stored_under_its_proto_name_in_these_bytes(event: events.Event, name: str, stored: str) -> None:
    """A released event is never edited: old logs must stay readable."""
    assert CODEC.store(event) == (f"{PACKAGE}.{name}", bytes.fromhex(stored))


@pytest.mark.parametrize(("event", "name", "stored"), GOLDEN, ids=[name for _, name, _ in GOLDEN])
def test_stored_bytes_give_the_event(event: events.Event, name: str, stored: str) -> None:
    """What earlier versions wrote is read as it was meant."""
    assert CODEC.restore(f"{PACKAGE}.{name}", bytes.fromhex(stored)) == event


def test_every_type_of_event_has_golden_bytes() -> None:
    """A new event needs its line above."""
    assert {type(event) for event, _, _ in GOLDEN} == set(get_args(events.Event))


@settings(max_examples=300)
@given(st.sampled_from([name for _, name, _ in GOLDEN]), st.binary(max_size=40))
def test_garbage_is_undecodable_or_exactly_an_event(name: str, payload: bytes) -> None:
    """Bytes that were never stored raise nothing but `Undecodable`, or are the very bytes of some event."""
    assert stored_again(f"{PACKAGE}.{name}", payload) in (None, payload)


@pytest.mark.parametrize(
    ("name", "payload"),
    [
        pytest.param("TurnStarted", "ff", id="broken off"),
        pytest.param("TurnStarted", "0801", id="without a side"),
        pytest.param("TurnStarted", "08011009", id="an unknown side"),
        pytest.param("TurnStarted", "0801100150", id="a tag without a value"),
        pytest.param("TurnStarted", "080110015001", id="a field of a later version"),
        pytest.param("TurnStarted", "10010801", id="fields in another order"),
        pytest.param("MeldPlayed", "08011a0109", id="an unknown kind of meld"),
        pytest.param("CardDrawn", "080110011a02c328", id="text that is no text"),
        pytest.param("Command", "1a00", id="no event"),
        pytest.param("MatchVanished", "", id="an unknown name"),
    ],
)
def test_what_cannot_be_restored_says_so(name: str, payload: str) -> None:
    """Nothing of a stored event is lost or guessed."""
    with pytest.raises(Undecodable):
        CODEC.restore(f"{PACKAGE}.{name}", bytes.fromhex(payload))


@pytest.mark.parametrize(
    ("command", "field"),
    [
        pytest.param(commands_pb2.Command(), "kind", id="no kind"),
        pytest.param(commands_pb2.Command(draw_card={}), "draw_card.source", id="no source"),
        pytest.param(commands_pb2.Command.FromString(b"\x0a\x02\x08\x07"), "draw_card.source", id="unknown source"),
        pytest.param(commands_pb2.DrawCard(), f"{PACKAGE}.Command", id="another message"),
    ],
)
def test_a_command_that_cannot_be_read_names_the_field(command: Any, field: str) -> None:
    """`Undecodable.field` is the path that a client needs to find its mistake."""
    with pytest.raises(Undecodable) as raised:
        CODEC.decode_command(command, 0)
    assert raised.value.field == field


def test_a_fault_deep_in_a_view_is_named_by_its_path() -> None:
    """Paths go through nested and repeated messages."""
    view: Any = CODEC.encode_view(a_view())
    view.legal.melds.add(card_ids=["filling"], kinds=[1, 0])
    with pytest.raises(Undecodable, match=r"legal\.melds\[0\]\.kinds\[1\]: is not set"):
        CODEC.decode_view(view)


def test_a_view_without_a_standing_is_undecodable() -> None:
    """Messages that a struct needs must be set."""
    view: Any = CODEC.encode_view(a_view())
    view.ClearField("cp")
    with pytest.raises(Undecodable, match="cp: is not set"):
        CODEC.decode_view(view)


def test_an_event_of_no_kind_is_undecodable() -> None:
    """An event of a kind that this version does not know arrives with no kind set."""
    with pytest.raises(Undecodable, match="kind: is not set"):
        CODEC.decode_event(events_pb2.Event())


def test_a_message_may_carry_fields_of_a_later_version() -> None:
    """On the wire, unlike in the log, what a newer server adds is ignored."""
    encoded = CODEC.encode_view(a_view()).SerializeToString() + b"\xfa\x3f\x01x"
    assert CODEC.decode_view(view_pb2.GameView.FromString(encoded)) == a_view()


def a_view() -> GameView:
    """Return a view that is as easy to read as possible."""
    return CODEC.decode_view(
        view_pb2.GameView(phase=1, active=1, cp={"total": 1}, up={"hand_size": 10}, seat=0, side=1, legal={})
    )


def stored_again(type_name: str, payload: bytes) -> bytes | None:
    """Return what storing the restored event gives, or None if `payload` is undecodable."""
    try:
        return CODEC.store(CODEC.restore(type_name, payload))[1]
    except Undecodable:
        return None
