"""The rules service: referees the matches of one game, the only writer of their logs."""
