"""The codec of Transcontinental."""

from __future__ import annotations

from promontory.api.transcontinental.v1 import transcontinental_service_pb2
from promontory.codec.structs import GameStructs, StructCodec
from promontory.games.transcontinental.commands import Command
from promontory.games.transcontinental.events import Event
from promontory.games.transcontinental.legal import LegalCommands
from promontory.games.transcontinental.view import GameView

CODEC = StructCodec(
    transcontinental_service_pb2,
    GameStructs(event=Event, command=Command, legal=LegalCommands, view=GameView),
)
