"""What a player's command sets off is one trace over all processes. For `make monitoring-check`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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


def traces_through(collector: Collector, *steps: tuple[str, str]) -> list[Sequence[Seen]]:
    """Return the traces that hold all of `steps`: the process and the span's name."""
    wanted = set(steps)
    return [spans for spans in collector.traces().values() if wanted <= {(each.process, each.name) for each in spans}]


async def test_a_command_is_one_trace_to_the_bot_s_answer_and_the_last_one_to_the_rating(
    collected: tuple[Collector, Platform],
) -> None:
    """[style 8] Four processes: rules, relay, worker, scoring. Who plays, and what is held, is in none of the spans."""
    collector, platform = collected
    async with client_of(platform, PLAYER) as client:
        await play_match(client, f"{GAME}.ranked", Journal(), most=COMMANDS)

    rules, name = f"rules.{GAME}", "TranscontinentalService/SubmitCommand"

    async def answered() -> list[Sequence[Seen]]:
        steps = ((rules, name), (rules, "append"), ("relay", "publish promontory.play_bot_turn"))
        return traces_through(collector, *steps, ("worker", "promontory.play_bot_turn"))

    async def rated() -> list[Sequence[Seen]]:
        steps = ((rules, name), (rules, "append"), ("relay", "publish promontory.tally_match"))
        steps += (("worker", "promontory.tally_match"), ("scoring", "ScoringService/TallyMatch"))
        return traces_through(collector, *steps)

    (spans, *_) = await eventually(answered, seconds=30)
    by_id = {span.id: span for span in spans}
    submitted = [span for span in spans if span.name == name]
    lines = [list(map(by_id.get, _line(span, by_id))) for span in submitted]
    longest = max(lines, key=len)
    assert [(each.process, each.name) for each in longest if each] == [
        (rules, name),
        (rules, "append"),
        ("relay", "publish promontory.play_bot_turn"),
        ("worker", "promontory.play_bot_turn"),
        (rules, name),
    ]
    assert len({each.attributes["promontory.match_id"] for each in longest if each and each.process != "worker"}) == 1
    await eventually(rated, seconds=30)
    told = [(key, value) for span in collector.spans for key, value in span.attributes.items()]
    assert {key for key, _ in told} - TOLD == set()
    assert [pair for pair in told if PLAYER in pair[1] or "eyJ" in pair[1]] == []


def _line(span: Seen, by_id: dict[str, Seen]) -> list[str]:
    """Return the ids of the spans from the trace's first one to `span`."""
    return [*(_line(by_id[span.parent], by_id) if span.parent in by_id else ()), span.id]
