"""Capacity between two ends, from pairs and trains."""
