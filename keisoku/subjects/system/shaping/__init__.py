"""Limits of a switch's ports: set with HTB, written down before, removed on every exit, by a guard if necessary."""
