"""The whole platform on one machine: its processes, its demonstration; and operators' tools."""
