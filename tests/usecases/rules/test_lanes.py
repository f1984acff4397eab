"""How those are woken who watch one match."""

from __future__ import annotations

import asyncio

from promontory.rules.lane import WOKEN_AT_ONCE, Lane
from tests.support.refereeing import Bench

CROWD = 3 * WOKEN_AT_ONCE + 1


async def test_a_crowd_is_woken_in_its_order_and_others_have_their_turn_meanwhile() -> None:
    """[WatchMatch] Whoever watches or plays another match does not wait for all of them."""
    bench = Bench()
    lane = Lane((await bench.create()).match_id, bench.matches, bench.matches)
    loop, woken = asyncio.get_running_loop(), list[int | str]()

    async def watch(number: int) -> None:
        await lane.change(loop.create_future())
        woken.append(number)

    async def another() -> None:
        await asyncio.sleep(0)
        woken.append("another")

    crowd = [asyncio.create_task(watch(number)) for number in range(CROWD)]
    await asyncio.sleep(0)
    lane.wake()
    await asyncio.gather(another(), *crowd)
    assert [each for each in woken if each != "another"] == list(range(CROWD))
    assert woken.index("another") <= 2 * WOKEN_AT_ONCE


async def test_who_left_a_crowd_is_not_woken_and_holds_up_nobody() -> None:
    """[WatchMatch] Somebody leaves after the change, before it is their turn."""
    bench = Bench()
    lane = Lane((await bench.create()).match_id, bench.matches, bench.matches)
    loop = asyncio.get_running_loop()
    crowd = [asyncio.create_task(lane.change(loop.create_future())) for _ in range(CROWD)]
    await asyncio.sleep(0)
    lane.wake()
    crowd[-2].cancel()
    told = await asyncio.gather(*crowd, return_exceptions=True)
    assert [each for each in told if each is not True] == [told[-2]]
    assert isinstance(told[-2], asyncio.CancelledError)
