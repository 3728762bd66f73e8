"""Captures of ports: what a script wants, and the file that it gets."""
