"""What a game's codec promises: the game's structs as protobuf messages, there and back."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Protocol

from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message


class Undecodable(Exception):
    """A message that cannot be turned into a struct; `field` is the path of the field, `problem` what is wrong."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class GameCodec(Protocol):
    """Turns one game's structs into messages of its proto package and back.

    `decode_` after `encode_` gives an equal struct, and `write_` the bytes of what `encode_` gives, in the one form in
    which messages are stored. Structs are the game's own (`games/<game>/`), messages those of
    `promontory.api.<game>.v1`.
    """

    @property
    def service(self) -> ServiceDescriptor:
        """The game's gRPC service, for example `promontory.api.transcontinental.v1.TranscontinentalService`."""

    @property
    def messages(self) -> ModuleType:
        """The generated module with the service's request and response messages."""

    def encode_event(self, event: Any) -> Message:
        """Return `event`, possibly redacted, as the package's `Event`."""

    def decode_event(self, message: Any) -> Any:
        """Return the struct of an `Event`. Raises `Undecodable`."""

    def write_event(self, event: Any) -> bytes:
        """Return the bytes of `event`, possibly redacted, as the package's `Event`."""

    def store(self, event: Any) -> tuple[str, bytes]:
        """Return the full proto name and the bytes under which `event` is stored."""

    def restore(self, type_name: str, payload: bytes) -> Any:
        """Return the struct of a stored event, upcast if it is of an older shape. Raises `Undecodable`."""

    def encode_command(self, command: Any) -> Message:
        """Return `command` as the package's `Command`; its seat is not part of it."""

    def write_command(self, command: Any) -> bytes:
        """Return the bytes of `command` as the package's `Command`."""

    def decode_command(self, message: Any, seat: int) -> Any:
        """Return the struct of a `Command` given by `seat`. Raises `Undecodable`."""

    def encode_legal(self, legal: Any) -> Message:
        """Return `legal` as the package's `LegalCommands`."""

    def decode_legal(self, message: Any) -> Any:
        """Return the struct of a `LegalCommands`. Raises `Undecodable`."""

    def encode_view(self, view: Any) -> Message:
        """Return `view` as the package's `GameView`."""

    def write_view(self, view: Any) -> bytes:
        """Return the bytes of `view` as the package's `GameView`."""

    def decode_view(self, message: Any) -> Any:
        """Return the struct of a `GameView`. Raises `Undecodable`."""
