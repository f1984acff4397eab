"""Playing a match from the queue to its outcome."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from promontory import AsyncClient, Internal, Update, game
from promontory.bots.registry import policy
from promontory.codec.outcomes import CloseReason
from promontory.games.transcontinental.commands import DrawCard, EndWork, PlayMeld
from promontory.games.transcontinental.events import CardDrawn, TurnStarted
from promontory.games.transcontinental.vocabulary import Source
from tests.client.conftest import Connect, World

GAME = game("transcontinental")
GREEDY = policy(GAME, "greedy")


async def play(client: AsyncClient) -> list[Update]:
    """Play a match of the ranked pool as the front page shows it, and return all updates."""
    seated = await client.play("transcontinental.ranked")
    updates = []
    async for update in seated:
        updates.append(update)
        if update.your_turn:
            await seated.submit(GREEDY(update.view, Random(1)), expected_version=update.version)
    return updates


async def test_two_clients_play_a_match_to_its_end(world: World, connect: Connect) -> None:
    ada, bob = await asyncio.gather(play(connect("ada")), play(connect("bob")))
    assert ada[-1].match.is_over
    assert ada[-1].match.outcome == bob[-1].match.outcome
    assert ada[-1].match.outcome is not None
    assert ada[-1].match.outcome.reason is CloseReason.PLAYED_OUT
    assert [update.version for update in ada] == list(range(ada[0].version, world.referee.version + 1))


async def test_an_update_shows_what_the_seat_may_see(world: World, client: AsyncClient) -> None:
    seated = client.seat("transcontinental", world.referee.match_id, 0)
    update = await seated.look()
    assert update.view == GAME.view(world.referee.state, 0)
    assert (update.version, update.events, update.your_turn) == (1, (), True)


async def test_a_submission_returns_its_events_and_what_came_of_it(world: World, client: AsyncClient) -> None:
    seated = client.seat("transcontinental", world.referee.match_id, 0)
    update = await seated.submit(DrawCard(0, Source.DECK), expected_version=1)
    assert update.version == 2
    assert update.events == world.referee.commits[1].events
    assert update.view == GAME.view(world.referee.state, 0)


async def test_legal_commands_come_as_the_games_struct(world: World, client: AsyncClient) -> None:
    legal = await client.seat("transcontinental", world.referee.match_id, 0).legal()
    assert legal.version == 1
    assert legal.commands == GAME.legal(world.referee.state, 0)


async def test_a_preview_ends_where_chance_comes_in(world: World, client: AsyncClient) -> None:
    preview = await client.seat("transcontinental", world.referee.match_id, 0).preview(DrawCard(0, Source.DECK))
    assert preview.ends_early
    assert not [event for event in preview.events if isinstance(event, CardDrawn)]
    assert world.referee.version == 1


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (EndWork(1), r"EndWork\(seat=1\) is of seat 1; this is seat 0"),
        (None, "None is no command of transcontinental"),
        ("pass", "'pass' is no command of transcontinental"),
        (PlayMeld(0, (1, 2, 3)), "PlayMeld.* is no command of transcontinental"),  # type: ignore[arg-type]
    ],
)
async def test_what_is_no_command_of_the_seat_is_not_sent(
    world: World, client: AsyncClient, command: object, problem: str
) -> None:
    seated = client.seat("transcontinental", world.referee.match_id, 0)
    with pytest.raises(ValueError, match=problem):
        await seated.submit(command)
    assert world.faults.requests("SubmitCommand") == []


async def test_resigning_closes_the_match(world: World, client: AsyncClient) -> None:
    match = await client.seat("transcontinental", world.referee.match_id, 0).resign()
    assert match.is_over
    assert match.outcome is not None
    assert match.outcome.reason is CloseReason.RESIGNED
    assert match.outcome.winners == (1,)


async def test_a_spectator_sees_no_hand(world: World, client: AsyncClient) -> None:
    update = await client.spectate("transcontinental", world.referee.match_id).look()
    assert update.view.hand_card_ids == ()
    assert not update.your_turn


async def test_the_match_can_be_seen_at_an_earlier_version(world: World, client: AsyncClient) -> None:
    await world.referee.play(GREEDY, Random(1), until=9)
    update = await client.spectate("transcontinental", world.referee.match_id).look(version=4)
    assert update.version == 4
    assert update.view == GAME.view(world.referee.commits[3].state, None)


async def test_the_shipped_rules_are_taken_without_asking_for_data(world: World, client: AsyncClient) -> None:
    """What a match is pinned to never changes: asked for again, they cost no call at all."""
    watched = client.spectate("transcontinental", world.referee.match_id)
    rules = await watched.rules()
    assert (rules.rules_version, rules.data_hash) == (GAME.rules_version, GAME.data_hash)
    assert await watched.rules() is rules
    assert [len(world.faults.requests(method)) for method in ("GetMatch", "GetGameData")] == [1, 0]


async def test_data_that_a_match_is_not_pinned_to_is_not_played_with(world: World, client: AsyncClient) -> None:
    """[match/v1 Match.data_hash] Whatever the server says it is."""
    world.referee.data_hash = bytes(32)
    with pytest.raises(Internal, match="DATA_MISMATCH"):
        await client.spectate("transcontinental", world.referee.match_id).rules()


async def test_match_events_come_page_after_page(world: World, client: AsyncClient) -> None:
    await world.referee.play(GREEDY, Random(1), until=12)
    commits = [commit async for commit in client.match_events("transcontinental", world.referee.match_id, seat=0)]
    assert [commit.version for commit in commits] == list(range(1, 13))
    assert TurnStarted in {type(event) for commit in commits for event in commit.events}
    assert len(world.faults.requests("ListMatchEvents")) == 3


async def test_an_export_is_the_whole_file(world: World, client: AsyncClient) -> None:
    assert await client.export_match("transcontinental", world.referee.match_id) == b"one two three"
