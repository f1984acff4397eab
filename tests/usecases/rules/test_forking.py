"""Playing on from an earlier version of a closed match, on logs in memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from promontory.codec.conduct import LeaveCause
from promontory.codec.outcomes import CloseReason
from promontory.eventlog.audit_file import audit_lines
from promontory.eventlog.obligations import bot_turn_name
from promontory.eventlog.port import GENESIS, CommandIdReused, Commit, bucket_of, chain
from promontory.games.registry import GAMES
from promontory.rules import records
from promontory.rules.audit import AuditReport, audit, shipped_rulesets
from promontory.rules.conduct import Leaver
from promontory.rules.domain import Match, Origin, SeatKind, Setup
from promontory.rules.forking import ForkSeat, ForkWish
from promontory.rules.validation import check_version
from promontory.runtime.errors import Refusal
from promontory.runtime.identity import Caller
from tests.support.archiving import Depot
from tests.support.commands import exit_code
from tests.support.conduct import PER_TURN, table
from tests.support.refereeing import ADA, EVE, RELAY, WORKERS, Bench, next_command, player

RULESETS = shipped_rulesets()
GAME_NAMES = [game.name for game in GAMES]
BOT = ForkSeat("greedy")
each_game = pytest.mark.parametrize("game", GAME_NAMES)
_names = count()


async def played(bench: Bench, setup: Setup | None = None) -> Match:
    """Return a match played to its end by the greedy policy."""
    seats = bench.ruleset.game.seats.start
    return await bench.play(await bench.create(setup or table(seats)))


async def fork(bench: Bench, of: Match, version: int, *seats: ForkSeat, who: Caller = EVE, name: str = "") -> Match:
    """Return a fork by `who`, under a name of its own unless one is given."""
    wish = ForkWish(of.match_id, version, seats)
    return await bench.forking.fork(who, name or f"fork-{next(_names)}", wish)


async def file_of(bench: Bench, match: Match) -> bytes:
    return file_with(match, await bench.log.read(match.match_id))


def file_with(match: Match, commits: Sequence[Commit]) -> bytes:
    return b"".join(audit_lines(match.match_id, commits))


def chained(match: Match, commits: Sequence[Commit]) -> list[Commit]:
    """Return `commits` chained anew, as somebody who forges a log would do it."""
    head, forged = GENESIS, list[Commit]()
    for commit in commits:
        head = chain(match.match_id, head, commit.version, commit)
        forged.append(replace(commit, head=head))
    return forged


def report(raw: bytes, *originals: bytes) -> AuditReport:
    return audit(raw, RULESETS, originals=originals)


@each_game
@pytest.mark.parametrize("part", [0, 0.5, 0.9])
async def test_a_fork_begins_as_the_original_stood_and_is_played_to_its_end(game: str, part: float) -> None:
    """And its file is in order: alone, and beside that of the original."""
    bench = Bench(game=game)
    original = await played(bench)
    version = 1 + round(part * (original.version - 2))
    begun = await fork(bench, original, version)
    then = await bench.replica().matches.at(original.match_id, version)
    assert (begun.version, begun.state, begun.to_act) == (1, then.state, then.to_act)
    closed = await bench.play(begun)
    raw, source = await file_of(bench, closed), await file_of(bench, original)
    alone, beside = report(raw), report(raw, source)
    assert (alone.cause, alone.past_checked, beside.cause, beside.past_checked) == (None, False, None, True)
    assert (beside.forked_from, beside.forked_at) == (original.match_id, version)
    assert closed.result == await result_by_replica(bench, closed)


async def result_by_replica(bench: Bench, match: Match) -> Any:
    return (await bench.replica().matches.fresh(match.match_id)).result


async def test_a_fork_is_private_unrated_without_clocks_and_as_the_original_was_played() -> None:
    """[ForkMatch] Rules, data and variant stay; what was agreed beside the game does not."""
    bench = Bench(game="railroad_dice_2")
    setup = table(2, pool="railroad_dice_2.ranked", rated=True, time_control=PER_TURN, variant="variable")
    original = await played(bench, replace(setup, spectator_delay=5, abandon_after_ms=60_000))
    begun = await fork(bench, original, 4)
    assert begun.setup == Setup(begun.setup.seats, variant="variable")
    assert (begun.rules_version, begun.data_hash) == (original.rules_version, original.data_hash)
    head = (await bench.matches.at(original.match_id, 4)).position.head
    assert begun.forked_from == Origin(original.match_id, 4, head)
    assert begun.commitment != original.commitment


async def test_all_seats_are_the_forkers_unless_the_house_plays_them() -> None:
    """One player may analyse alone; nobody else is put into it."""
    bench = Bench(game="pacific")
    original = await played(bench, table(3))
    alone = await fork(bench, original, 5)
    assert [seat.player_id for seat in alone.setup.seats] == ["eve", "eve", "eve"]
    mixed = await fork(bench, original, 5, BOT, ForkSeat(client_entropy=b"luck"), BOT)
    assert [seat.player_id for seat in mixed.setup.seats] == ["house-greedy-0", "eve", "house-greedy-2"]
    assert [seat.kind is SeatKind.HOUSE_BOT for seat in mixed.setup.seats] == [True, False, True]
    assert mixed.setup.entropies == (b"", b"luck", b"")


async def test_the_house_is_asked_for_its_seats_at_once() -> None:
    """As after a creation; no tally and no clock is ever owed."""
    bench = Bench()
    original = await played(bench, table(pool="transcontinental.ranked", rated=True, time_control=PER_TURN))
    begun = await fork(bench, original, 6, BOT, BOT)
    (claimed,) = await bench.log.claim(bucket_of(begun.match_id), limit=9, lease_ms=1000, max_attempts=5)
    assert claimed.name == bot_turn_name(begun.match_id, begun.to_act[0], 1)


@pytest.mark.parametrize("who", [ADA, EVE, Caller("service:any", WORKERS.scopes | {"match:play"}, service=True)])
async def test_an_open_match_is_forked_by_nobody(who: Caller) -> None:
    """[MATCH_OPEN] Not even its players, nor a service: a fork shows what they may not know."""
    bench = Bench()
    match = await bench.play(await bench.create(), until=9)
    with pytest.raises(Refusal) as refused:
        await fork(bench, match, 3, who=who)
    assert refused.value.reason == "MATCH_OPEN"


@pytest.mark.parametrize("who", [player("eve", "pool:join"), RELAY, WORKERS])
async def test_only_who_may_play_may_fork(who: Caller) -> None:
    """[SCOPE_MISSING] The scope is `match:play`."""
    bench = Bench()
    with pytest.raises(Refusal) as refused:
        await fork(bench, await played(bench), 3, who=who)
    assert refused.value.reason == "SCOPE_MISSING"


async def test_an_open_fork_cannot_be_forked_and_a_closed_one_can() -> None:
    """The past of a fork of a fork is both matches'."""
    bench = Bench()
    original = await played(bench)
    first = await fork(bench, original, 9, who=ADA)
    with pytest.raises(Refusal) as refused:
        await fork(bench, first, 1)
    assert refused.value.reason == "MATCH_OPEN"
    closed = await bench.play(first)
    second = await bench.play(await fork(bench, closed, 3))
    raw, files = await file_of(bench, second), [await file_of(bench, each) for each in (original, closed)]
    assert (report(raw, *files).past_checked, report(raw, files[0]).past_checked) == (True, False)
    assert len(records.of_game((await bench.log.read(second.match_id))[0])) > len(
        records.of_game((await bench.log.read(closed.match_id))[0])
    )


