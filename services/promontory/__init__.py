"""Promontory: play ranked, turn-based board games; the SDK's front door."""

__version__ = "0.1.0"
