"""Trains of packets between two ends, sent and stamped."""
