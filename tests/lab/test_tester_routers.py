"""The tester's routers, without FRR's daemons, at a port of the lab."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from keisoku.ground.lab import tester_routers
from keisoku.ground.lab.device.lab import Lab
from keisoku.ground.lab.tester_routers import RouterInterface, RouterPlace

pytestmark = pytest.mark.lab


def test_a_router_starts_where_one_with_its_mac_address_has_just_stopped() -> None:
    """The kernel removes a namespace later, and a port refused the address until then ("Address already in use")."""
    with Lab("cable") as lab, ExitStack() as kept:
        port = lab.ports[0]
        at = port.interface, port.namespace_path, "00:00:01:01:01:01"
        interface = RouterInterface("e0", *at, ("1.1.1.1/24",), ("1.1.1.2",))
        for _ in range(2):
            with tester_routers.TesterRouters([RouterPlace([interface], {}, {}, {})]) as routers:
                # As a process that has not quite ended does, this keeps the namespace alive.
                kept.enter_context(routers.path(0).open("rb"))
