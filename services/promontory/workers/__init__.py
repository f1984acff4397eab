"""The Celery app and its tasks: bot turns, end-of-game tallies."""
