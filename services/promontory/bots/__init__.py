"""Policies that choose a command from a seat's view; pure."""
