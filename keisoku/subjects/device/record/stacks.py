"""Chains of calls in the kernel that were met while a trial's load ran, and how often. Holds facts only."""

from __future__ import annotations

from keisoku.frozen import Frozen
from keisoku.subjects.device.record.packed import Pairs

SENDER = "sender"
"""The sender while a batch is under way, and all that the kernel does with its frames there."""
SOFT_INTERRUPTS = "soft interrupts"
"""Those on CPUs on which no sender works, and in the kernel's threads for them."""


class Stack(Frozen):
    """One chain."""

    where: str
    """`SENDER`, `SOFT_INTERRUPTS`, or the name of a thread of the device's processes or of the kernel."""
    calls: tuple[int, ...]
    """Places in `Stacks.functions`, the innermost first; empty in a program of a user."""
    count: int
    """Samples."""
    batches_ns: Pairs = []
    """Of each of the sender's samples how long the batch took that came before, and that in which it lies."""


class Stacks(Frozen):
    """All of a trial."""

    functions: list[str]
    testers: list[str]
    """Those of them that are programs of the tester's ports."""
    found: list[Stack]
    lost: int
    """Samples for which there was no room."""
