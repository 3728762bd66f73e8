"""Interruptions between many ends: each pair of them, in both directions, at the same time."""
