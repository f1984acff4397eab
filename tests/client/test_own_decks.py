"""Matches with an operator's own deck, by the SDK: each keeps its deck, whatever the service is started with later."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from random import Random
from typing import Any

import grpc
import pytest

from promontory import Client, FailedPrecondition
from promontory.bots.registry import policy
from promontory.client.seats import Seat
from promontory.client.stubs import Stub
from promontory.codec.registry import codec
from promontory.games.pacific.cards import shipped_deck
from promontory.rules.audit import audit, shipped_rulesets
from promontory.rules.domain import SeatSetup, Setup
from promontory.runtime.identity import PLAYER_SCOPES
from tests.client.conftest import HASTY
from tests.client.hall import play
from tests.client.installation import Installation, SeatsOf
from tests.support.own_decks import TITLE, digest, level_deck, own_deck
from tests.support.serving import TOKEN_LIFE, Keys, reason_of

PACIFIC = codec("pacific")
PLAYERS = ("ada", "bob", "cyd")
TABLE = Setup(tuple(map(SeatSetup, PLAYERS)))
OWN, LEVEL, SHIPPED = own_deck(), level_deck(), shipped_deck()


@pytest.fixture
def installation(keys: Keys) -> Installation:
    return Installation(keys, "pacific", PLAYERS)


@pytest.fixture
async def seats(installation: Installation) -> AsyncIterator[SeatsOf]:
    async with installation.seated() as of:
        yield of


async def begin(seats: Sequence[Seat]) -> None:
    """Have every seat answer once."""
    for seated in seats:
        update = await seated.look()
        await seated.submit(policy(await seated.rules(), "random")(update.view, Random(1)))


async def play_out(seats: Sequence[Seat]) -> bytes:
    """Play a match to its end and return its audit file."""
    await asyncio.gather(*(play(seated, []) for seated in seats))
    return await seats[0].export()


async def first_card(seated: Seat) -> str:
    """Return what the first card is called, the one that an own deck changes, in the seat's match."""
    game: Any = await seated.rules()
    name: str = game.deck.cards[0].name
    return name


async def test_a_match_goes_on_with_its_deck_while_new_ones_get_the_first(
    installation: Installation, seats: Callable[[str], Sequence[Seat]]
) -> None:
    """[PROMONTORY_DATA_FILES] A restart with other files changes nothing for the matches that there are."""
    async with installation.serving():
        older = await installation.create()
        await begin(seats(older))
    async with installation.serving(OWN, LEVEL):
        newer = await installation.create()
        pinned = [(await seats(match_id)[0].look()).match.data_hash for match_id in (older, newer)]
        named = [await first_card(seats(match_id)[1]) for match_id in (older, newer)]
        files = [await play_out(seats(match_id)) for match_id in (older, newer)]
    assert pinned == [digest(SHIPPED), digest(OWN)]
    assert named == ["Direct Flight", TITLE]
    assert [audit(file, shipped_rulesets()).undecided for file in files] == [False, True]
    assert [audit(file, shipped_rulesets({"pacific": [OWN]})).ok for file in files] == [True, True]


async def test_without_its_deck_a_match_waits_and_nothing_of_it_is_lost(
    installation: Installation, seats: Callable[[str], Sequence[Seat]]
) -> None:
    """[RULES_VERSION_UNKNOWN] Every call names the data that is missing; once it is back the match goes on."""
    async with installation.serving(OWN):
        match_id = await installation.create()
        await begin(seats(match_id))
        before = await seats(match_id)[0].look()
        command = policy(await seats(match_id)[0].rules(), "random")(before.view, Random(1))
    async with installation.serving(LEVEL):
        ada = seats(match_id)[0]
        asked = [ada.look(), ada.look(1), ada.rules(), ada.legal(), ada.preview(command), ada.submit(command)]
        asked += [ada.resign(), anext(ada.updates()), anext(ada.updates(1)), anext(ada.events())]
        refusals = await asyncio.gather(*asked, return_exceptions=True)
    async with installation.serving(LEVEL, OWN):
        after = await seats(match_id)[0].look()
        exported = await play_out(seats(match_id))
    assert [unknown_data(refusal) for refusal in refusals] == [digest(OWN).hex()] * len(asked)
    assert after == before
    assert audit(exported, shipped_rulesets({"pacific": [OWN]})).ok