@pytest.mark.parametrize(("version", "reason"), [(99_999, "VERSION_OUT_OF_RANGE"), (-1, "MATCH_OVER")])
async def test_a_match_is_forked_where_its_game_goes_on(version: int, reason: str) -> None:
    """Not at a version that it has not, and not at its end."""
    bench = Bench()
    original = await played(bench)
    with pytest.raises(Refusal) as refused:
        await fork(bench, original, version if version > 0 else original.version)
    assert refused.value.reason == reason


async def test_a_match_that_was_called_off_can_be_played_on_from_its_end() -> None:
    """Its game is not over: the players only ended the match."""
    bench = Bench()
    match = await bench.play(await bench.create(table(pool="transcontinental.ranked", rated=True)), until=9)
    match = (await bench.submit(match, bench.ruleset.game.resign(0))).step.match
    with pytest.raises(Refusal, match="fork an earlier one"):
        await fork(bench, match, match.version)
    begun = await fork(bench, match, match.version - 1)
    assert (await bench.play(begun)).result != match.result


async def test_who_had_left_the_match_plays_again_unless_the_rules_count_the_seat_out() -> None:
    """Stand-ins are of the match; a seat that resigned by the game's own rules [P-52] stays so."""
    bench = Bench(game="pacific")
    match = await bench.create(table(4, stand_in_policy="greedy"))
    for seat in (3, 2, 1):
        match = (await bench.submit(match, bench.ruleset.game.resign(seat), request_id="leave")).step.match
    assert match.conduct.leavers[0] == Leaver(3, LeaveCause.RESIGNED, "greedy")
    assert (await fork(bench, match, 3)).conduct.leavers == ()
    plain = await bench.create(table(4), request_id="plain")
    plain = await bench.play((await bench.submit(plain, bench.ruleset.game.resign(3))).step.match)
    begun = await fork(bench, plain, 5)
    assert (begun.conduct.leavers, 3 in begun.to_act, begun.state.resigned) == ((), False, (3,))
    done = await bench.play(begun)
    assert done.result is not None
    assert (done.result.reason, report(await file_of(bench, done)).cause) == (CloseReason.PLAYED_OUT, None)


