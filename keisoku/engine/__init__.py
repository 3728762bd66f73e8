"""Engines carry out a trial and return facts; the ports they use."""
