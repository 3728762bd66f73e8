"""Tables of simulated stateful devices by chance, and how many connections each really holds."""

from __future__ import annotations

import random


def bucket(number: int, buckets: int) -> int:
    """The bucket of a connection, as core/src/simulated/connections.rs states it (splitmix64)."""
    mask = (1 << 64) - 1
    value = (number + 1) * 0x9E3779B97F4A7C15 & mask
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & mask
    value = (value ^ value >> 27) * 0x94D049BB133111EB & mask
    return (value ^ value >> 31) % buckets


def first_without_room(buckets: int, entries: int) -> int:
    """How many connections fit before one finds its bucket full."""
    held = [0] * buckets
    for number in range(1 << 24):
        own = bucket(number, buckets)
        if held[own] == entries:
            return number
        held[own] += 1
    raise AssertionError


def hidden(seed: int) -> tuple[str, int]:
    """A random table, and how many connections it really holds."""
    draw = random.Random(seed)
    entries = draw.randint(20, 4_000)
    table, truth = f"entries = {entries}\nwhen_full = '{draw.choice(['refuse', 'evict'])}'\n", entries
    kind = draw.choice(["plain", "ports", "buckets"])
    if kind == "ports":
        ports = draw.randint(10, 4_000)
        table, truth = f"{table}ports = {ports}\n", min(entries, ports)
    elif kind == "buckets":
        buckets, room = draw.randint(20, 300), draw.randint(4, 16)
        table = f"{table}buckets = {buckets}\nbucket_entries = {room}\n"
        truth = min(entries, first_without_room(buckets, room))
    return table, truth
