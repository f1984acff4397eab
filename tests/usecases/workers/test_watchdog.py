"""The end of a worker whose task does not come to its own."""

from __future__ import annotations

import subprocess
import sys

from promontory.workers.watchdog import STUCK_EXIT_CODE

PATIENCE_SECONDS = 20

HANGING = """
import threading
from celery import Celery, signals
from promontory.workers.watchdog import Watchdog

def play_bot_turn():
    pass

task = Celery(set_as_current=False).task(play_bot_turn, shared=False)
turn = {"sender": task, "task_id": "bot|a match|0|1", "task": task}

def hang():
    signals.task_prerun.send(**turn)
    threading.Event().wait()

with Watchdog(0.5):
    threading.Thread(target=hang, daemon=True).start()
    while True:
        signals.task_prerun.send(**turn)
        signals.task_postrun.send(**turn)
        threading.Event().wait(0.1)
"""


def test_a_task_that_hangs_ends_its_worker_though_it_is_delivered_again() -> None:
    """The relay sends it again after a lease, and beside the first the same worker may take it, whose turn is gone."""
    ended = subprocess.run([sys.executable, "-c", HANGING], check=False, timeout=PATIENCE_SECONDS)
    assert ended.returncode == STUCK_EXIT_CODE
