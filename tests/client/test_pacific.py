"""Pacific for four through the SDK: everybody at once, each with a view of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from random import Random
from typing import Any

import pytest

from promontory import Client, FailedPrecondition, Update, VersionConflict, game
from promontory.bots.pacific import play_at_random
from promontory.client.seats import Seat, Spectator
from promontory.codec.outcomes import CloseReason
from promontory.games.pacific.commands import Choose, PutOut, Resign
from promontory.games.pacific.events import CardPutOut, CardsRevealed
from promontory.games.pacific.legal import LegalCommands
from promontory.rules.audit import audit, shipped_rulesets
from promontory.runtime.identity import PLAYER_SCOPES
from tests.client.conftest import HASTY
from tests.client.hall import Hall, open_hall, play
from tests.client.services import PoolKind
from tests.support.serving import TOKEN_LIFE, Keys

FOUR = PoolKind("pacific.ranked.4", "pacific", 4)
PLAYERS = ("ada", "bob", "cyd", "dot")
GAME = game("pacific")


@pytest.fixture
async def hall(keys: Keys) -> AsyncIterator[Hall]:
    async with open_hall(keys, kind=FOUR) as hall:
        yield hall


@pytest.fixture
async def table(hall: Hall) -> AsyncIterator[Sequence[Seat]]:
    """The four seats of a match that the queue has made, in their order."""
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(hall.client(player)) for player in PLAYERS]
        seats = await asyncio.gather(*(client.play(FOUR.pool) for client in clients))
        yield sorted(seats, key=lambda seated: seated.seat)


async def watch(spectator: Spectator) -> list[Update]:
    return [update async for update in spectator]


def versions(updates: Sequence[Update]) -> list[int]:
    return [update.version for update in updates]


async def test_four_play_a_match_while_somebody_watches(hall: Hall, table: Sequence[Seat]) -> None:
    """Everybody sees every version once, and nobody what is hidden; the log holds the same."""
    noted: list[list[Update]] = [[] for _ in table]
    async with hall.client("eve") as eve:
        watching = asyncio.create_task(watch(eve.spectate("pacific", table[0].match_id)))
        await asyncio.gather(*(play(seated, updates) for seated, updates in zip(table, noted, strict=True)))
        noted.append(await watching)
        exported = await eve.export_match("pacific", table[0].match_id)
    last = noted[0][-1]
    assert {updates[-1].match for updates in noted} == {last.match}
    assert last.match.outcome is not None
    assert last.match.outcome.reason is CloseReason.PLAYED_OUT
    assert [versions(updates) for updates in noted] == [
        list(range(updates[0].version, last.version + 1)) for updates in noted
    ]
    assert [{update.view.seat for update in updates} for updates in noted] == [{0}, {1}, {2}, {3}, {None}]
    assert {update.view.hand_card_ids for update in noted[4]} == {()}
    assert audit(exported, shipped_rulesets()).commits == last.version


def play_blocking(address: str, token: str) -> Update:
    """Play a match of the pool as the front page shows it, and return its last update."""
    with Client(address, token=token, timing=HASTY, retry_seconds=5) as client:
        seated = client.play(FOUR.pool)

        def choose(view: Any) -> Any:
            assert seated.legal().version > 0  # a choice may ask the client
            return play_at_random(view, Random(1))

        return seated.play(choose)


async def test_four_clients_without_asyncio_play_a_match(hall: Hall, keys: Keys) -> None:
    tokens = [keys.players.mint(player, PLAYER_SCOPES, life=TOKEN_LIFE) for player in PLAYERS]
    ended = await asyncio.gather(*(asyncio.to_thread(play_blocking, hall.address, token) for token in tokens))
    assert {update.match for update in ended} == {ended[0].match}
    assert {update.view.seat for update in ended} == set(range(4))
    assert ended[0].match.outcome is not None


async def test_playing_ends_with_the_match_whoever_ends_it(table: Sequence[Seat]) -> None:
    """[MATCH_OVER] A command on its way when the last opponent resigns is too late, and no error."""
    asked: list[int] = []

    def choose(view: Any) -> Any:
        asked.append(view.turn)
        return play_at_random(view, Random(len(asked)))

    playing = asyncio.create_task(table[0].play(choose))
    await asyncio.gather(*(seated.resign() for seated in table[1:]))
    last = await playing
    assert last.match.outcome is not None
    assert (last.match.outcome.placements[0].place, last.match.outcome.reason) == (1, CloseReason.RESIGNED)


async def test_playing_stops_at_a_command_that_the_rules_forbid(table: Sequence[Seat]) -> None:
    with pytest.raises(FailedPrecondition) as refused:
        await table[0].play(lambda view: Choose(0, (99,)))
    assert refused.value.reason == "WRONG_PHASE"


async def put_out(seated: Seat, place: int = 0, **options: Any) -> Update:
    """Put out the card of the hand that is dealt as number `place`."""
    view = (await seated.look()).view
    return await seated.submit(PutOut(seated.seat, view.hand_card_ids[place]), **options)


async def test_all_may_act_at_once_and_a_late_one_learns_of_the_others(table: Sequence[Seat]) -> None:
    """[VERSION_CONFLICT] Two act on the same version; the second one looks again, or does not say which it means."""
    seen = (await table[2].look()).version
    await put_out(table[0], expected_version=seen)
    with pytest.raises(VersionConflict) as conflict:
        await put_out(table[2], expected_version=seen)
    after = await put_out(table[2])
    assert conflict.value.metadata["currentVersion"] == str(seen + 1)
    assert (after.version, after.match.seats_to_act) == (seen + 2, (1, 3))


async def test_answers_of_all_seats_at_once_all_count(table: Sequence[Seat]) -> None:
    """Without an expected version nobody has to look again."""
    answers = await asyncio.gather(*(put_out(seated) for seated in table))
    looked = await table[0].look()
    assert sorted(answer.version for answer in answers) == [2, 3, 4, 5]
    assert (looked.version, looked.match.seats_to_act, looked.view.phase) == (5, (0, 1, 2, 3), "choose")


async def test_a_seat_learns_what_it_may_do_and_what_that_would_do(table: Sequence[Seat]) -> None:
    """[P-4] A preview changes nothing; an answer may be changed until all have answered."""
    dot, hand = table[3], (await table[3].look()).view.hand_card_ids
    legal, preview = await dot.legal(), await dot.preview(PutOut(3, hand[0]))
    submitted = await dot.submit(PutOut(3, hand[0]), expected_version=preview.version)
    changed = await dot.submit(PutOut(3, hand[1]))
    assert legal.commands == LegalCommands(put_out_card_ids=hand, set_explicit_runs=True, resign=True)
    assert preview.events == submitted.events == (CardPutOut(3, hand[0], again=False),)
    assert (preview.version, preview.ends_early, submitted.version) == (1, False, 2)
    assert changed.events == (CardPutOut(3, hand[1], again=True),)
    assert not changed.your_turn


async def test_a_preview_ends_where_the_others_cards_come_in(table: Sequence[Seat]) -> None:
    """The last one to answer turns all cards up, and cannot know them before."""
    [await put_out(seated) for seated in table[:3]]
    hand = (await table[3].look()).view.hand_card_ids
    preview = await table[3].preview(PutOut(3, hand[0]))
    submitted = await put_out(table[3])
    assert (preview.events, preview.ends_early) == ((CardPutOut(3, hand[0], again=False),), True)
    assert isinstance(submitted.events[1], CardsRevealed)


async def test_what_the_rules_forbid_is_refused_with_the_rule(table: Sequence[Seat]) -> None:
    with pytest.raises(FailedPrecondition) as refused:
        await table[1].submit(Choose(1, (0,)))
    assert (refused.value.reason, refused.value.metadata["rule"]) == ("WRONG_PHASE", "Pacific 2.1")


async def test_secret_answers_are_told_to_their_seat_alone(hall: Hall, table: Sequence[Seat]) -> None:
    """While the match is open; afterwards everybody may read everything."""
    card_id = (await put_out(table[1])).view.put_out_card_id
    async with hall.client("eve") as eve:
        spectated = eve.spectate("pacific", table[1].match_id)
        told = [[commit.events async for commit in one.events()][-1] for one in (table[1], table[0], spectated)]
        [await seated.resign() for seated in table[:3]]
        full = [commit.events async for commit in spectated.events()]
    own, hidden = CardPutOut(1, card_id, again=False), CardPutOut(1, again=False)
    assert told == [(own,), (hidden,), (hidden,)]
    assert full[1] == (own,)


async def test_the_others_play_on_when_one_resigns(table: Sequence[Seat]) -> None:
    """[P-52] It comes last, watches on to the end, and can do nothing any more."""
    noted: list[list[Update]] = [[] for _ in table]
    await put_out(table[0])
    resigned = await table[2].resign(request_id="enough")
    assert await table[2].resign(request_id="enough") == resigned
    assert not resigned.is_over
    assert 2 not in resigned.seats_to_act
    assert (await table[2].legal()).commands == LegalCommands()
    with pytest.raises(FailedPrecondition, match="SEAT_LEFT"):
        await table[2].submit(Resign(2))
    await asyncio.gather(*(play(seated, updates) for seated, updates in zip(table, noted, strict=True)))
    outcome = noted[2][-1].match.outcome
    assert outcome is not None
    assert (outcome.reason, outcome.placements[2].place) == (CloseReason.PLAYED_OUT, 4)
    assert not any(update.your_turn for update in noted[2])


async def test_when_all_but_one_have_resigned_the_match_is_over(table: Sequence[Seat]) -> None:
    """[P-12] The first one to resign comes last."""
    ended = [await table[seat].resign() for seat in (2, 0, 3)]
    assert [match.is_over for match in ended] == [False, False, True]
    assert ended[-1].outcome is not None
    assert ended[-1].outcome.reason is CloseReason.RESIGNED
    assert [placement.place for placement in ended[-1].outcome.placements] == [3, 1, 4, 2]
