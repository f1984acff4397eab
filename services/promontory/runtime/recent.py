"""What was used last, within bounds."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Keeps at most `most` values; the one that was not used for longest is the first to go."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        """Return the value of `key`, which is used by that, or None if it is not kept."""
        if key in self._values:
            self._values.move_to_end(key)
        return self._values.get(key)

    def keep(self, key: K, value: V) -> None:
        """Keep `value` for `key`, instead of any other."""
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._most:
            self._values.popitem(last=False)

    def drop(self, key: K) -> None:
        """Keep nothing for `key`."""
        self._values.pop(key, None)

    @property
    def keys(self) -> Collection[K]:
        """The keys that have a value."""
        return self._values.keys()
