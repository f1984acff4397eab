"""An alarm that is put off again and again."""

from __future__ import annotations

import asyncio
import weakref

from promontory.runtime.alarm import Alarm

SOON, LATER = 0.01, 3600


async def rung(seconds: float) -> None:
    """Return once an alarm has rung that was put off once."""
    bell = asyncio.Event()
    Alarm(bell.set).put_off(seconds)
    await asyncio.wait_for(bell.wait(), 20)


async def test_it_rings_when_its_time_is_over() -> None:
    """[Alarm] It does not ring by itself before."""
    rings: list[int] = []
    alarm = Alarm(lambda: rings.append(1))
    await rung(SOON)
    assert rings == []
    alarm.put_off(0)
    await rung(SOON)
    assert rings == [1]


async def test_what_is_put_off_again_does_not_ring() -> None:
    """[Alarm.put_off] Though a timer is set for the earlier time."""
    rings: list[int] = []
    alarm = Alarm(lambda: rings.append(1))
    alarm.put_off(SOON)
    alarm.put_off(LATER)
    await rung(2 * SOON)
    alarm.stop()
    assert rings == []


async def test_it_rings_sooner_if_it_is_put_off_for_less() -> None:
    """[Alarm.put_off] The last time is what counts; it rings once."""
    bell = asyncio.Event()
    alarm = Alarm(bell.set)
    alarm.put_off(LATER)
    alarm.put_off(SOON)
    await asyncio.wait_for(bell.wait(), 20)


async def test_what_is_stopped_does_not_ring() -> None:
    """[Alarm.stop] Nor when it is put off once more."""
    rings: list[int] = []
    alarm = Alarm(lambda: rings.append(1))
    alarm.put_off(SOON)
    alarm.stop()
    alarm.put_off(0)
    await rung(2 * SOON)
    assert rings == []


class Sleeper:
    """Has an alarm of its own."""

    def __init__(self) -> None:
        self.alarm = Alarm(self.wake)

    def wake(self) -> None:
        """Do nothing."""


async def test_who_stopped_their_alarm_is_free_at_once() -> None:
    """[Alarm.stop] A stream holds its match, which is not to wait for the next search for garbage."""
    sleeper = Sleeper()
    sleeper.alarm.put_off(LATER)
    sleeper.alarm.stop()
    left = weakref.ref(sleeper)
    del sleeper
    assert left() is None
