"""Limits of a switch's ports: set with HTB, written down before, lifted on every exit, by a guard if need be.

Never on an interface that carries somebody else's qdisc, and never without a journal of it.
"""
