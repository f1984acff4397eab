"""What benchmarks measure with: CPU time and memory of processes, percentiles, and variants in turns.

Machines differ and are noisy, so variants that are to be compared run in one run, in `turns`; what counts is CPU time
and the ratios between variants. A `Meter` also tells how much of the machine others used meanwhile.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from statistics import quantiles
from typing import TypeVar

import msgspec

T = TypeVar("T")

QUIET_CORES = 0.3
"""How much of the machine others may use while something is measured that is to count as quiet."""
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_MIB = 2**20


class Spread(msgspec.Struct, frozen=True, rename=lambda name: f"{name}_ms"):
    """Percentiles and the longest of some times, in ms; JSON has the unit in the names."""

    p50: float
    p95: float
    p99: float
    longest: float


class Measured(msgspec.Struct, frozen=True):
    """What a `Meter` saw: elapsed seconds, CPU seconds by name, and the cores that all other processes used."""

    seconds: float
    cpu: Mapping[str, float]
    foreign_cores: float

    @property
    def is_quiet(self) -> bool:
        """Whether others left the machine to this."""
        return self.foreign_cores <= QUIET_CORES


class Window(msgspec.Struct, frozen=True):
    """What was measured of a variant once: how long each move took, in seconds, and what a meter saw meanwhile."""

    times: Sequence[float]
    measured: Measured


class Played(msgspec.Struct, frozen=True):
    """Some windows of one variant together: `latency` is of the moves, `cpu_us` is CPU time a move, by name."""

    moves: int
    moves_per_second: float
    latency: Spread
    cpu_us: Mapping[str, float]
    foreign_cores: float
    quiet_windows: int


class Meter:
    """Measures from its creation on what the process trees in `pids`, by name, take; this process and its own are ours.

    A pid that is `os.getpid()` counts for itself, without its children.
    """

    def __init__(self, pids: Mapping[str, int]) -> None:
        self._pids = dict(pids)
        self._started, self._cpu, self._foreign = self._read()

    def read(self) -> Measured:
        """Return what was taken until now; call it as often as you like."""
        now, cpu, foreign = self._read()
        seconds = now - self._started
        taken = {name: round(after - self._cpu[name], 4) for name, after in cpu.items()}
        return Measured(seconds, taken, round(max(0.0, foreign - self._foreign) / seconds, 2))

    def _read(self) -> tuple[float, dict[str, float], float]:
        children = _children()
        cpu = {name: self._of(pid, children) for name, pid in self._pids.items()}
        foreign = _busy_seconds() - _tree_seconds(os.getpid(), children)
        return time.perf_counter(), cpu, foreign

    @staticmethod
    def _of(pid: int, children: Mapping[int, Sequence[int]]) -> float:
        return _own_seconds(pid) if pid == os.getpid() else _tree_seconds(pid, children)


def together(windows: Sequence[Window]) -> Played:
    """Return what was played in the windows of one variant: in the quiet ones, or in all if none was."""
    quiet = [each for each in windows if each.measured.is_quiet]
    counted = quiet or windows
    times = [time for each in counted for time in each.times]
    names = counted[0].measured.cpu
    return Played(
        moves=len(times),
        moves_per_second=round(len(times) / sum(each.measured.seconds for each in counted), 1),
        latency=spread(times),
        cpu_us={name: round(1e6 * sum(each.measured.cpu[name] for each in counted) / len(times), 1) for name in names},
        foreign_cores=round(sum(each.measured.foreign_cores for each in counted) / len(counted), 2),
        quiet_windows=len(quiet),
    )


def memory_mib(pid: int) -> float:
    """Return the memory that a process, without its children, has in use: its resident set."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / _MIB


def spread(seconds: Sequence[float]) -> Spread:
    """Return the percentiles of times given in seconds, one at least."""
    values = seconds if len(seconds) > 1 else [*seconds, *seconds]
    cuts = quantiles(values, n=100, method="inclusive")
    return Spread(*(round(1000 * each, 3) for each in (cuts[49], cuts[94], cuts[98], max(values))))


def turns(variants: Sequence[T], rounds: int, *, seed: int = 1) -> Iterator[T]:
    """Yield every variant once a round, in another order in each."""
    random = Random(seed)
    for _ in range(rounds):
        yield from random.sample(variants, len(variants))


def _stat(pid: int) -> Sequence[str]:
    """Return the fields of `/proc/<pid>/stat` from the state on, or none if the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ()


def _own_seconds(pid: int) -> float:
    fields = _stat(pid)
    return sum(map(int, fields[11:13])) / _TICKS_PER_SECOND


def _tree_seconds(pid: int, children: Mapping[int, Sequence[int]]) -> float:
    """Return the CPU time of a process, of its children that ended, and of those that run."""
    own = sum(map(int, _stat(pid)[11:15])) / _TICKS_PER_SECOND
    return own + sum(_tree_seconds(child, children) for child in children.get(pid, ()))


def _children() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and (fields := _stat(int(entry.name))):
            found.setdefault(int(fields[1]), []).append(int(entry.name))
    return found


def _busy_seconds() -> float:
    """Return how long the machine's cores were busy, with whatever."""
    with Path("/proc/stat").open() as lines:
        user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, lines.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / _TICKS_PER_SECOND
