"""What is told of a commit, read as its receiver reads it."""

from __future__ import annotations

from typing import Any

from promontory.codec.registry import codec
from promontory.games.kernel import Seat
from promontory.rules.domain import Step
from promontory.rules.presenter import Presenter


def commit_told(present: Presenter, step: Step, audience: Seat | None) -> Any:
    """Return the `Commit` in the message of `WatchMatch` for `audience`."""
    messages: Any = codec(step.match.game).messages
    return messages.WatchMatchResponse.FromString(present.update(step, audience).message).commit
