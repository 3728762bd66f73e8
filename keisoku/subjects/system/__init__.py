"""Whole systems of servers and clients: load, search for the best limit, and control of it."""
