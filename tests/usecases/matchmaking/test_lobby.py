"""What players can do with private tables, and their lists of matches."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from promontory.games.registry import GAMES
from promontory.matchmaking.creation import Creation
from promontory.matchmaking.lobby import CODE_LETTERS, Lobby, TableWish
from promontory.matchmaking.memory import Memory, MemoryTables, MemoryTickets
from promontory.matchmaking.messages import table_message
from promontory.runtime.clock import now_ms
from promontory.runtime.errors import Kind, Refusal
from promontory.runtime.identity import Caller
from tests.support.matchmaking import FOREVER_SECONDS, RulesStandIn

ANN, BOB, CEM = (Caller(name, frozenset({"match:play"})) for name in ("ann", "bob", "cem"))
WISH = TableWish(request_id="one", game="transcontinental", seats=2, entropy=b"mine")


@pytest.fixture
def rules() -> RulesStandIn:
    return RulesStandIn()


@pytest.fixture
def lobby(rules: RulesStandIn) -> Lobby:
    memory = Memory(now_ms)
    tables = MemoryTables(memory)
    creation = Creation(rules, tickets=MemoryTickets(memory), tables=tables)
    games = {entry.name: entry.load() for entry in GAMES}
    return Lobby(tables, creation, games=games, lease_seconds=FOREVER_SECONDS)


async def test_a_table_has_an_invite_code_and_its_host_in_seat_0(lobby: Lobby) -> None:
    table = await lobby.create(ANN, WISH)
    assert [guest.player for guest in table.guests] == ["ann"]
    assert len(table.invite_code) == 8
    assert set(table.invite_code) <= set(CODE_LETTERS)


def test_no_letter_of_an_invite_code_looks_like_another() -> None:
    assert not set("01IO") & set(CODE_LETTERS)


async def test_opening_a_table_twice_gives_the_same_table(lobby: Lobby) -> None:
    assert await lobby.create(ANN, WISH) == await lobby.create(ANN, WISH)


@pytest.mark.parametrize(
    ("caller", "wish", "reason"),
    [
        (Caller("ann", frozenset()), WISH, "SCOPE_MISSING"),
        (ANN, TableWish(request_id="one", game="chess", seats=2), "BAD_REQUEST"),
        (ANN, TableWish(request_id="one", game="transcontinental", seats=3), "BAD_REQUEST"),
        (ANN, TableWish(request_id="one", game="transcontinental", seats=2, variant="chess"), "BAD_REQUEST"),
        (ANN, TableWish(request_id="one", game="transcontinental", seats=2, entropy=bytes(33)), "BAD_REQUEST"),
        (ANN, TableWish(request_id="", game="transcontinental", seats=2), "BAD_REQUEST"),
    ],
)
async def test_a_table_that_cannot_be_is_refused(lobby: Lobby, caller: Caller, wish: TableWish, reason: str) -> None:
    with pytest.raises(Refusal) as refused:
        await lobby.create(caller, wish)
    assert refused.value.reason == reason


@pytest.mark.parametrize("variant", ["", "standard"], ids=["unnamed", "by name"])
async def test_guests_are_told_the_variant_and_the_match_gets_it(
    lobby: Lobby, rules: RulesStandIn, variant: str
) -> None:
    """[CreateTable] Which one is usual depends on the data, so that the rules service says it of the match."""
    opened = await lobby.create(ANN, replace(WISH, variant=variant))
    joined = await lobby.join(BOB, opened.invite_code, b"")
    [proposal] = rules.matches.values()
    assert [table_message(table).variant for table in (opened, joined)] == [variant] * 2
    assert proposal.variant == variant


async def test_a_request_id_with_another_table_is_refused(lobby: Lobby) -> None:
    await lobby.create(ANN, WISH)
    with pytest.raises(Refusal) as refused:
        await lobby.create(ANN, TableWish(request_id="one", game="pacific", seats=4))
    assert refused.value.reason == "REQUEST_ID_REUSED"


async def test_the_last_guest_starts_the_match(lobby: Lobby, rules: RulesStandIn) -> None:
    """[fairness 2.3] Joining brings the seat's entropy."""
    code = (await lobby.create(ANN, WISH)).invite_code
    table = await lobby.join(BOB, code, b"yours")
    [proposal] = rules.matches.values()
    assert table.made is not None
    assert [(place.entrant.player, place.entrant.entropy) for place in proposal.places] == [
        ("ann", b"mine"),
        ("bob", b"yours"),
    ]
    assert (proposal.pool, proposal.rated) == ("", False)


