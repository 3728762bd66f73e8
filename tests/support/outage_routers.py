"""Beds of interruptions with real protocols: two VRRP routers by keepalived, and a router that learns a route by BGP.

When the way is there again is up to the daemons, so that the truth is what another program sees at the receiving host.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from keisoku.ground.host.namespace import run_in_namespace
from keisoku.ground.host.program import Program
from keisoku.ground.lab.daemons import Daemons
from keisoku.ground.lab.device.vrrp import KEEPALIVED
from keisoku.ground.lab.frr import BGPD, ZEBRA, FrrRouter
from support.outage_bed import FAR, NEAR, Bed, forward, raised

SERVICE = "198.18.43.1"
"""The far host's address that is announced by BGP."""
_PATIENCE_S = 60.0
_ROUTERS = {"router": (200, "251"), "spare": (100, "252")}
"""Priorities, and the ends of their own addresses."""
Change = Callable[[], object]


class _Routed(Bed):
    """With daemons, which end with it."""

    def __init__(self) -> None:
        super().__init__()
        self._daemons: list[Daemons] = []

    def __exit__(self, *what: object) -> None:
        for one in self._daemons:
            one.end()
        super().__exit__(*what)

    def _of(self, key: str) -> Daemons:
        made = Daemons(self.name(key))
        self._daemons.append(made)
        made.make_directory(passable=True)
        return made


class VrrpBed(_Routed):
    """Both hosts are at a switch with both routers, which share the gateways' addresses; `router` is the master."""

    def _build(self) -> None:
        for host, name, address in (("near", "a", NEAR), ("far", "b", FAR)):
            own = self.route[host]
            own.link("add", ifname="eth0", kind="bridge")
            bridge = own.link_lookup(ifname="eth0")[0]
            for key in _ROUTERS:
                with self.of[key].path.open("rb") as there:
                    own.link("add", ifname=f"to-{key}", kind="veth", peer={"ifname": name, "net_ns_fd": there.fileno()})
                own.link("set", index=own.link_lookup(ifname=f"to-{key}")[0], master=bridge, state="up")
            gateways = (f"{address[:-1]}1",)
            run_in_namespace(self.of[host].path, partial(raised, "eth0", [(address, 24)], gateways))
        for key in _ROUTERS:
            run_in_namespace(self.of[key].path, partial(self._raise_router, key))
        self._await_master("router")

    def causes(self) -> dict[str, tuple[Change, Change]]:
        """The master loses both links; the backup takes over by itself."""

        def cut() -> None:
            for name in ("a", "b"):
                self.route["router"].link("set", index=self.index("router", name), state="down")

        return {"VRRP": (cut, lambda: None)}

    def _raise_router(self, key: str) -> None:
        priority, own = _ROUTERS[key]
        forward()
        for name, address in (("a", NEAR), ("b", FAR)):
            raised(name, [(f"{address[:-1]}{own}", 24)], None)
        daemons = self._of(key)
        instances = "".join(
            f"vrrp_instance {name} {{\n state BACKUP\n interface {name}\n virtual_router_id {number}\n"
            f" priority {priority}\n advert_int 0.1\n virtual_ipaddress {{\n  {address[:-1]}1/24\n }}\n}}\n"
            for number, (name, address) in enumerate((("a", NEAR), ("b", FAR)), 1)
        )
        file, pids = (
            daemons.directory / "keepalived.conf",
            [daemons.directory / f"{one}.pid" for one in ("own", "vrrp")],
        )
        file.write_text(
            "global_defs {\n vrrp_version 3\n vrrp_garp_master_delay 0\n}\n"
            f"vrrp_sync_group both {{\n group {{\n  a\n  b\n }}\n}}\n{instances}"
        )
        words = ("--dont-fork", "--log-console", "--vrrp", "-f", str(file), "-p", str(pids[0]), "-r", str(pids[1]))
        daemons.start(KEEPALIVED, *words, ready=pids[1].exists, core=None, urgent=True)

    def _await_master(self, key: str) -> None:
        wanted = {f"{address[:-1]}1" for address in (NEAR, FAR)}
        until_s = time.monotonic() + _PATIENCE_S
        while not wanted <= {one.get("ifa_address") for one in self.route[key].get_addr(family=2)}:
            assert time.monotonic() < until_s, "no master"
            time.sleep(0.05)


class BgpBed(_Routed):
    """The router knows the way to `SERVICE` by a route that the far host announces by BGP."""

    def _build(self) -> None:
        super()._build()
        far = self.route["far"]
        far.addr("add", index=1, address=SERVICE, prefixlen=32)
        self._far = self._speaker("far", 65002, 65001, FAR[:-1] + "1", f" network {SERVICE}/32\n", BGPD)
        self._speaker("router", 65001, 65002, FAR, "", ZEBRA, BGPD)
        until_s = time.monotonic() + _PATIENCE_S
        while SERVICE not in {one.get("dst") for one in self.route["router"].get_routes(family=2)}:
            assert time.monotonic() < until_s, "no route"
            time.sleep(0.05)

    def causes(self) -> dict[str, tuple[Change, Change]]:
        """The far host withdraws its route, and announces it again."""

        def say(word: str) -> object:
            return self._far.ask("configure", "router bgp 65002", "address-family ipv4", f"{word}network {SERVICE}/32")

        return {"BGP withdrawal": (lambda: say("no "), lambda: say(""))}

    def _speaker(self, key: str, own: int, other: int, neighbour: str, more: str, *programs: Program) -> FrrRouter:
        router = FrrRouter(self._of(key), key)
        text = (
            f"router bgp {own}\n bgp router-id {neighbour}\n no bgp ebgp-requires-policy\n"
            f" no bgp network import-check\n neighbor {neighbour} remote-as {other}\n"
            f" neighbor {neighbour} advertisement-interval 0\n neighbor {neighbour} timers connect 1\n"
            f" address-family ipv4 unicast\n {more} exit-address-family\n"
        )
        # Without zebra it announces, and changes no route of its host.
        options: dict[Program, Sequence[str]] = {} if ZEBRA in programs else {BGPD: ("-Z",)}
        texts = {one: text if one is BGPD else "" for one in programs}
        run_in_namespace(self.of[key].path, lambda: router.start(texts, None, options))
        return router
