"""Capacity between two ends, from packet pairs and trains."""
