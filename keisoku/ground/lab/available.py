"""Whether this process can make labs: it tries in a temporary namespace without a name, and gives the reason if not."""

from __future__ import annotations

import os
import sys

from pyroute2 import IPRoute, NetlinkError

from keisoku.ground.host.capability import missing
from keisoku.ground.host.namespace import FOLDER, apart

_NEEDED = ("CAP_NET_ADMIN", "CAP_SYS_ADMIN")


def available() -> str | None:
    """None if labs can be made here, else the reason and the remedy in one sentence."""
    if sys.platform != "linux":
        return "a lab needs Linux network namespaces; use a simulated device (sim:NAME) here"
    if absent := missing(_NEEDED):
        needed = " and ".join(absent)
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


def _try_links() -> None:
    with IPRoute() as ip:
        ip.link("add", ifname="t1", kind="veth", peer={"ifname": "d1"})
        ip.link("add", ifname="bridge", kind="bridge")
