"""Names of the kernel's functions, modules and BPF programs among them, by their addresses (/proc/kallsyms)."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from pathlib import Path

from keisoku.errors import PlanError

_FUNCTIONS = "tTwW"
_PARTS = re.compile(r"\.(constprop|isra|part|cold|llvm)\b.*")
"""What the compiler adds to the name of a function that it made another one of."""


class KernelSymbols:
    """As they are when it is made: programs that are loaded later have no name.

    Raises PlanError for `field` if the kernel hides its addresses from this user.
    """

    def __init__(self, field: str, table: Path = Path("/proc/kallsyms")) -> None:
        found = []
        for line in table.read_text().splitlines():
            address, kind, name = line.split()[:3]
            if kind in _FUNCTIONS:
                found.append((int(address, 16), name))
        if not any(address for address, _ in found):
            raise PlanError(
                field,
                "the kernel hides where its functions are (kernel.kptr_restrict)",
                "run it as root, or with CAP_SYSLOG, or leave it out",
            )
        found.sort()
        self._addresses = [address for address, _ in found]
        self._names = [name for _, name in found]

    def name(self, address: int) -> str:
        """Of the function at this address, without what the compiler added; empty before the first one."""
        place = bisect_right(self._addresses, address)
        return _plain(self._names[place - 1]) if place else ""


@lru_cache(maxsize=4096)
def _plain(name: str) -> str:
    return _PARTS.sub("", name)
