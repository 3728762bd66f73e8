"""Bandwidth and delay of IP paths: one packet, pairs and trains, and delay with STAMP."""