async def test_a_fork_asked_for_again_is_the_same_match() -> None:
    """[request_id] Whoever answers; with another content it is refused, and of another player it is another match."""
    bench = Bench()
    original = await played(bench)
    first = await fork(bench, original, 5, name="mine")
    again = await fork(bench.replica(), original, 5, name="mine")
    assert again == first
    with pytest.raises(CommandIdReused):
        await fork(bench, original, 6, name="mine")
    assert (await fork(bench, original, 6, name="mine", who=ADA)).match_id != first.match_id


@pytest.mark.parametrize(
    ("seats", "field"),
    [
        ((ForkSeat(),), "seats"),
        ((ForkSeat(),) * 3, "seats"),
        ((BOT, ForkSeat("perfect")), "seats[1].bot_policy"),
        ((ForkSeat("greedy", b"x"), BOT), "seats[0].client_entropy"),
        ((ForkSeat(client_entropy=b"x" * 33), BOT), "seats[0].client_entropy"),
    ],
)
async def test_seats_that_a_fork_cannot_have_are_named(seats: tuple[ForkSeat, ...], field: str) -> None:
    """[BAD_REQUEST] As many as the original has, each the caller's or a bot's."""
    bench = Bench()
    with pytest.raises(Refusal) as refused:
        await fork(bench, await played(bench), 3, *seats)
    assert refused.value.fields.keys() == {field}


def test_a_version_counts_from_1() -> None:
    """[BAD_REQUEST] Also where none is given."""
    with pytest.raises(Refusal) as refused:
        check_version(0, "version")
    assert refused.value.reason == "BAD_REQUEST"


async def test_the_past_of_a_fork_is_shown_as_each_seat_saw_it_while_it_is_open() -> None:
    """One who forks may know all; whom the fork is shown to sees it as any open match."""
    bench = Bench()
    begun = await fork(bench, await played(bench), 9)
    with pytest.raises(Refusal) as refused:
        await bench.referee.look(ADA, begun.match_id, 0, version=None)
    assert refused.value.reason == "SEAT_NOT_YOURS"
    for seat in (0, 1):
        assert (await bench.referee.look(EVE, begun.match_id, seat, version=1)).state == begun.state


async def test_a_player_may_hold_both_seats_and_play_them() -> None:
    """Each command is its seat's."""
    bench = Bench()
    begun = await fork(bench, await played(bench), 9)
    seat = begun.to_act[0]
    after = await bench.play(begun, until=8)
    assert after.version == 8
    assert (await bench.submit(after, next_command(after))).step.version == 9
    assert seat in (0, 1)


@pytest.fixture
async def forked() -> tuple[list[Commit], Match, bytes]:
    """A closed fork's commits, the match, and the file of its original."""
    bench = Bench()
    original = await played(bench)
    closed = await bench.play(await fork(bench, original, 9))
    return list(await bench.log.read(closed.match_id)), closed, await file_of(bench, original)


