"""The form of log lines."""

from __future__ import annotations

import io
import json
import logging
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import structlog

from promontory.runtime import clock, logs


@pytest.fixture(autouse=True)
def set_up_again() -> Iterator[None]:
    """Leave logging as it was."""
    before, root = structlog.get_config(), logging.getLogger()
    handlers, level = root.handlers, root.level
    yield
    root.handlers = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)
    structlog.configure(**before)
    structlog.contextvars.clear_contextvars()


def written(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """Return the lines written to standard output."""
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("style", ["json", "auto"])
def test_a_line_is_one_json_object(capsys: pytest.CaptureFixture[str], style: str) -> None:
    """[style 8] JSON unless on a terminal: event, level, time in UTC, process, and the keys."""
    logs.configure("relay", style=style)
    structlog.get_logger().info("relay_stopped", match_id="tc-1", text="two\nlines", path=object)
    (line,) = written(capsys)
    assert datetime.fromisoformat(line.pop("timestamp")).tzinfo == UTC
    assert line == {
        "event": "relay_stopped",
        "level": "info",
        "process": "relay",
        "match_id": "tc-1",
        "text": "two\nlines",
        "path": "<class 'object'>",
    }


class Pieces(io.StringIO):
    """An unbuffered standard output: what is written in one piece is seen in one."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []

    def write(self, text: str) -> int:
        self.pieces.append(text)
        return len(text)


def test_a_line_and_its_end_are_written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is killed between two writes would spoil the first line of its successor."""
    output = Pieces()
    monkeypatch.setattr("sys.stdout", output)
    logs.configure("relay", style="json")
    structlog.get_logger().info("relay_stopped")
    assert [piece[-1] for piece in output.pieces] == ["\n"]


@pytest.mark.parametrize(
    ("level", "shown"),
    [
        ("debug", ["debug", "info", "warning", "error"]),
        ("info", ["info", "warning", "error"]),
        ("warning", ["warning", "error"]),
        ("error", ["error"]),
    ],
)
def test_lines_below_the_level_are_left_out(capsys: pytest.CaptureFixture[str], level: str, shown: list[str]) -> None:
    """[README, LOG_LEVEL] `debug`, `info`, `warning`, `error`."""
    logs.configure("relay", level=level)
    log = structlog.get_logger()
    [log.log(number, "told") for number in logs.LEVELS.values()]
    assert [line["level"] for line in written(capsys)] == shown


def _divide() -> None:
    secret = "swordfish"
    raise ZeroDivisionError(len(secret))


@pytest.fixture
def error() -> Exception:
    """An error with its trace."""
    with pytest.raises(ZeroDivisionError) as raised:
        _divide()
    return raised.value


def test_a_trace_stays_in_its_line_and_shows_no_values(capsys: pytest.CaptureFixture[str], error: Exception) -> None:
    """What a variable held, a token or a hand, is nobody's business."""
    logs.configure("relay")
    structlog.get_logger().error("rpc_refused", exc_info=error)
    (line,) = written(capsys)
    assert line["exception"].startswith("Traceback")
    assert "ZeroDivisionError: 9" in line["exception"]
    assert "raise ZeroDivisionError(len(secret))" in line["exception"]
    assert 'secret = "swordfish"' not in line["exception"]


def test_what_libraries_say_is_a_line_like_all_others(
    capsys: pytest.CaptureFixture[str], error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reads the log reads JSON, also of errors that nobody awaited; what is no warning is left out."""
    monkeypatch.setattr(logs, "log", structlog.get_logger())
    logs.configure("relay")
    logging.getLogger("asyncio").error("Task exception was never retrieved", exc_info=error)
    logging.getLogger("grpc").info("connected")
    logging.getLogger("grpc").warning("slow: %s s", 7)
    failed, warned = written(capsys)
    assert (failed["event"], failed["level"], failed["logger"]) == ("library_said", "error", "asyncio")
    assert (failed["text"], "ZeroDivisionError" in failed["exception"]) == ("Task exception was never retrieved", True)
    assert (warned["level"], warned["logger"], warned["text"]) == ("warning", "grpc", "slow: 7 s")


def test_on_a_terminal_lines_are_for_people(capsys: pytest.CaptureFixture[str], error: Exception) -> None:
    """[README, LOG_FORMAT] `console`; a trace too, without a warning of its own."""
    logs.configure("relay", style="console")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        structlog.get_logger().error("rpc_refused", code="INTERNAL", exc_info=error)
    out = capsys.readouterr().out
    assert "rpc_refused" in out
    assert "ZeroDivisionError" in out
    assert "swordfish" not in out


def test_clocks_agree() -> None:
    """The one place where processes read the time: UTC, in ms, and one that never goes back."""
    before, now, after = clock.now_ms(), clock.now(), clock.now_ms()
    assert before <= now.timestamp() * 1000 + 1 <= after + 2
    assert now.tzinfo == UTC
    assert clock.monotonic() <= clock.monotonic()


def test_a_pause_lasts_as_long_as_it_says() -> None:
    before = clock.monotonic()
    clock.pause(0.001)
    assert clock.monotonic() - before >= 0.001
