"""Looking at matches: the latest version, earlier ones, legal commands, and the pages of commits."""

from __future__ import annotations

import pytest

from promontory.games.transcontinental.commands import DrawCard, Resign
from promontory.games.transcontinental.vocabulary import Source
from promontory.rules.domain import Match
from promontory.rules.usecases import Listing, Page
from promontory.rules.validation import check_match_id
from promontory.runtime.errors import Refusal
from promontory.runtime.identity import Caller
from tests.support.refereeing import ADA, BEN, EVE, WORKERS, Bench, player, ruleset

NO_MATCH = "tc-000-" + "a" * 26


async def test_a_read_shows_what_another_process_wrote() -> None:
    """[architecture 2] Nothing but the log is the truth; no stale read is served."""
    bench, replica = Bench(), None
    match = await bench.create()
    replica = bench.replica()
    await replica.referee.look(EVE, match.match_id, None, version=None)
    played = await bench.play(match, until=9)
    assert await replica.referee.look(EVE, match.match_id, None, version=None) == played


async def test_an_earlier_version_is_shown_as_it_was() -> None:
    """[GetMatch] The match, at the version asked for: open, and without the seed."""
    bench = Bench()
    early = await bench.play(await bench.create(), until=7)
    closed = (await bench.submit(early, Resign(0))).step.match
    assert await bench.referee.look(ADA, closed.match_id, 0, version=7) == early
    assert early.server_seed == b""


async def test_a_version_still_to_come_is_refused() -> None:
    """[VERSION_OUT_OF_RANGE] The version lies in the future of the match."""
    bench = Bench()
    match = await bench.create()
    with pytest.raises(Refusal) as refusal:
        await bench.referee.look(EVE, match.match_id, None, version=2)
    assert refusal.value.reason == "VERSION_OUT_OF_RANGE"


async def test_a_match_that_nobody_created_is_not_found_and_not_made() -> None:
    """[architecture 3] A read never creates anything."""
    bench = Bench()
    with pytest.raises(Refusal) as refusal:
        await bench.referee.look(EVE, NO_MATCH, None, version=None)
    assert (refusal.value.reason, await bench.log.head(NO_MATCH)) == ("MATCH_NOT_FOUND", None)


@pytest.mark.parametrize(
    ("match_id", "reason"),
    [
        ("pa-000-" + "a" * 26, "MATCH_NOT_FOUND"),
        ("tc-000-short", "MATCH_NOT_FOUND"),
        ("match-1", "MATCH_NOT_FOUND"),
        ("", "BAD_REQUEST"),
        ("TC-000-" + "a" * 26, "BAD_REQUEST"),
        ("tc:000", "BAD_REQUEST"),
        ("a" * 65, "BAD_REQUEST"),
        (NO_MATCH + "\n", "BAD_REQUEST"),
    ],
)
def test_an_id_that_is_not_of_this_game_is_not_found_and_a_malformed_one_is_a_bad_request(
    match_id: str, reason: str
) -> None:
    """[MATCH_NOT_FOUND] No such match, or none of this game."""
    with pytest.raises(Refusal) as refusal:
        check_match_id(ruleset(), match_id)
    assert refusal.value.reason == reason


@pytest.mark.parametrize(
    ("caller", "seat", "reason"),
    [
        (BEN, 0, "SEAT_NOT_YOURS"),
        (EVE, 1, "SEAT_NOT_YOURS"),
        (WORKERS, 1, "SEAT_NOT_YOURS"),
        (ADA, 7, "SEAT_OUT_OF_RANGE"),
        (player("ada", "pool:join"), 0, "SCOPE_MISSING"),
    ],
)
async def test_nobody_looks_from_a_seat_but_its_player(caller: Caller, seat: int, reason: str) -> None:
    """[event_log 5.3] Seats see views; a seat's view is its player's alone."""
    bench = Bench()
    match = await bench.create()
    for look in (
        bench.referee.look(caller, match.match_id, seat, version=None),
        bench.referee.legal(caller, match.match_id, seat),
        bench.referee.page(caller, Listing(match.match_id, seat)),
        bench.referee.preview(caller, match.match_id, seat, (DrawCard(seat, Source.DECK),)),
        bench.referee.resign(caller, match.match_id, seat, request_id="x"),
    ):
        with pytest.raises(Refusal) as refusal:
            await look
        assert refusal.value.reason == reason


async def test_legal_commands_are_those_of_the_latest_version() -> None:
    """[ListLegalCommands] Everything the rules accept from a seat now."""
    bench = Bench()
    match = await bench.create()
    replica = bench.replica()
    await replica.referee.legal(ADA, match.match_id, 0)
    drawn = (await bench.submit(match, DrawCard(0, Source.DECK))).step.match
    assert await replica.referee.legal(ADA, match.match_id, 0) == (2, ruleset().game.legal(drawn.state, 0))


async def page(bench: Bench, match: Match, *, size: int = 0, token: str = "", seat: int | None = None) -> Page:
    return await bench.referee.page(ADA, Listing(match.match_id, seat, size, token))


async def test_pages_joined_are_the_whole_list() -> None:
    """[ListMatchEvents] Commits in order, in pages."""
    bench = Bench()
    match = await bench.play(await bench.create(), until=25)
    first = await page(bench, match, size=10)
    second = await page(bench, match, size=10, token=first.next_token)
    third = await page(bench, match, size=10, token=second.next_token)
    assert [*first.steps, *second.steps, *third.steps] == await bench.steps(match)
    assert third.next_token == ""


