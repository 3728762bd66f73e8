"""Two namespaces joined by a veth, each with an address: the shortest path on which packets leave and arrive."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass

from pyroute2 import IPRoute

from keisoku.ground.host.namespace import Namespace, run_in_namespace
from keisoku.ground.host.undo import record, undo

_numbers = itertools.count(9_000)


@dataclass(frozen=True)
class VethPair:
    """Paths of both namespaces and the IPv4 addresses there."""

    near: str
    far: str
    near_address: str = "198.18.7.1"
    far_address: str = "198.18.7.2"


@contextlib.contextmanager
def veth_pair(mtu: int = 1500) -> Iterator[VethPair]:
    """Made on entry, removed on exit."""
    number = next(_numbers)
    near, far = (Namespace(f"keisoku-{os.getpid()}-{number}-{end}") for end in ("tester", "dut"))
    entries = [record("namespace", name=end.name) for end in (near, far)]
    try:
        near.create()
        far.create()
        pair = VethPair(str(near.path), str(far.path))

        def plug() -> None:
            with IPRoute() as route, far.path.open("rb") as other:
                route.link("add", ifname="near", kind="veth", peer={"ifname": "far", "net_ns_fd": other.fileno()})

        run_in_namespace(near.path, plug)
        run_in_namespace(near.path, lambda: _raise("near", pair.near_address, mtu))
        run_in_namespace(far.path, lambda: _raise("far", pair.far_address, mtu))
        yield pair
    finally:
        undo(*entries)


def _raise(name: str, address: str, mtu: int) -> None:
    with IPRoute() as route:
        index = route.link_lookup(ifname=name)[0]
        route.addr("add", index=index, address=address, prefixlen=24)
        for raised in (index, 1):
            route.link("set", index=raised, state="up")
        route.link("set", index=index, mtu=mtu)
