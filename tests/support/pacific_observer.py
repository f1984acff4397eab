"""All that a service of Pacific tells the observer of a pair of worlds, however the service is reached."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, Protocol
from unittest.mock import patch

from promontory.codec.pacific import CODEC
from promontory.games.pacific.commands import Command, SetExplicitRuns
from promontory.rules.domain import SeatSetup, Setup
from promontory.rules.records import setup_message
from promontory.rules.resuming import TOKEN_BYTES
from promontory.runtime import clock
from tests.support.pacific_worlds import PROBED, Pair, World

NAMES = ("ada", "ben", "cyd", "dot", "eli")
SPECTATOR = "eve"
FIRST_MS = 1_767_225_600_000  # 2026-01-01
FORESTALLED = 4
"""How many of its commands the observer submits for versions and seats that are not the right ones."""


class Service(Protocol):
    """A rules service, however it is reached; answers and refusals come as bytes, all that tells anything in them."""

    async def ask(self, who: str, method: str, **fields: Any) -> tuple[bool, bytes]:
        """Return whether the call of `who` succeeded, and what it was answered."""

    def watch(self, who: str, **fields: Any) -> AsyncIterator[bytes]:
        """Yield the messages of a watching stream."""


Told = list[tuple[str, bytes]]
"""What somebody is told, and on what occasion."""


class Observer:
    """Lives through one world of a pair, and keeps all that the pair's observer is told."""

    def __init__(self, service: Service, pair: Pair, world: World) -> None:
        self._service, self._pair, self._script = service, pair, world.script
        self._seat: dict[str, Any] = {} if pair.observer is None else {"seat": pair.observer}
        self._who = SPECTATOR if pair.observer is None else NAMES[pair.observer]
        self._now_ms, self._match_id, self._version = FIRST_MS, "", 1
        self.told: Told = []

    async def live(self) -> Told:
        """Return what the observer is told from the beginning to the end of the world."""
        with patch.object(clock, "now_ms", lambda: self._now_ms):
            await self._create()
            streams = [_Stream(self._watch(**self._seat)), _Stream(self._watch())]
            for number, command in enumerate(self._script):
                await asyncio.gather(*(stream.reaches(self._version) for stream in streams))
                await self._submit(command)
                probe = number - len(self._script) + PROBED
                if probe >= 0:
                    await self._look()
                    await self._try(self._pair.tried[probe - PROBED])
            await self._look_back()
            for stream in streams:
                await stream.reaches(self._version)
                self.told += [("WatchMatch", message) for message in await stream.end()]
        return self.told

    async def _create(self) -> None:
        setup = setup_message(Setup(tuple(map(SeatSetup, NAMES[: self._pair.seats]))))
        _, raw = await self._service.ask("platform", "CreateMatch", request_id="a match", setup=setup)
        self._match_id = CODEC.messages.CreateMatchResponse.FromString(raw).match.match_id

    async def _watch(self, **fields: Any) -> AsyncIterator[bytes]:
        async for message in self._service.watch(self._who, match_id=self._match_id, **fields):
            yield _masked(message)

    async def _submit(self, command: Command) -> None:
        """Submit what comes next; only the observer's own answers are kept."""
        self._now_ms += 1000
        fields = self._submission(command, f"at {self._version}")
        accepted, answer = await self._service.ask(NAMES[command.seat], "SubmitCommand", **fields)
        assert accepted, answer
        self._version += 1
        if command.seat == self._pair.observer:
            self.told.append(("SubmitCommand accepted", answer))

    def _submission(self, command: Command, request_id: str) -> dict[str, Any]:
        commands = [CODEC.encode_command(command)]
        return {"match_id": self._match_id, "seat": command.seat, "commands": commands, "request_id": request_id}

    async def _ask(self, method: str, occasion: str = "", **fields: Any) -> bool:
        fields.setdefault("match_id", self._match_id)
        done, answer = await self._service.ask(self._who, method, **fields)
        self.told.append((f"{method} {occasion}".strip(), answer))
        return done

    async def _look(self) -> None:
        await self._ask("GetMatch", **self._seat)
        await self._ask("GetMatch", "as a spectator")
        await self._ask("ExportMatch")
        for seat in range(self._pair.seats):
            await self._ask("ListLegalCommands", f"of seat {seat}", seat=seat)

    async def _try(self, commands: Sequence[Command]) -> None:
        """Try commands without changing anything: in previews, and what is refused there also in earnest."""
        for number, command in enumerate(commands):
            fields = self._submission(command, f"try {number} at {self._version}")
            previewed = {key: value for key, value in fields.items() if key != "request_id"}
            if not await self._ask("PreviewCommand", **previewed):
                await self._ask("SubmitCommand", "refused", **fields)
            following = CODEC.encode_command(commands[number - 1])
            previewed["commands"] = [*fields["commands"], following]
            await self._ask("PreviewCommand", "of two", **previewed)
        for number, command in enumerate(commands[:FORESTALLED]):
            fields = self._submission(command, f"forestalled {number} at {self._version}")
            for version in (self._version - 1, self._version + 1):
                await self._ask("SubmitCommand", "at another version", **fields, expected_version=version)
            await self._ask(
                "SubmitCommand", "for another seat", **{**fields, "seat": (command.seat + 1) % self._pair.seats}
            )

    async def _look_back(self) -> None:
        """Ask for what was before, list it, submit again what was submitted, and wait for a heartbeat."""
        for version in {1, self._version // 2, max(1, self._version - 1)}:
            await self._ask("GetMatch", "of an earlier version", version=version, **self._seat)
        await self._ask("ListMatchEvents", page_size=500, **self._seat)
        await self._ask("ListMatchEvents", "as a spectator", page_size=500)
        await self._ask("ListMatchEvents", "in pages", page_size=7)
        submitted = enumerate(self._script, start=1)
        own = [(version, command) for version, command in submitted if command.seat == self._pair.observer][-2:]
        for version, command in own:
            await self._ask("SubmitCommand", "again", **self._submission(command, f"at {version}"))
            anew = self._submission(SetExplicitRuns(command.seat, False), f"at {version}")
            await self._ask("SubmitCommand", "with an id of old", **anew)
        async for message in self._watch(after_version=self._version, **self._seat):
            self.told.append(("WatchMatch heartbeat", message))
            break


def _masked(message: bytes) -> bytes:
    """Return a stream's message without the content of its resume token, a keyed hash: it tells only how long it is."""
    token = CODEC.messages.WatchMatchResponse.FromString(message).resume_token
    assert len(token) == TOKEN_BYTES
    return message.replace(token, bytes(TOKEN_BYTES))


class _Stream:
    """Follows a watching stream in a task of its own, and keeps all but heartbeats."""

    def __init__(self, messages: AsyncIterator[bytes]) -> None:
        self._told: list[bytes] = []
        self._came = asyncio.Condition()
        self._task = asyncio.create_task(self._follow(messages))

    async def _follow(self, messages: AsyncIterator[bytes]) -> None:
        async for message in messages:
            if not CODEC.messages.WatchMatchResponse.FromString(message).HasField("heartbeat"):
                async with self._came:
                    self._told.append(message)
                    self._came.notify_all()

    async def reaches(self, count: int) -> None:
        """Wait until `count` messages have come, the first of which is the snapshot of version 1."""
        async with asyncio.timeout(30), self._came:
            await self._came.wait_for(lambda: len(self._told) >= count)

    async def end(self) -> list[bytes]:
        """End the stream, and return its messages."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        return self._told


def differences(told: Told, otherwise: Told) -> list[str]:
    """Return the occasions on which two worlds tell somebody different things, or different numbers of things."""
    found = [first[0] for first, second in zip(told, otherwise, strict=False) if first != second]
    return found if len(told) == len(otherwise) else [*found, "number of messages"]
