"""The codec of Pacific."""

from __future__ import annotations

from promontory.api.pacific.v1 import pacific_service_pb2
from promontory.codec.structs import GameStructs, StructCodec
from promontory.games.pacific.commands import Command
from promontory.games.pacific.events import Event
from promontory.games.pacific.legal import LegalCommands
from promontory.games.pacific.state import PastTurn
from promontory.games.pacific.tokens import Tokens
from promontory.games.pacific.view import GameView

CODEC = StructCodec(
    pacific_service_pb2,
    GameStructs(event=Event, command=Command, legal=LegalCommands, view=GameView, lasting=(PastTurn, Tokens)),
)
