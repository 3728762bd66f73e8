"""Engines: what carries out a trial."""
