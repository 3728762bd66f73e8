"""Limits of a switch's ports: set with HTB, written down before, lifted on every exit, by a guard if need be."""
