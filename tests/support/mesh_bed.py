"""Many hosts behind one bridge, each in a namespace of its own, whose ports at the bridge can be cut.

Every host knows the addresses of all others: the kernel's table of neighbours is one for all namespaces, and has no
room for those of fifty hosts that ask each other.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from contextlib import ExitStack

from pyroute2 import IPRoute

from keisoku.ground.host.namespace import Namespace, run_in_namespace
from keisoku.ground.host.undo import record, undo
from support.outage_bed import Truth

_numbers = itertools.count(8_000)
_PATIENCE_S = 60.0
_BRIDGE = "b"


class MeshBed:
    """The namespaces of a switch and of its hosts; made on entry, removed on exit."""

    def __init__(self, hosts: int) -> None:
        number = next(_numbers)
        names = ["switch", *(f"server{place}" for place in range(1, hosts + 1))]
        self._switch, *self._hosts = [Namespace(f"keisoku-{os.getpid()}-{number}-{name}") for name in names]
        self.addresses = [f"198.18.50.{place}" for place in range(1, hosts + 1)]
        self.ends = [f"{address}@{host.name}" for address, host in zip(self.addresses, self._hosts, strict=True)]
        """As `keisoku outage mesh` takes them."""

    def __enter__(self) -> MeshBed:
        self._entries = [record("namespace", name=one.name) for one in (self._switch, *self._hosts)]
        self._stack = ExitStack()
        try:
            for one in (self._switch, *self._hosts):
                one.create()
            self._route = self._stack.enter_context(IPRoute(netns=str(self._switch.path)))
            # A bridge whose ports forward as soon as they are up.
            self._route.link("add", ifname=_BRIDGE, kind="bridge", br_forward_delay=0, br_stp_state=0)
            self._bridge = int(self._route.link_lookup(ifname=_BRIDGE)[0])
            self._route.link("set", index=self._bridge, state="up")
            self.ports = [self._connected(place) for place in range(len(self._hosts))]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        undo(*self._entries)

    def cut(self, place: int, length_s: float) -> Truth:
        """Lets nothing through at the port of a host for so long, and says when."""
        begun = self._set(place, "down")
        time.sleep(max(0.0, begun[0] / 1e9 + length_s - time.monotonic()))
        since_ns, _ = self._set(place, "up")
        # The bridge forwards as soon as the kernel has seen the carrier, which it does a little later.
        until_s = time.monotonic() + _PATIENCE_S
        while self._route.get_links(self.ports[place])[0].get_attr("IFLA_OPERSTATE") != "UP":
            assert time.monotonic() < until_s, "the link does not come up"
        return Truth(begun, (since_ns, time.monotonic_ns()))

    def cut_for_good(self, place: int) -> None:
        self._set(place, "down")

    def _set(self, place: int, state: str) -> tuple[int, int]:
        before_ns = time.monotonic_ns()
        self._route.link("set", index=self.ports[place], state=state)
        return before_ns, time.monotonic_ns()

    def _connected(self, place: int) -> int:
        name = f"p{place + 1}"
        with self._hosts[place].path.open("rb") as there:
            peer = {"ifname": "eth0", "net_ns_fd": there.fileno(), "address": _mac(place)}
            self._route.link("add", ifname=name, kind="veth", peer=peer)
        index = int(self._route.link_lookup(ifname=name)[0])
        run_in_namespace(self._hosts[place].path, self._host(place))
        self._route.link("set", index=index, master=self._bridge, state="up")
        return index

    def _host(self, place: int) -> Callable[[], None]:
        def configure() -> None:
            with IPRoute() as route:
                for name in ("lo", "eth0"):
                    (index,) = route.link_lookup(ifname=name)
                    route.link("set", index=index, state="up")
                route.addr("add", index=index, address=self.addresses[place], prefixlen=24)
                for other, address in enumerate(self.addresses):
                    if other != place:
                        route.neigh("add", dst=address, lladdr=_mac(other), ifindex=index, state="permanent")

        return configure


def _mac(place: int) -> str:
    return f"02:00:00:00:50:{place + 1:02x}"
