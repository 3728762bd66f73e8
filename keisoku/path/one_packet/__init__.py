"""Bandwidth out and back of every hop, from single packets and their ICMP replies."""
