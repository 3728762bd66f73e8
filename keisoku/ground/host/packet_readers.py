"""Programs that read all packets of an interface beside the kernel's own protocols, by packet sockets for ETH_P_ALL.

A switch in user space is one, and so is a sniffer: which of both the kernel does not know.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from keisoku.errors import EngineError
from keisoku.ground.host.namespace import run_in_namespace

_SOCKETS = Path("/proc/thread-self/net/packet")
_ALL_PROTOCOLS = "0003"
_ALL_INTERFACES = "0"


def packet_readers(namespace: Path, interface: int) -> list[str]:
    """Names of other processes with such a socket in the namespace of this file, at the interface of this number.

    Empty where the namespace has gone, or where the processes are hidden from this one.
    """
    try:
        text = run_in_namespace(namespace, _SOCKETS.read_text)
    except (OSError, EngineError):
        return []
    sockets: set[str] = set()
    for line in text.splitlines()[1:]:
        fields = line.split()
        if fields[3] == _ALL_PROTOCOLS and fields[4] in (_ALL_INTERFACES, str(interface)):
            sockets.add(f"socket:[{fields[-1]}]")
    return _holders(sockets) if sockets else []


def _holders(sockets: set[str]) -> list[str]:
    names: set[str] = set()
    for process in Path("/proc").iterdir():
        if not process.name.isdecimal() or int(process.name) == os.getpid():
            continue
        with suppress(OSError):
            files = (process / "fd").iterdir()
            if not sockets.isdisjoint(str(file.readlink()) for file in files):
                names.add((process / "comm").read_text().strip())
    return sorted(names)
