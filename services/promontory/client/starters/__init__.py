"""The bots that `promontory bot new` writes: `<game>.py` for each game, and `<game>_search.py`, which looks ahead."""

FIRST_GAME = "transcontinental"
"""The game of a bot whose author names none."""
