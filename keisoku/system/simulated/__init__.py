"""Simulated systems, with their truth."""
