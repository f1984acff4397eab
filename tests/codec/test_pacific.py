"""Pacific's structs as messages and back."""

from __future__ import annotations

from hypothesis import given, settings

from promontory.codec.pacific import CODEC
from promontory.games.pacific import commands, events
from promontory.games.pacific.legal import LegalCommands
from promontory.games.pacific.view import GameView
from tests.codec.strategies import values_of


@given(values_of(events.Event))
def test_every_event_comes_back_from_its_message(event: events.Event) -> None:
    """`decode_event` after `encode_event` gives an equal event."""
    assert CODEC.decode_event(CODEC.encode_event(event)) == event


@given(values_of(events.Event))
def test_every_event_comes_back_from_the_log(event: events.Event) -> None:
    """`restore` after `store` gives an equal event."""
    assert CODEC.restore(*CODEC.store(event)) == event


@given(values_of(commands.Command))
def test_every_command_comes_back_with_the_seat_that_gave_it(command: commands.Command) -> None:
    """The seat is not part of the message; the caller adds it."""
    assert CODEC.decode_command(CODEC.encode_command(command), command.seat) == command


@settings(max_examples=50)
@given(values_of(LegalCommands))
def test_legal_commands_come_back_from_their_message(legal: LegalCommands) -> None:
    """`decode_legal` after `encode_legal` gives an equal struct."""
    assert CODEC.decode_legal(CODEC.encode_legal(legal)) == legal


@settings(max_examples=30, deadline=None)
@given(values_of(GameView))
def test_every_view_comes_back_from_its_message(view: GameView) -> None:
    """`decode_view` after `encode_view` gives an equal view, a spectator's or a seat's."""
    assert CODEC.decode_view(CODEC.encode_view(view)) == view
