"""Simulated systems, whose true state is known."""