async def test_a_page_that_ends_with_the_match_is_the_last_one() -> None:
    """The token is empty on the last page."""
    bench = Bench()
    match = await bench.play(await bench.create(), until=10)
    assert (await page(bench, match, size=10)).next_token == ""


async def test_pages_are_full_once_the_match_is_closed() -> None:
    """[architecture 3] Own view while open, full log once over."""
    bench = Bench()
    match = await bench.create()
    assert not (await page(bench, match)).full
    match = (await bench.submit(match, Resign(0))).step.match
    assert (await page(bench, match)).full


async def test_a_closed_match_is_shown_from_every_seat_at_every_version() -> None:
    """[GetMatch] To everybody, as it was then: open, and without the seed."""
    bench = Bench()
    early = await bench.play(await bench.create(), until=7)
    closed = (await bench.submit(early, Resign(0))).step.match
    looks = [await bench.referee.look(who, closed.match_id, 1, version=7) for who in (ADA, BEN, EVE, WORKERS)]
    assert looks == [early] * 4
    with pytest.raises(Refusal, match="seats 0 to 1, not 2"):
        await bench.referee.look(EVE, closed.match_id, 2, version=7)


async def test_a_closed_match_is_listed_as_a_seat_saw_it_if_that_is_wanted() -> None:
    """[ListMatchEvents.as_seen] A list of its own, with tokens of its own; an open one is listed like that anyway."""
    bench = Bench()
    match = await bench.play(await bench.create(), until=9)
    match = (await bench.submit(match, Resign(0))).step.match
    seen = Listing(match.match_id, 1, size=4, as_seen=True)
    first = await bench.referee.page(EVE, seen)
    assert (first.full, [step.version for step in first.steps]) == (False, [1, 2, 3, 4])
    second = await bench.referee.page(EVE, Listing(match.match_id, 1, 4, first.next_token, as_seen=True))
    assert [step.version for step in second.steps] == [5, 6, 7, 8]
    with pytest.raises(Refusal) as refusal:
        await bench.referee.page(EVE, Listing(match.match_id, 1, 4, first.next_token))
    assert refusal.value.reason == "PAGE_TOKEN_INVALID"


async def test_what_is_hidden_is_told_of_no_open_match() -> None:
    """[MATCH_OPEN] Neither to its players nor to others."""
    bench = Bench()
    match = await bench.create()
    with pytest.raises(Refusal) as refusal:
        await bench.referee.require_closed(match.match_id)
    assert refusal.value.reason == "MATCH_OPEN"
    await bench.submit(match, Resign(0))
    await bench.referee.require_closed(match.match_id)


@pytest.mark.parametrize("token", ["x", "5", "-", "999999999999999999999-00", "1-0000000000000000", "٣-abc"])
async def test_a_made_up_page_token_is_refused(token: str) -> None:
    """[PAGE_TOKEN_INVALID] Not one of this list's."""
    bench = Bench()
    match = await bench.play(await bench.create(), until=9)
    with pytest.raises(Refusal) as refusal:
        await page(bench, match, token=token)
    assert refusal.value.reason == "PAGE_TOKEN_INVALID"


async def test_a_page_token_of_another_seats_list_is_refused() -> None:
    """[PAGE_TOKEN_INVALID] Lists of different seats are different lists."""
    bench = Bench()
    match = await bench.play(await bench.create(), until=9)
    token = (await page(bench, match, size=3, seat=0)).next_token
    with pytest.raises(Refusal) as refusal:
        await page(bench, match, size=3, token=token)
    assert refusal.value.reason == "PAGE_TOKEN_INVALID"


async def test_a_page_token_holds_no_hash_of_the_log() -> None:
    """A hash over hidden cards could be guessed at: so none is shown while the match is open."""
    bench = Bench()
    match = await bench.play(await bench.create(), until=9)
    token = (await page(bench, match, size=3, seat=0)).next_token
    heads = [commit.head.hex()[:8] for commit in await bench.log.read(match.match_id)]
    assert not any(head in token for head in heads)


@pytest.mark.parametrize("size", [-1, 501])
async def test_a_page_size_out_of_range_is_refused(size: int) -> None:
    """[ListMatchEvents] 1 to 500; 100 when unset."""
    bench = Bench()
    match = await bench.create()
    with pytest.raises(Refusal) as refusal:
        await page(bench, match, size=size)
    assert refusal.value.fields.keys() == {"page_size"}


async def test_a_log_is_exported_only_once_the_match_is_over() -> None:
    """[MATCH_OPEN] What was asked for is shown once it is over."""
    bench = Bench()
    match = await bench.create()
    with pytest.raises(Refusal) as refusal:
        await bench.referee.whole_log(match.match_id)
    assert refusal.value.reason == "MATCH_OPEN"
    await bench.submit(match, Resign(0))
    assert await bench.referee.whole_log(match.match_id) == await bench.log.read(match.match_id)


async def test_more_matches_than_the_cache_holds_are_all_served() -> None:
    """The cache is bounded, and deletable at any time."""
    bench = Bench(cached=2)
    matches = [await bench.create(request_id=f"{number}") for number in range(5)]
    played = [(await bench.submit(match, DrawCard(0, Source.DECK))).step.match for match in matches]
    assert [await bench.matches.fresh(match.match_id) for match in matches] == played
