"""Whether this process runs in a virtual kernel, and what that means. Loads nothing: every tester asks it."""

from __future__ import annotations

import os

from keisoku.language import phrase

INSIDE = "KEISOKU_VIRTUAL_KERNEL"
"""Variable that a program in a virtual kernel has."""
TIME = phrase(
    "The device is a Linux kernel in virtual time. Its clock moves on only when everything in it waits: work of its CPU"
    " takes no time, and no figure depends on how busy this host is."
)
"""What is said of every run in one."""


def is_inside() -> bool:
    """Whether this process runs in a virtual kernel."""
    return INSIDE in os.environ
