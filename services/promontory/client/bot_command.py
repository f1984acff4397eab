"""`promontory bot`: a new bot's file, and a run of one, as people call them."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import msgspec

from promontory.client.asynchronous import AsyncClient
from promontory.client.bot import BotPlan, BotResult, OnEvent, run_bot
from promontory.client.endpoints import EndpointError

STARTER = "starter_bot.py"


class Access(msgspec.Struct, frozen=True):
    """Where to play and as whom: what `promontory up` left in `directory`, unless it is given."""

    directory: Path
    endpoints: str = ""
    token_file: Path | None = None

    def client(self) -> AsyncClient:
        """Return a client. Raises `EndpointError` if nothing says where the platform is."""
        return AsyncClient(self.endpoints or self._local_endpoints(), token=self._token())

    def _local_endpoints(self) -> dict[str, str]:
        file = self.directory / "endpoints.json"
        if not file.exists():
            raise EndpointError(f"found no {file}: run `promontory up` first, or name the platform with --endpoints")
        found: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
        return found

    def _token(self) -> str:
        file = self.token_file or self.directory / "token"
        if not file.exists():
            raise EndpointError(f"found no token in {file}: name a file that holds one with --token-file")
        return file.read_text(encoding="utf-8").strip()


def new(file: Path) -> None:
    """Write a first bot to `file`. Raises `FileExistsError` rather than overwrite one."""
    source = resources.files("promontory.client").joinpath(STARTER).read_text(encoding="utf-8")
    with file.open("x", encoding="utf-8") as target:
        target.write(source)


async def run(file: Path, plan: BotPlan, access: Access, *, on_event: OnEvent) -> BotResult:
    """Play as `plan` says with the bot in `file`; see `run_bot`."""
    async with access.client() as client:
        return await run_bot(client, file, plan, on_event=on_event)
