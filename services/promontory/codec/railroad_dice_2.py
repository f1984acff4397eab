"""The codec of Railroad Dice 2."""

from __future__ import annotations

from promontory.api.railroad_dice_2.v1 import railroad_dice_2_service_pb2
from promontory.codec.structs import GameStructs, StructCodec
from promontory.games.railroad_dice_2.commands import Command
from promontory.games.railroad_dice_2.events import Event
from promontory.games.railroad_dice_2.legal import LegalCommands
from promontory.games.railroad_dice_2.view import GameView, StationView, TileView, TrackView

CODEC = StructCodec(
    railroad_dice_2_service_pb2,
    GameStructs(
        event=Event, command=Command, legal=LegalCommands, view=GameView, lasting=(TileView, StationView, TrackView)
    ),
)
