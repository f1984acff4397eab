"""The event log: streams of hash-chained commits, obligations, and the feed."""
