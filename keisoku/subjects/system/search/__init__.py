"""The search and the sweep for the best limit."""
