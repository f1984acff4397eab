"""What every process shares: settings, identity, logging, metrics, errors, server lifecycle."""
