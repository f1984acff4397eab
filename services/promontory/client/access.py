"""Where the commands of `promontory` find the platform, and as whom they come."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from promontory.client.asynchronous import AsyncClient
from promontory.client.connection import Token
from promontory.client.endpoints import EndpointError
from promontory.client.outages import Outage, Recovery
from promontory.client.places import ENDPOINTS_FILE, TOKEN_FILE

UP_HINT = "is `promontory up` running?"


class Access(msgspec.Struct, frozen=True):
    """Where to play and as whom: what `promontory up` left in `directory`, unless it is given.

    `tell` is given a line when nothing answers there for a while, and when something does again.
    """

    directory: Path
    endpoints: str = ""
    token_file: Path | None = None
    tell: Callable[[str], None] | None = None

    def client(self, *, token: Token | None = None) -> AsyncClient:
        """Return a client, with another `token` if one is given.

        Raises `EndpointError` if nothing says where the platform is, or there is no token.
        """
        endpoints = self.endpoints or self.local_endpoints()
        token = token or TokenFile(self.token_file or self.directory / TOKEN_FILE)
        return AsyncClient(endpoints, token=token, on_outage=self._on_outage)

    def local_endpoints(self) -> Mapping[str, str]:
        """Return the addresses that `promontory up` left. Raises `EndpointError` if there are none."""
        file = self.directory / ENDPOINTS_FILE
        if not file.exists():
            raise EndpointError(f"found no {file}: run `promontory up` first, or name the platform with --endpoints")
        try:
            return msgspec.json.decode(file.read_bytes(), type=dict[str, str])
        except msgspec.MsgspecError as error:
            raise EndpointError(f"{file} does not list the services' addresses ({error})") from error

    def _on_outage(self, event: Outage | Recovery) -> None:
        if isinstance(event, Outage) and not self.endpoints:
            event = msgspec.structs.replace(event, hint=UP_HINT)
        if self.tell is not None:
            self.tell(str(event))


class TokenFile:
    """Gives the token that is in a file now, so that one that is renewed there takes effect in the next call.

    While the file is gone or empty, as it may be when it is being renewed, it gives the last one.
    """

    def __init__(self, file: Path) -> None:
        """Raise `EndpointError` if there is no token in `file`."""
        self._file = file
        self._last = ""
        if not self():
            raise EndpointError(f"found no token in {file}: name a file that holds one with --token-file")

    def __call__(self) -> str:
        """Return the token."""
        with suppress(FileNotFoundError):
            self._last = self._file.read_text(encoding="utf-8").strip() or self._last
        return self._last
