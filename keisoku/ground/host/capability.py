"""What the kernel lets this thread do besides what every user may (capabilities(7))."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

BITS = {
    "CAP_CHOWN": 0,
    "CAP_DAC_OVERRIDE": 1,
    "CAP_KILL": 5,
    "CAP_SETGID": 6,
    "CAP_SETUID": 7,
    "CAP_NET_BIND_SERVICE": 10,
    "CAP_NET_ADMIN": 12,
    "CAP_NET_RAW": 13,
    "CAP_SYS_CHROOT": 18,
    "CAP_SYS_ADMIN": 21,
    "CAP_SYS_NICE": 23,
    "CAP_PERFMON": 38,
    "CAP_BPF": 39,
}
"""Those that something here needs (linux/capability.h)."""


def effective() -> int:
    """The effective ones of the calling thread, a bit each."""
    lines = Path("/proc/thread-self/status").read_text().splitlines()
    return next(int(line.split()[1], 16) for line in lines if line.startswith("CapEff"))


def missing(names: Iterable[str]) -> list[str]:
    """Those of `names` (of `BITS`) that the calling thread has not."""
    has = effective()
    return [name for name in names if not has >> BITS[name] & 1]
