"""Profiles the process that has this folder on its path from one SIGUSR2 to the next, which writes `BENCH_PROFILE`."""

import cProfile
import os
import signal

_profilers: list[cProfile.Profile] = []


def _toggle(*_: object) -> None:
    if _profilers:
        profiler = _profilers.pop()
        profiler.disable()
        profiler.dump_stats(os.environ["BENCH_PROFILE"])  # noqa: TID251 - nothing of the project is imported here
    else:
        _profilers.append(cProfile.Profile())
        _profilers[0].enable()


if os.environ.get("BENCH_PROFILE"):  # noqa: TID251 - the same
    signal.signal(signal.SIGUSR2, _toggle)
