"""Latency of a path while it is idle and while it is loaded, and the queue that makes the difference."""