def unknown_data(refusal: object) -> str:
    """Return which data a refusal says is missing."""
    assert isinstance(refusal, FailedPrecondition), refusal
    assert (refusal.reason, refusal.metadata["rulesVersion"]) == ("RULES_VERSION_UNKNOWN", "pacific/1")
    return refusal.metadata["dataHash"]


async def test_a_match_that_is_over_is_read_by_its_deck_too(
    installation: Installation, seats: Callable[[str], Sequence[Seat]]
) -> None:
    """[RULES_VERSION_UNKNOWN] Also the audit file is given only by a service that can read the match."""
    async with installation.serving(OWN):
        match_id = await installation.create()
        exported = await play_out(seats(match_id))
    async with installation.serving():
        refusals = await asyncio.gather(seats(match_id)[1].export(), seats(match_id)[1].look(), return_exceptions=True)
    async with installation.serving(OWN):
        again = await seats(match_id)[1].export()
    assert list(map(unknown_data, refusals)) == [digest(OWN).hex()] * 2
    assert again == exported


async def test_a_client_without_asyncio_knows_the_deck_of_its_match(installation: Installation, keys: Keys) -> None:
    token = keys.players.mint("ada", PLAYER_SCOPES, life=TOKEN_LIFE)
    async with installation.serving(OWN):
        match_id = await installation.create()
        with Client(installation.address, token=token, timing=HASTY, retry_seconds=5) as client:
            played: Any = await asyncio.to_thread(client.seat("pacific", match_id, 0).rules)
            watched: Any = await asyncio.to_thread(client.spectate("pacific", match_id).rules)
    assert [game.deck.cards[0].name for game in (played, watched)] == [TITLE, TITLE]
    assert (played.data_hash, played.rules_version) == (digest(OWN), "pacific/1")


@pytest.fixture
async def get_game_data(installation: Installation, keys: Keys) -> AsyncIterator[Callable[[bytes], Any]]:
    """The method, of a service that is started with an own deck, as any player may call it."""
    async with installation.serving(OWN), grpc.aio.insecure_channel(installation.address) as channel:
        stub, metadata = Stub(channel, PACIFIC.service), keys.as_player("eve")

        async def call(data_hash: bytes) -> Any:
            return await stub.GetGameData(PACIFIC.messages.GetGameDataRequest(data_hash=data_hash), metadata=metadata)

        yield call


@pytest.mark.parametrize(
    ("asked", "deck"),
    [(digest(OWN), OWN), (digest(SHIPPED), SHIPPED), (b"", OWN)],
    ids=["its own", "the shipped one", "that of new matches"],
)
async def test_a_deck_is_given_as_the_file_it_is(
    get_game_data: Callable[[bytes], Any], asked: bytes, deck: bytes
) -> None:
    """[GetGameData] By its hash; without one, that of new matches."""
    answer = await get_game_data(asked)
    assert (answer.data, answer.data_hash, answer.rules_version) == (deck, digest(deck), "pacific/1")


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (digest(LEVEL), "RULES_VERSION_UNKNOWN"),
        (bytes(32), "RULES_VERSION_UNKNOWN"),
        (digest(OWN)[:31], "BAD_REQUEST"),
        (digest(OWN) + b"!", "BAD_REQUEST"),
        (b"0", "BAD_REQUEST"),
        (digest(OWN).hex().encode(), "BAD_REQUEST"),
        (bytes(60_000), "BAD_REQUEST"),
    ],
    ids=["another deck's", "nobody's", "short", "long", "tiny", "in hex", "huge"],
)
async def test_what_is_no_hash_of_a_deck_is_refused(
    get_game_data: Callable[[bytes], Any], asked: bytes, reason: str
) -> None:
    """[RULES_VERSION_UNKNOWN] [BAD_REQUEST] A hash has 32 bytes."""
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await get_game_data(asked)
    assert reason_of(refused.value) == reason
