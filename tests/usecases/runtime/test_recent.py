"""What is kept within bounds."""

from __future__ import annotations

from promontory.runtime.recent import Recent


def test_what_was_not_used_for_longest_goes_first() -> None:
    """Reading a value is using it."""
    recent = Recent[str, int](2)
    recent.keep("one", 1)
    recent.keep("two", 2)
    assert recent.get("one") == 1
    recent.keep("three", 3)
    assert [recent.get(key) for key in ("one", "two", "three")] == [1, None, 3]


def test_a_key_has_one_value_and_may_be_dropped() -> None:
    recent = Recent[str, int](2)
    recent.keep("one", 1)
    recent.keep("one", 11)
    assert (recent.get("one"), list(recent.keys)) == (11, ["one"])
    recent.drop("one")
    recent.drop("one")
    assert list(recent.keys) == []
