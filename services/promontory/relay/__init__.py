"""The relay: hands obligations of the logs to the workers, and plays for bots that fail."""
