"""Matchmaking: pools, tickets, proposals, assignments; the lobby."""
