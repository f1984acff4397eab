"""The SDK: connect, queue, play, watch."""
