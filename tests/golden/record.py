"""`python -m tests.golden.record [GAME/NAME...]`: record matches of the recipes for good, by default all missing ones.

A recorded match is never written again, because every later version must replay it to the same result: a rule that
changes gets a new rules version, and a new recipe. To add a match, add a recipe under a new name, run this, and look at
what it wrote: `promontory audit tests/golden/GAME/NAME.jsonl`.

The matches are played by the real rules service, over gRPC, on a log in memory. Seeds, keys, times and ids follow from
the recipe's name: recording it again elsewhere gives the same bytes, as long as rules and policies are the same.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from unittest.mock import patch

import grpc
import structlog

from promontory.eventlog.memory import MemoryEventLog
from promontory.rules.domain import awaiting_after, nobody
from promontory.rules.main import compose
from promontory.rules.seal import create_seal_key
from promontory.runtime import clock
from promontory.runtime.settings import RulesSettings
from tests.golden.recipes import RECIPES, Aside, Recipe, one_by_one
from tests.support.refereeing import ruleset
from tests.support.rules_servers import Client, as_platform, as_player
from tests.support.serving import Keys, create_keys, served

DIRECTORY = Path(__file__).parent
FIRST_MS = 1_767_225_600_000  # 2026-01-01
MS_BETWEEN_SUBMISSIONS = 2_500


class Key(NamedTuple):
    """A match's game, and its name among the matches of that game."""

    game: str
    name: str


class Time:
    """The log's time, in ms since the epoch: it goes on only when it is told to."""

    def __init__(self) -> None:
        self._now_ms = FIRST_MS

    def __call__(self) -> int:
        return self._now_ms

    def go_on(self, ms: int = MS_BETWEEN_SUBMISSIONS) -> None:
        """Let the time pass that lies between two submissions, or `ms`."""
        self._now_ms += ms

    @contextmanager
    def standing(self) -> Iterator[None]:
        """Make this the time of the processes in this one."""
        with patch.object(clock, "now_ms", self):
            yield


class Table:
    """One recipe being played; of several seats that are to act any one is next."""

    def __init__(self, key: Key, channel: grpc.aio.Channel, keys: Keys, time: Time) -> None:
        self.recipe: Recipe = RECIPES[key.game][key.name]
        self._game, self._name, self._random, self._time = key.game, key.name, Random(key.name), time
        self._order = Random(f"order {key.name}")
        self._codec = ruleset(key.game).codec
        self._platform = Client(channel, as_platform(keys), game=key.game)
        self._clients = [
            self._platform if seat.is_house_bot else Client(channel, as_player(keys, seat.player_id), game=key.game)
            for seat in self.recipe.setup.seats
        ]
        self._automatic = self.recipe.automatic
        self._awaiting = nobody(len(self._clients))

    async def play(self) -> bytes:
        """Play the match to its end, and return its audit file."""
        match_id = await self._platform.create(f"golden {self._name}", self.recipe.setup)
        match = await self._match(match_id, actor=None)
        while not match.HasField("outcome"):
            self._time.go_on()
            seat = self._order.choice(match.seats_to_act)
            await self._submit(match, seat)
            match = await self._match(match_id, actor=seat)
        return await self._clients[1].export(match_id)

    async def _match(self, match_id: str, *, actor: int | None) -> Any:
        match = (await self._platform.call("GetMatch", match_id=match_id)).match
        self._awaiting = awaiting_after(self._awaiting, match.seats_to_act, version=match.version, actor=actor)
        return match

    async def _submit(self, match: Any, seat: int) -> None:
        request_id = f"golden-{match.version}"
        if self._automatic and self.recipe.setup.seats[seat].is_house_bot:
            self._automatic -= 1
            await self._platform.call(
                "PlayAutomatically",
                match_id=match.match_id,
                seat=seat,
                since_version=self._awaiting[seat],
                request_id=request_id,
            )
            return
        stand_in = match.seats[seat].stand_in_policy
        client = self._platform if stand_in else self._clients[seat]
        choose = one_by_one(self._game, stand_in) if stand_in else self.recipe.seats[seat]
        answer = await client.call("GetMatch", match_id=match.match_id, seat=seat)
        chosen = choose(self._codec.decode_view(answer.view), self._random)
        if isinstance(chosen[0], Aside):
            await self._aside(match, chosen)
        else:
            await client.submit(match.match_id, *chosen, request_id=request_id, expected=match.version)

    async def _aside(self, match: Any, asides: Sequence[Aside]) -> None:
        for number, aside in enumerate(asides):
            self._time.go_on(aside.pause_ms)
            client = self._platform if aside.seat is None else self._clients[aside.seat]
            fields: dict[str, Any] = {} if aside.seat is None else {"seat": aside.seat}
            if aside.seat is not None:
                fields["request_id"] = f"golden-{match.version}-{number}"
            if aside.note:
                fields |= {"note": aside.note, "request_id": f"golden-{match.version}-{number}"}
            if aside.ending:
                fields["ending"] = aside.ending
            await client.call(aside.method, match_id=match.match_id, **fields)


async def recorded(key: Key, directory: Path) -> bytes:
    """Return the audit file of the match of a recipe; the keys of its service get into `directory`."""
    name, keys, time = key.name, create_keys(directory), Time()
    with time.standing(), patch.object(secrets, "token_bytes", lambda size=32: _bytes(f"seal {name}", size)):
        create_seal_key(directory / "seal.key")
        settings = RulesSettings(seal_key_file=directory / "seal.key")
        service = compose(ruleset(key.game), MemoryEventLog(clock=time), settings, seed=lambda: _bytes(name, 32))
        async with served(service.servicers, keys) as address, grpc.aio.insecure_channel(address) as channel:
            raw = await Table(key, channel, keys, time).play()
    for coroutine in service.beside:
        coroutine.close()
    return raw


def _bytes(name: str, size: int) -> bytes:
    return hashlib.shake_256(f"promontory golden {name}".encode()).digest(size)


def main(keys: Sequence[Key]) -> None:
    """Record matches, or all that are missing. Raises `FileExistsError` for one that is there."""
    for key in keys or [key for key in all_keys() if not file_of(key).exists()]:
        file_of(key).parent.mkdir(exist_ok=True)
        with file_of(key).open("xb") as file, tempfile.TemporaryDirectory() as directory:
            raw = asyncio.run(recorded(key, Path(directory)))
            file.write(raw)
        sys.stdout.write(f"{file.name}: {len(raw)} bytes\n")


def all_keys() -> list[Key]:
    """Return all matches there are recipes for."""
    return [Key(game, name) for game, recipes in RECIPES.items() for name in recipes]


def file_of(key: Key) -> Path:
    """Return the file of a match."""
    return DIRECTORY / key.game / f"{key.name}.jsonl"


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    main([Key(*argument.split("/")) for argument in sys.argv[1:]])
