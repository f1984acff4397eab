"""What a player's command sets off is one trace over all processes. For `make monitoring-check`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from promontory.local.platform import Platform
from tests.support.collector import Collector, Seen, collecting
from tests.support.players import GAME, Journal, client_of, play_match
from tests.support.pools import POOLS_FILE
from tests.support.waiting import eventually

PLAYER = "player-who-is-nobody-s-business"
COMMANDS = 20
TOLD = {
    *("rpc.system", "rpc.grpc.status_code", "error.type"),
    *("messaging.system", "messaging.message.id", "messaging.destination.name"),
    *("promontory.match_id", "promontory.version", "promontory.events", "promontory.reason"),
    *("promontory.obligation", "promontory.attempt"),
}


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Collector, Platform]]:
    """A platform that sends every trace to the collector."""
    with collecting() as (collector, url):
        settings = {"PROMONTORY_POOLS_FILE": str(POOLS_FILE), "PROMONTORY_DRAIN_SECONDS": "5"}
        settings |= {"PROMONTORY_TRACES_URL": url, "PROMONTORY_TRACES_RATIO": "1"}
        with Platform(tmp_path_factory.mktemp("platform"), settings=settings) as platform:
            yield collector, platform


RULES, SUBMIT = f"rules.{GAME}", "TranscontinentalService/SubmitCommand"
TO_THE_BOT = [
    (RULES, SUBMIT),
    (RULES, "append"),
    ("relay", "publish promontory.play_bot_turn"),
    ("worker", "promontory.play_bot_turn"),
    (RULES, SUBMIT),
]
TO_THE_RATING = [
    (RULES, SUBMIT),
    (RULES, "append"),
    ("relay", "publish promontory.tally_match"),
    ("worker", "promontory.tally_match"),
    ("scoring", "ScoringService/TallyMatch"),
]


@pytest.mark.parametrize("steps", [TO_THE_BOT, TO_THE_RATING], ids=["to the bot's command", "to the rating"])
async def test_what_a_command_sets_off_is_one_trace(
    collected: tuple[Collector, Platform], steps: list[tuple[str, str]]
) -> None:
    """[style 8] Each step is the parent of the next; the last command of a match goes through four processes."""
    collector, platform = collected
    async with client_of(platform, PLAYER) as client:
        await play_match(client, f"{GAME}.ranked", Journal(), most=COMMANDS)

    async def seen() -> list[list[Seen]]:
        await asyncio.sleep(0.2)
        return [line for line in lines(collector) if [(each.process, each.name) for each in line] == steps]

    (line, *_) = await eventually(seen, seconds=30)
    told = {each.attributes.get("promontory.match_id") for each in line} - {None}
    assert (len({each.trace for each in line}), len(told)) == (1, 1)


async def test_spans_tell_neither_who_plays_nor_tokens(collected: tuple[Collector, Platform]) -> None:
    collector, _ = collected
    told = [pair for span in collector.spans for pair in span.attributes.items()]
    assert told
    assert {key for key, _ in told} - TOLD == set()
    assert [pair for pair in told if PLAYER in pair[1] or "eyJ" in pair[1]] == []


def lines(collector: Collector) -> list[list[Seen]]:
    """Return each span with all that it came from, the first of its trace first."""
    spans = list(collector.spans)
    by_id = {span.id: span for span in spans}
    return [_line(span, by_id) for span in spans]


def _line(span: Seen, by_id: dict[str, Seen]) -> list[Seen]:
    return [*(_line(by_id[span.parent], by_id) if span.parent in by_id else ()), span]
