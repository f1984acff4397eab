"""What the relay's tests play in."""

from tests.support.house_fixtures import house, place, publisher

__all__ = ["house", "place", "publisher"]
