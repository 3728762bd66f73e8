"""The other end of a veth, in whatever network namespace it is."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyroute2 import IPRoute, NetlinkError

from keisoku.errors import EngineError
from keisoku.ground.host.namespace import FOLDER, run_in_namespace
from keisoku.ground.host.namespace_names import namespace_files


@dataclass(frozen=True)
class FarEnd:
    """An interface, in the namespace at that path (None: this process's own)."""

    name: str
    namespace: Path | None
    enslaved: bool
    """It is a port of a bridge, a bond or the like."""

    def command(self, *words: str) -> str:
        """How root runs a command where the interface is."""
        within = ["sudo"]
        if self.namespace is not None and self.namespace.parent == FOLDER:
            within += ["ip", "netns", "exec", self.namespace.name]
        elif self.namespace is not None:
            within += ["nsenter", f"--net={self.namespace}"]
        return " ".join([*within, *words])


def far_end(name: str) -> FarEnd | None:
    """Of a veth in this thread's namespace; None if it is none, or its other end is where this process cannot look."""
    with IPRoute() as ip:
        link = next(iter(ip.get_links(ifname=name)), None)
        index = link and link.get_attr("IFLA_LINK")
        if link is None or index is None:
            return None
        number = link.get_attr("IFLA_LINK_NETNSID")
        if number is None:
            return _found(index, None)
        for path in namespace_files():
            with suppress(OSError, NetlinkError, EngineError), path.open("rb") as file:
                if ip.get_netnsid(fd=file.fileno())["nsid"] == number:
                    return run_in_namespace(path, partial(_found, index, path))
    return None


def _found(index: int, namespace: Path | None) -> FarEnd:
    """In this thread's namespace, which is that at the path."""
    with IPRoute() as ip:
        link = ip.get_links(index)[0]
        return FarEnd(link.get_attr("IFLA_IFNAME"), namespace, link.get_attr("IFLA_MASTER") is not None)
