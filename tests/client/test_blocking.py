"""The client without asyncio does what the other does."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from random import Random

import pytest

from promontory import Client, ClientClosed, NotFound, game
from promontory.bots.registry import policy
from promontory.client.tables import Readiness
from tests.client.conftest import HASTY, World
from tests.client.services import POOL

GREEDY = policy(game("transcontinental"), "greedy")
THREAD = "promontory-client"


@pytest.fixture
def blocking(world_apart: World) -> Iterator[Client]:
    """The client of `ada`."""
    with Client(world_apart.address, token=world_apart.token("ada"), timing=HASTY, retry_seconds=5) as client:
        yield client


def play(address: str, token: str) -> int:
    """Play a match of the ranked pool as the front page shows it, and return its last version."""
    with Client(address, token=token) as client:
        seated = client.play(POOL)
        for update in seated:
            if update.your_turn:
                seated.submit(GREEDY(update.view, Random(1)), expected_version=update.version)
        return update.version


def test_two_threads_play_a_match_to_its_end(world_apart: World) -> None:
    tokens = [world_apart.token(player) for player in ("ada", "bob")]
    with ThreadPoolExecutor() as threads:
        versions = list(threads.map(play, [world_apart.address] * 2, tokens))
    assert versions == [world_apart.referee.version] * 2


def test_a_ticket_is_waited_for_or_cancelled(world_apart: World, blocking: Client) -> None:
    ticket = blocking.enter(POOL)
    assert ticket.look().state == "waiting"
    assert [update.state for update in ticket] == ["waiting", "assigned"]
    assert ticket.seat().seat == 0
    assert blocking.ticket(ticket.ticket_id).assignment().match_id == world_apart.referee.match_id


def test_every_list_is_an_iterator(blocking: Client) -> None:
    assert [entry.rank for entry in blocking.leaderboard(POOL)] == [1, 2, 3]
    assert [step.match_id for step in blocking.rating_history(POOL)] == ["tc-1", "tc-2", "tc-3"]
    lists = (blocking.matches(), blocking.live_matches("transcontinental"), blocking.player_matches("ada"))
    assert [[entry.match_id for entry in each] for each in lists] == [["tc-1", "tc-2", "tc-3"]] * 3
    assert [commit.version for commit in blocking.match_events("transcontinental", "tc-000-test")] == [1]


def test_everything_else_is_a_call(world_apart: World, blocking: Client) -> None:
    seated = blocking.seat("transcontinental", world_apart.referee.match_id, 0)
    assert seated.legal().version == seated.look().version == 1
    assert blocking.rating(POOL).player_id == "ada"
    assert blocking.export_match("transcontinental", seated.match_id) == b"one two three"
    assert blocking.join_table("OPENSEAT").players == ("ada", "ada")
    assert blocking.table("table-1").invite_code == "OPENSEAT"
    assert blocking.pools()[0].pool == POOL
    assert seated.resign().is_over


def test_a_table_is_a_handle_as_in_the_other_client(blocking: Client) -> None:
    table = blocking.create_table("transcontinental")
    assert (table.table_id, table.match_id, blocking.tables()[0].table_id) == ("table-1", "", "table-1")
    assert table.ready().places[0].readiness is Readiness.READY
    assert table.kick("bob").revision == table.last.revision
    assert [update.state for update in table][-1] == table.start().state == "started"
    assert (table.seat().seat, table.match_id) == (0, table.look().match_id)
    assert (table.leave().close_reason, table.close().close_reason) == ("empty", "host_closed")
    assert blocking.rematch("tc-000-test").last.rematch_of == "tc-000-test"
    assert blocking.decline_rematch("tc-000-test").last.close_reason == "declined"


def test_errors_are_raised_where_the_call_was_made(blocking: Client) -> None:
    with pytest.raises(NotFound, match="POOL_NOT_FOUND"):
        blocking.play("no.such.pool")


def test_leaving_an_iteration_ends_its_stream(world_apart: World, blocking: Client) -> None:
    updates = blocking.spectate("transcontinental", world_apart.referee.match_id).updates()
    assert next(updates).version == 1
    assert world_apart.referee.open_streams == 1
    updates.close()  # type: ignore[attr-defined]
    blocking.pools()
    assert world_apart.referee.open_streams == 0


def test_nothing_runs_before_the_first_call_or_after_closing(world_apart: World) -> None:
    """Counted are the threads that there are beside those of the servers, of this test and of others."""
    client, servers = Client(world_apart.address, token=world_apart.token("ada")), names().count(THREAD)
    client.pools()
    assert names().count(THREAD) == servers + 1
    client.close()
    client.close()
    assert names().count(THREAD) == servers


def test_a_closed_client_says_so(blocking: Client) -> None:
    blocking.close()
    with pytest.raises(ClientClosed):
        blocking.pools()


def test_closing_ends_what_waits_in_another_thread(world_apart: World, blocking: Client) -> None:
    updates = blocking.spectate("transcontinental", world_apart.referee.match_id).updates()
    next(updates)
    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(next, updates)
        blocking.close()
        with pytest.raises(ClientClosed):
            waiting.result()


def test_an_interrupt_gives_up_the_ticket(world_apart: World, blocking: Client) -> None:
    """Whoever presses Ctrl-C while waiting must not be seated in a match that nobody plays."""
    world_apart.queue.open.clear()
    me = threading.main_thread().ident or 0
    world_apart.faults.on_call["WatchTicket"] = partial(signal.pthread_kill, me, signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        blocking.play(POOL)
    blocking.close()
    assert len(world_apart.faults.requests("CancelTicket")) == 1


FORK = """
import os, sys
import promontory

address, token, early = sys.argv[1:]
before = promontory.Client(address, token=token)
if early == "closed":
    with promontory.Client(address, token=token) as closed:
        closed.pools()
if early == "open":
    before.pools()
if os.fork():
    _, status = os.wait()
    before.pools()
    sys.exit(os.waitstatus_to_exitcode(status))
try:
    before.pools()
    with promontory.Client(address, token=token) as after:
        after.pools()
    os._exit(0)
except promontory.ForkError:
    os._exit(3)
"""


@pytest.mark.parametrize(
    ("early", "code"),
    [
        pytest.param("", 0, id="none was used before"),
        pytest.param("closed", 3, id="one was used before, which is refused instead of hanging now and then"),
        pytest.param("open", 3, id="one is open, which is refused instead of hanging"),
    ],
)
def test_a_client_works_in_a_forked_process(world_apart: World, early: str, code: int) -> None:
    program = [sys.executable, "-c", FORK, world_apart.address, world_apart.token("ada"), early]
    result = subprocess.run(program, capture_output=True, text=True, timeout=20, check=False)
    assert result.returncode == code, result.stderr


FORGETFUL = """
import sys, promontory
client = promontory.Client(sys.argv[1], token=sys.argv[2])
updates = iter(client.spectate("transcontinental", "tc-000-test"))
print(next(updates).version)
"""


def test_a_program_that_never_closes_its_client_ends_quietly(world_apart: World) -> None:
    program = [sys.executable, "-c", FORGETFUL, world_apart.address, world_apart.token("ada")]
    result = subprocess.run(program, capture_output=True, text=True, timeout=20, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "1\n", "")


def names() -> list[str]:
    return [thread.name for thread in threading.enumerate()]
