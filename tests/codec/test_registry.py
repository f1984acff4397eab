"""Codecs by the names of their games."""

from __future__ import annotations

import pytest

from promontory.api.transcontinental.v1 import commands_pb2, transcontinental_service_pb2
from promontory.codec.port import Undecodable
from promontory.codec.registry import codec
from promontory.codec.structs import GameStructs, StructCodec
from promontory.games.registry import GAMES, GameEntry, UnknownGameError
from promontory.games.transcontinental.commands import Command
from promontory.games.transcontinental.events import Event, SidesAssigned
from promontory.games.transcontinental.legal import LegalCommands
from promontory.games.transcontinental.view import GameView

OLD_NAME = "promontory.api.transcontinental.v1.TrimHand"


@pytest.mark.parametrize("entry", GAMES, ids=lambda entry: entry.name)
def test_every_game_has_a_codec_for_its_service(entry: GameEntry) -> None:
    """A game in the list of games needs its module in `codec/`."""
    assert codec(entry.name).service.full_name == entry.service


@pytest.mark.parametrize("entry", GAMES, ids=lambda entry: entry.name)
def test_every_codec_knows_the_messages_of_its_service(entry: GameEntry) -> None:
    """Requests and responses come from the module that defines the service."""
    assert codec(entry.name).messages.SubmitCommandRequest.DESCRIPTOR.file.services_by_name


def test_an_unknown_game_has_no_codec() -> None:
    """The name comes from outside, so it is looked up before a module is."""
    with pytest.raises(UnknownGameError, match="no game 'registry'"):
        codec("registry")


def test_an_event_that_is_no_longer_written_is_upcast() -> None:
    """Old logs are read by turning events of an older shape into present ones."""
    old = commands_pb2.TrimHand(card_ids=["x"])
    assert with_an_older_event().restore(OLD_NAME, old.SerializeToString()) == SidesAssigned(1)


def test_an_older_event_may_be_malformed_too() -> None:
    """Upcasting starts only from a whole message."""
    with pytest.raises(Undecodable, match="is malformed"):
        with_an_older_event().restore(OLD_NAME, b"\xff")


def with_an_older_event() -> StructCodec:
    """Return a codec for which a message that is no event stands for an older one."""
    return StructCodec(
        transcontinental_service_pb2,
        GameStructs(event=Event, command=Command, legal=LegalCommands, view=GameView),
        older={OLD_NAME: (commands_pb2.TrimHand, lambda message: SidesAssigned(len(message.card_ids)))},
    )
