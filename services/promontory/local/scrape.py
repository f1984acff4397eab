"""Figures read from the processes' Prometheus endpoints."""

from __future__ import annotations

import asyncio
import urllib.request
from collections.abc import Iterable, Sequence
from email.utils import parsedate_to_datetime

import msgspec
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from promontory.runtime import clock

SCRAPE_SECONDS = 5


class Scrape(msgspec.Struct, frozen=True):
    """The samples of several processes at one moment."""

    samples: tuple[Sample, ...]

    def total(self, name: str, **labels: str) -> float:
        """Return the sum of all samples called `name` that have `labels`."""
        return sum(sample.value for sample in self._matching(name, labels))

    def quantile(self, name: str, q: float) -> float:
        """Return the `q`-quantile (0..1) of the histogram `name` over all processes, in its own unit.

        Interpolated linearly within a bucket, as Prometheus does; 0 if nothing was observed.
        """
        buckets = self._buckets(name)
        rank = q * (buckets[-1][1] if buckets else 0)
        lower, below = 0.0, 0.0
        for bound, count in buckets:
            if count >= rank and count > below:
                return lower if bound == float("inf") else lower + (bound - lower) * (rank - below) / (count - below)
            lower, below = bound, count
        return 0.0

    def _buckets(self, name: str) -> Sequence[tuple[float, float]]:
        counts: dict[float, float] = {}
        for sample in self._matching(f"{name}_bucket", {}):
            bound = float(sample.labels["le"])
            counts[bound] = counts.get(bound, 0.0) + sample.value
        return sorted(counts.items())

    def _matching(self, name: str, labels: dict[str, str]) -> Iterable[Sample]:
        return (s for s in self.samples if s.name == name and labels.items() <= s.labels.items())


async def scrape(addresses: Iterable[str]) -> Scrape:
    """Return what `http://<address>/metrics` of every address shows now."""
    texts = await asyncio.gather(*(asyncio.to_thread(_fetch, address) for address in addresses))
    families = (family for text in texts for family in text_string_to_metric_families(text))
    return Scrape(tuple(sample for family in families for sample in family.samples))


def _fetch(address: str) -> str:
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=SCRAPE_SECONDS) as answer:
        return str(answer.read().decode())


class Shown(msgspec.Struct, frozen=True):
    """What one process shows of itself, and by how many seconds its clock is ahead, 0 for less than one."""

    samples: tuple[Sample, ...]
    skew_seconds: float

    def label(self, metric: str, name: str) -> str:
        """Return the label `name` of `metric`, or an empty text."""
        return next((sample.labels[name] for sample in self.samples if sample.name == metric), "")

    def value(self, metric: str) -> float | None:
        """Return the value of `metric`, None if it is not shown."""
        return next((sample.value for sample in self.samples if sample.name == metric), None)


def shown(address: str) -> Shown:
    """Return what the process at `address` shows now. Raises `OSError` if it does not answer."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=SCRAPE_SECONDS) as answer:
        text, date = answer.read().decode(), answer.headers["Date"]
    skew = parsedate_to_datetime(date).timestamp() + 0.5 - clock.now().timestamp()  # it tells whole seconds
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return Shown(tuple(samples), skew if abs(skew) > 1 else 0.0)