async def test_a_table_waits_until_it_is_full(lobby: Lobby, rules: RulesStandIn) -> None:
    code = (await lobby.create(ANN, TableWish(request_id="one", game="pacific", seats=3))).invite_code
    assert (await lobby.join(BOB, code, b"")).made is None
    assert (await lobby.join(CEM, code, b"")).made is not None
    assert rules.calls == 1


async def test_an_invite_code_may_be_typed_in_small_letters(lobby: Lobby) -> None:
    code = (await lobby.create(ANN, WISH)).invite_code
    assert (await lobby.join(BOB, f" {code.lower()} ", b"")).made is not None


async def test_joining_again_gives_the_same_match(lobby: Lobby, rules: RulesStandIn) -> None:
    code = (await lobby.create(ANN, WISH)).invite_code
    assert await lobby.join(BOB, code, b"") == await lobby.join(BOB, code, b"")
    assert len(rules.matches) == 1


async def test_the_host_joining_takes_no_second_seat(lobby: Lobby) -> None:
    code = (await lobby.create(ANN, WISH)).invite_code
    assert not (await lobby.join(ANN, code, b"")).is_full


async def test_a_full_table_takes_nobody(lobby: Lobby) -> None:
    code = (await lobby.create(ANN, WISH)).invite_code
    await lobby.join(BOB, code, b"")
    with pytest.raises(Refusal) as refused:
        await lobby.join(CEM, code, b"")
    assert refused.value.reason == "TABLE_CLOSED"


async def test_a_wrong_code_finds_no_table(lobby: Lobby) -> None:
    with pytest.raises(Refusal) as refused:
        await lobby.join(BOB, "WRONGONE", b"")
    assert refused.value.reason == "TABLE_NOT_FOUND"


async def test_only_guests_see_a_table(lobby: Lobby) -> None:
    table = await lobby.create(ANN, WISH)
    assert await lobby.find(ANN, table.id) == table
    with pytest.raises(Refusal) as refused:
        await lobby.find(BOB, table.id)
    assert refused.value.reason == "NOT_YOURS"


async def test_asking_for_a_full_table_completes_what_joining_could_not(lobby: Lobby, rules: RulesStandIn) -> None:
    table = await lobby.create(ANN, WISH)
    rules.fault = Refusal(Kind.UNAVAILABLE, "PEER_UNAVAILABLE", "down")
    with pytest.raises(Refusal, match="down"):
        await lobby.join(BOB, table.invite_code, b"")
    rules.fault = None
    found = await lobby.find(ANN, table.id)
    assert found.made is not None
    assert await lobby.find(BOB, table.id) == found


async def play(lobby: Lobby, count: int) -> None:
    for number in range(count):
        wish = TableWish(request_id=f"{number}", game="transcontinental", seats=2)
        await lobby.join(BOB, (await lobby.create(ANN, wish)).invite_code, b"")


async def test_matches_are_listed_newest_first_in_pages(lobby: Lobby) -> None:
    await play(lobby, 5)
    first, token = await lobby.matches(BOB, page_size=3, page_token="")
    second, end = await lobby.matches(BOB, page_size=3, page_token=token)
    assert (len(first), len(second), end) == (3, 2, "")
    assert len({entry.match_id for entry in (*first, *second)}) == 5


@pytest.mark.parametrize(
    ("size", "token", "reason"),
    [
        (101, "", "BAD_REQUEST"),
        (-1, "", "BAD_REQUEST"),
        (1, "x", "PAGE_TOKEN_INVALID"),
        (1, "9" * 20, "PAGE_TOKEN_INVALID"),
        (1, "9-0123456789abcdef", "PAGE_TOKEN_INVALID"),
    ],
)
async def test_a_malformed_page_is_refused(lobby: Lobby, size: int, token: str, reason: str) -> None:
    with pytest.raises(Refusal) as refused:
        await lobby.matches(BOB, page_size=size, page_token=token)
    assert refused.value.reason == reason


async def test_a_page_token_of_another_players_list_is_refused(lobby: Lobby) -> None:
    """[PAGE_TOKEN_INVALID] Lists of different players are different lists."""
    await play(lobby, 2)
    _, token = await lobby.matches(ANN, page_size=1, page_token="")
    with pytest.raises(Refusal) as refused:
        await lobby.matches(BOB, page_size=1, page_token=token)
    assert refused.value.reason == "PAGE_TOKEN_INVALID"
