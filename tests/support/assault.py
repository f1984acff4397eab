"""A match of any game in which every command is preceded by others that almost are one."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from random import Random
from typing import Any

import msgspec
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from promontory.bots.registry import policy
from promontory.codec.registry import codec
from promontory.games.registry import entry
from tests.support.hostile import METHODS, Attacker
from tests.support.warping import mutant, warped

PLAYERS = ("ada", "ben")
COMMANDS = 30
TRIES = 4


class Given(msgspec.Struct, frozen=True):
    """A submission that was accepted: who made it, the request, and the answer."""

    player: str
    request: bytes
    answer: bytes


class Assault(msgspec.Struct):
    """A match under assault, and what was accepted of the commands that were meant."""

    game: str
    match_id: str
    given: list[Given] = msgspec.field(default_factory=list)


class Assailant:
    """Plays both seats of a match, and tries much else before each command."""

    def __init__(self, attacker: Attacker, assault: Assault) -> None:
        self._attacker, self._assault = attacker, assault
        self._codec, self._random = codec(assault.game), Random(assault.game)
        self._choose = policy(entry(assault.game).load(), "random")

    async def play(self) -> None:
        """Play so many commands, each by a seat that is to act then."""
        for number in range(COMMANDS):
            match, _ = await self._look(None)
            for seat in match.seats_to_act[:1]:
                _, view = await self._look(seat)
                await self._give(seat, self._codec.encode_command(self._choose(view, self._random)), f"{number}")

    async def _look(self, seat: int | None) -> tuple[Any, Any]:
        who = self._attacker.player(PLAYERS[seat or 0])
        name, match_id = f"{self._assault.game}.GetMatch", self._assault.match_id
        shown = await self._attacker.call(name, who, match_id=match_id, seat=seat)
        return shown.match, self._codec.decode_view(shown.view)

    async def _give(self, seat: int, command: Any, request_id: str) -> None:
        fields = {"match_id": self._assault.match_id, "seat": seat, "commands": [command]}
        preview, meant = self._request("PreviewCommand", **fields), self._request("SubmitCommand", **fields)
        tries = [warped(preview, self._random).SerializeToString() for _ in range(TRIES)]
        tries += [mutant(preview.SerializeToString(), self._random) for _ in range(TRIES)]
        await asyncio.gather(*(self._attempt("PreviewCommand", seat, request) for request in tries))
        meant.request_id = request_id
        await self._submit(seat, mutant(meant.SerializeToString(), self._random))
        answer = await self._submit(seat, meant.SerializeToString())
        if answer is not None:
            self._assault.given.append(Given(PLAYERS[seat], meant.SerializeToString(), answer))

    async def _submit(self, seat: int, request: bytes) -> bytes | None:
        """Submit `request` unless it would end the match; return the answer, or None if there is none."""
        with suppress(DecodeError):
            if any(
                command.HasField("resign") for command in self._request("SubmitCommand").FromString(request).commands
            ):
                return None
        answer = await self._attempt("SubmitCommand", seat, request)
        return answer if isinstance(answer, bytes) else None

    def _request(self, method: str, **fields: Any) -> Any:
        return GetMessageClass(METHODS[f"{self._assault.game}.{method}"].input_type)(**fields)

    async def _attempt(self, method: str, seat: int, request: bytes) -> Any:
        who = self._attacker.player(PLAYERS[seat])
        return await self._attacker.attempt(f"{self._assault.game}.{method}", request, who)


async def assail(attacker: Attacker, game: str, request_id: str) -> Assault:
    """Play a match under assault, and have a seat give it up if it is not over then."""
    assault = Assault(game, await attacker.new_match(request_id, *PLAYERS, game=game))
    await Assailant(attacker, assault).play()
    resignation = {"match_id": assault.match_id, "seat": 0, "request_id": "resignation"}
    request = GetMessageClass(METHODS[f"{game}.Resign"].input_type)(**resignation)
    await attacker.attempt(f"{game}.Resign", request.SerializeToString(), attacker.player(PLAYERS[0]))
    return assault
