"""Incompressible content, the same each time."""

from __future__ import annotations

import random


def random_bytes(count: int) -> bytes:
    """Seeded: it is content, not a secret."""
    return random.Random(8).randbytes(count)