Forked = tuple[list[Commit], Match, bytes]


def spoiled(forked: Forked, first: Commit) -> AuditReport:
    """Audit the fork with another first commit and everything chained anew, beside its original."""
    commits, match, original = forked
    return report(file_with(match, chained(match, [first, *commits[1:]])), original)


async def test_a_past_that_is_not_the_originals_is_found_though_all_hashes_fit(forked: Forked) -> None:
    """Beside the original's file; by itself it may look right up to where it matters."""
    commits, match, original = forked
    other = await fork_of_another_match()
    assert spoiled(forked, replace(commits[0], events=(commits[0].events[0], *other[0].events[1:]))).ok is False
    short = replace(commits[0], events=commits[0].events[:-1])
    assert spoiled(forked, short).ok is False
    assert report(file_with(match, commits), original).ok is True


async def fork_of_another_match() -> Sequence[Commit]:
    bench = Bench()
    another = await bench.play(await bench.create(request_id="another"))
    return await bench.log.read((await fork(bench, another, 9)).match_id)


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"version": 10}, "was not like that at version 10"),
        ({"version": 9999}, "was not like that at version 9999"),
        ({"head": b"0" * 16}, "was not like that at version 9"),
    ],
)
async def test_an_origin_that_is_not_the_originals_is_found(
    forked: Forked, changes: dict[str, Any], cause: str
) -> None:
    """[MatchCreated.forked_from] Version and hash are compared."""
    first = forked[0][0]
    created = records.restore_created(first.events[0])
    assert created.forked_from is not None
    forged = records.store_created(replace(created, forked_from=replace(created.forked_from, **changes)))
    found = spoiled(forked, replace(first, events=(forged, *first.events[1:])))
    assert (found.ok, found.version) == (False, 1)
    assert found.cause is not None
    assert found.cause.endswith(cause)


@pytest.mark.parametrize("kept", [1, 2, 3])
async def test_a_fork_whose_past_does_not_fold_is_wrong_by_itself(forked: Forked, kept: int) -> None:
    """Without the original's file, too; and nothing breaks."""
    commits, match, _ = forked
    torn = replace(commits[0], events=(commits[0].events[0], *commits[0].events[-kept:]))
    found = report(file_with(match, chained(match, [torn, *commits[1:]])))
    assert found.ok is False


async def test_the_report_says_that_a_past_was_not_checked(forked: Forked) -> None:
    """And what to do about it."""
    commits, match, original = forked
    raw = file_with(match, commits)
    assert report(raw).sentence().endswith("at version 9, which was not checked: add its file")
    assert report(raw, original).sentence().endswith("at version 9, as that match has it")


async def test_a_player_forks_no_faster_than_the_limit_allows() -> None:
    """[LIMIT_REACHED] Each fork stays; so they are counted as tables are."""
    bench = Bench()
    bench.forking = bench.forking_at(1)
    original = await played(bench)
    await fork(bench, original, 1)
    with pytest.raises(Refusal) as refused:
        await fork(bench, original, 1)
    assert refused.value.reason == "LIMIT_REACHED"


async def test_the_file_of_the_original_is_found_among_those_that_are_audited(
    forked: Forked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """[docs/audit] In whatever order they are named."""
    commits, match, original = forked
    fork_file, original_file = tmp_path / "fork.jsonl", tmp_path / "original.jsonl"
    fork_file.write_bytes(file_with(match, commits))
    original_file.write_bytes(original)
    code = exit_code("audit", fork_file, original_file)
    first, second = capsys.readouterr().out.splitlines()
    assert (code, "as that match has it" in first, "all right" in second) == (0, True, True)


async def test_an_archived_match_is_forked_like_any_other() -> None:
    """[ForkMatch] By the same port; and asked for again it is the same fork."""
    depot = Depot()
    await depot.archived()
    (match_id,) = depot.archive.files
    original = await depot.bench.matches.fresh(match_id)
    begun = await fork(depot.bench, original, 2, name="mine")
    assert begun.state == (await depot.bench.matches.at(match_id, 2)).state
    assert await fork(depot.bench, original, 2, name="mine") == begun
