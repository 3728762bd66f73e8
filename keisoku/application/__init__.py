"""Whole systems of servers and clients: the limit in the network that serves them all best, found and held (E4).

What is here proposes limits and is told what the network showed; it does no I/O, reads no clock, and never asks a
server or a client anything. E4: KAKENHI report 2012–14, HTTP load through one switch with one client's port limited.
"""
