"""What the archive's tests play in."""

from tests.support.house_fixtures import place, publisher

__all__ = ["place", "publisher"]
