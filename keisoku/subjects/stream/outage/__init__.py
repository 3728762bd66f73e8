"""Interruptions between two ends, by numbered packets in both directions over ordinary sockets."""
