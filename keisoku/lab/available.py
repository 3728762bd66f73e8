"""Whether this process can make labs: it tries in a temporary namespace without a name, and gives the reason if not."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyroute2 import IPRoute, NetlinkError

from keisoku.host.namespace import FOLDER, apart

_NEEDED = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21}


def available() -> str | None:
    """None if labs can be made here, else the reason and the remedy in one sentence."""
    if sys.platform != "linux":
        return "a lab needs Linux network namespaces; use a simulated device (sim:NAME) here"
    missing = _missing_capabilities()
    if missing:
        needed = " and ".join(missing)
        return f"a lab needs root ({needed}); run it as root, or use a simulated device (sim:NAME)"
    if not os.access(FOLDER if FOLDER.exists() else FOLDER.parent, os.W_OK, effective_ids=True):
        return f"a lab needs to write to {FOLDER}; make that possible, or use a simulated device (sim:NAME)"
    try:
        apart(_try_links)
    except (OSError, NetlinkError) as error:
        return (
            f"a lab needs network namespaces with veth pairs and bridges, and this kernel or container "
            f"refuses them ({error}); run it on the host, or use a simulated device (sim:NAME)"
        )
    return None


def _missing_capabilities() -> list[str]:
    lines = Path("/proc/thread-self/status").read_text().splitlines()
    effective = next(int(line.split()[1], 16) for line in lines if line.startswith("CapEff"))
    return [name for name, bit in _NEEDED.items() if not effective >> bit & 1]


def _try_links() -> None:
    with IPRoute() as ip:
        ip.link("add", ifname="t1", kind="veth", peer={"ifname": "d1"})
        ip.link("add", ifname="bridge", kind="bridge")
