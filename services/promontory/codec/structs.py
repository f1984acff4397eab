"""The codec of a game whose structs and messages have the same shape: nothing but the two lists of types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import msgspec
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from promontory.codec.mapping import StructMapping, kinds_of, options_of
from promontory.codec.port import Undecodable
from promontory.codec.stored import parse

Upcast = tuple[type[Message], Callable[[Any], Any]]
"""The message type of an event that is no longer written, and what makes a present struct of one."""


class GameStructs(msgspec.Struct, frozen=True):
    """A game's struct types: `event` and `command` are unions.

    `lasting` are those in views that are the same in many of them.
    """

    event: Any
    command: Any
    legal: type
    view: type
    lasting: tuple[type, ...] = ()


class StructCodec:
    """A `GameCodec` that maps structs to the messages `Event`, `Command`, `LegalCommands` and `GameView`."""

    def __init__(
        self, messages: ModuleType, structs: GameStructs, *, older: Mapping[str, Upcast] | None = None
    ) -> None:
        """Match the game's `structs` with the package of `messages`, its service's module.

        `older` are the stored events that are no longer written, by full proto name. Raises `TypeError` if structs
        and messages do not match.
        """
        self.messages = messages
        self.service: ServiceDescriptor = messages.DESCRIPTOR.services_by_name.values()[0]
        self._events = StructMapping(structs.event, _message_type(messages, "Event"))
        self._commands = StructMapping(structs.command, _message_type(messages, "Command"), given=("seat",))
        self._legal = StructMapping(structs.legal, _message_type(messages, "LegalCommands"))
        self._view = StructMapping(structs.view, _message_type(messages, "GameView"), lasting=structs.lasting)
        self._stored = _stored_mappings(structs.event, self._events.message_type)
        self._restored = {mapping.name: mapping for mapping in self._stored.values()}
        self._older = older or {}

    def encode_event(self, event: Any) -> Message:
        """Return `event`, possibly redacted, as the package's `Event`."""
        return self._events.encode(event)

    def decode_event(self, message: Any) -> Any:
        """Return the struct of an `Event`. Raises `Undecodable`."""
        return self._events.decode(message)

    def write_event(self, event: Any) -> bytes:
        """Return the bytes of `event`, possibly redacted, as the package's `Event`."""
        return self._events.write(event)

    def store(self, event: Any) -> tuple[str, bytes]:
        """Return the full proto name and the bytes under which `event` is stored."""
        mapping = self._stored[type(event)]
        return mapping.name, mapping.write(event)

    def restore(self, type_name: str, payload: bytes) -> Any:
        """Return the struct of a stored event, upcast if it is of an older shape. Raises `Undecodable`.

        Bytes that `store` would not write are refused, so nothing of an event written by newer code is lost silently.
        """
        mapping = self._restored.get(type_name)
        if mapping is None:
            return self._upcast(type_name, payload)
        return mapping.restore(payload)

    def _upcast(self, type_name: str, payload: bytes) -> Any:
        if type_name not in self._older:
            raise Undecodable(type_name, "is no event of this game")
        message_type, upcast = self._older[type_name]
        return upcast(parse(message_type, payload))

    def encode_command(self, command: Any) -> Message:
        """Return `command` as the package's `Command`; its seat is not part of it."""
        return self._commands.encode(command)

    def write_command(self, command: Any) -> bytes:
        """Return the bytes of `command` as the package's `Command`."""
        return self._commands.write(command)

    def decode_command(self, message: Any, seat: int) -> Any:
        """Return the struct of a `Command` given by `seat`. Raises `Undecodable`."""
        return self._commands.decode(message, seat=seat)

    def encode_legal(self, legal: Any) -> Message:
        """Return `legal` as the package's `LegalCommands`."""
        return self._legal.encode(legal)

    def decode_legal(self, message: Any) -> Any:
        """Return the struct of a `LegalCommands`. Raises `Undecodable`."""
        return self._legal.decode(message)

    def encode_view(self, view: Any) -> Message:
        """Return `view` as the package's `GameView`."""
        return self._view.encode(view)

    def write_view(self, view: Any) -> bytes:
        """Return the bytes of `view` as the package's `GameView`."""
        return self._view.write(view)

    def decode_view(self, message: Any) -> Any:
        """Return the struct of a `GameView`. Raises `Undecodable`."""
        return self._view.decode(message)


def _message_type(messages: ModuleType, name: str) -> type[Message]:
    descriptor = messages.DESCRIPTOR
    return GetMessageClass(descriptor.pool.FindMessageTypeByName(f"{descriptor.package}.{name}"))


def _stored_mappings(events: Any, message_type: type[Message]) -> dict[type, StructMapping]:
    """Return a mapping for each type of event alone, without the oneof around it."""
    descriptor: Any = message_type.DESCRIPTOR
    kinds = kinds_of(descriptor)
    return {event: StructMapping(event, GetMessageClass(kinds[event.__name__][1])) for event in options_of(events)}
