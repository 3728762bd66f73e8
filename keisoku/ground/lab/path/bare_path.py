"""`BarePath`: two namespaces of this host joined by a veth only, to measure what this machine can do by itself.

Interfaces keep the kernel's default offloads. It sends nothing.
"""

from __future__ import annotations

from pyroute2 import IPRoute

from keisoku.ground.lab.device import interface
from keisoku.ground.lab.lifetime import Lifetime

TESTER_ADDRESS, TARGET_ADDRESS = "198.18.7.1", "198.18.7.2"
_PREFIX = 24


class BarePath(Lifetime):
    """A context manager; removed on any exit. Raises PlanError where it is not possible, EngineError if making it
    fails."""

    kind = "bare path"

    def __init__(self, mtu: int = 1500) -> None:
        super().__init__()
        self._mtu = mtu

    @property
    def tester_namespace(self) -> str:
        """The name of the namespace to send from."""
        return self._namespaces[0].name

    @property
    def target_namespace(self) -> str:
        """The name of the namespace at the other end."""
        return self._namespaces[1].name

    def context(self) -> dict[str, object]:
        """The path as a record must state it."""
        return {"device": self.kind, "mtu": self._mtu}

    def _create(self, prefix: str) -> None:
        tester, target = (self._add_namespace(f"{prefix}-{end}") for end in ("tester", "target"))
        down, up = ({"ifname": name, "mtu": self._mtu} for name in ("down", "up"))
        tester.run(lambda: interface.make_pair(down, up, target.path))
        tester.run(lambda: _raise("down", TESTER_ADDRESS))
        target.run(lambda: _raise("up", TARGET_ADDRESS))

    def _end(self) -> None:
        return


def _raise(name: str, address: str) -> None:
    with IPRoute() as ip:
        index = ip.link_lookup(ifname=name)[0]
        ip.addr("add", index=index, address=address, prefixlen=_PREFIX)
        for raised in (1, index):
            ip.link("set", index=raised, state="up")
