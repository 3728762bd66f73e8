"""Whole systems of servers and clients: loaded, and the best limit for all found and held."""
