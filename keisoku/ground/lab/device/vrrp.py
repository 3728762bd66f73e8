"""`Vrrp`: two routers that share an address by keepalived, with a bridge before them and a port behind each.

Acts on the namespaces of the device, never on the host's own.
"""

from __future__ import annotations

import time
from functools import partial
from typing import ClassVar

from pydantic import field_validator
from pyroute2 import IPRoute

from keisoku.errors import EngineError
from keisoku.ground.host.namespace import Namespace
from keisoku.ground.host.program import Program
from keisoku.ground.lab.device import iproute
from keisoku.ground.lab.device import kernel_part as part
from keisoku.ground.lab.device.ability import EventfulDevice
from keisoku.ground.lab.device.bridge import bridge
from keisoku.ground.lab.device.device import Site
from keisoku.ground.lab.device.interface import set_sysctl, whole_frames
from keisoku.ground.lab.device.kernel_part import KernelPart
from keisoku.ground.lab.device.nftables import NFT, cut, rejoin, withhold
from keisoku.ground.lab.device.parameter import time_ns
from keisoku.ground.lab.device.passage import Passage, routed
from keisoku.ground.lab.device.port import LabPort
from keisoku.ground.lab.device.router import forward, know_tester

KEEPALIVED = Program("keepalived", "keepalived")
_VIRTUAL_MAC = "00:00:5e:00:01:01"
"""RFC 5798 §7.3, of virtual router 1."""
_LAN_MACS = {"master": "02:6b:73:00:05:01", "backup": "02:6b:73:00:05:02"}
_PRIORITIES = {"master": 200, "backup": 100}
_PATIENCE_S = 20.0
_LOOK_S = 0.02


class Vrrp(EventfulDevice):
    """Two VRRP routers by keepalived: port 1 is before them, port 2 behind the master and port 3 behind the backup.

    Both lead IPv4 frames for port 2's network to the port behind them, whichever that is.
    """

    family: ClassVar[str] = "vrrp"
    title: ClassVar[str] = "VRRP pair of keepalived"
    parameters: ClassVar[str] = "advert=100ms"
    l3: ClassVar[bool] = True
    most_ports: ClassVar[int] = 3
    places: ClassVar[tuple[str, ...]] = ("dut", "router1", "router2")
    programs: ClassVar[tuple[Program, ...]] = (iproute.IP, NFT, KEEPALIVED)
    parts: ClassVar[tuple[KernelPart, ...]] = (part.MACVLAN,)
    events: ClassVar[tuple[str, ...]] = ("master-killed", "link-down")

    advert: str = "100ms"
    """Time between two advertisements; the backup waits for three and a part of one (RFC 5798 §6.1)."""

    @field_validator("advert")
    @classmethod
    def _advert(cls, text: str) -> str:
        if not 10_000_000 <= time_ns(text) <= 40 * 10**9:
            raise ValueError
        return text

    def addressed(self, port: int) -> tuple[str, ...]:
        """IPv4."""
        return ("ipv4",)

    def passage(self, tx: LabPort, rx: LabPort) -> Passage:
        """From port 1 the next hop is the virtual router."""
        found = routed(tx, rx)
        macs = (_VIRTUAL_MAC,) if tx.interface == "t1" else found.next_hop_macs
        sent, arrives = found.sent["ipv4"], found.arrives["ipv4"]
        if tx.interface == "t1":
            sent = sent.replace(str(tx.dut_mac), _VIRTUAL_MAC)
        if rx.interface == "t1":
            arrives = arrives.replace(str(rx.dut_mac), _LAN_MACS["master"])
        return Passage(macs, 0, {"ipv4": sent}, {"ipv4": arrives})

    def build(self, site: Site) -> None:
        """Make the bridge with a line to each router, then the routers."""
        routers = site.places[1:]
        mtu = site.ports[0].mtu_bytes
        names = list(_PRIORITIES)
        iproute.ip(
            *(
                f"link add name {name} mtu {mtu} type veth peer name lan address {_LAN_MACS[name]} mtu {mtu} "
                f"netns {place.name}"
                for name, place in zip(names, routers, strict=True)
            )
        )
        for name in names:
            whole_frames(name)
        iproute.ip(*(f"link set dev {name} up" for name in names))
        own = str(site.ports[0].dut_interface)
        with IPRoute() as ip:
            bridge(ip, [own, *names])
        # The routers speak to each other and about themselves; a tester hears none of that.
        withhold(own, "ether daddr & ff:ff:ff:00:00:00 == 01:00:5e:00:00:00", "ether type arp")
        site.daemons.make_directory()
        for number, (name, place) in enumerate(zip(names, routers, strict=True), 1):
            port = site.ports[number] if number < len(site.ports) else None
            place.run(partial(self._raise, site, name, place, port))

    def begin(self, site: Site) -> None:
        """Wait until the master has the address."""
        site.places[1].run(_await_address)

    def happen(self, event: str, site: Site) -> None:
        """The master is lost: its process, or its link to the bridge."""
        if event == "master-killed":
            # Its kernel lives on and has the address still: it would answer the backup's own announcements, by which
            # the bridge learns again that the address is behind it. First, so that nothing passes without VRRP.
            site.places[1].run(partial(cut, "lan"))
            site.daemons.kill("keepalived-master")
        else:
            iproute.ip("link set dev master down")

    def mend(self, event: str, site: Site) -> None:
        """It is there again, and becomes the master again because of its priority."""
        if event == "master-killed":
            site.places[1].run(rejoin)
            site.places[1].run(partial(self._start, site, "master", site.places[1]))
        else:
            iproute.ip("link set dev master up")

    def _raise(self, site: Site, name: str, place: Namespace, port: LabPort | None) -> None:
        forward("1")
        for key in ("all", "default"):
            set_sysctl(f"ipv4/conf/{key}/rp_filter", "0")
        whole_frames("lan")
        iproute.ip("link set dev lo up", "link set dev lan up", f"addr add 198.18.1.{_own(name)}/24 dev lan")
        behind = site.ports[1]
        with IPRoute() as ip:
            first, lan = site.ports[0], ip.link_lookup(ifname="lan")[0]
            know_tester(ip, lan, first, first.ipv4)
            if port is not None:
                index = ip.link_lookup(ifname=port.dut_interface)[0]
                ip.addr("add", index=index, address=behind.dut_ipv4, prefixlen=24)
                # Whichever port is behind this router: it answers for the address that frames are sent to.
                know_tester(ip, index, port, behind.ipv4)
        self._start(site, name, place)

    def _start(self, site: Site, name: str, place: Namespace) -> None:
        folder = site.daemons.directory
        file = folder / f"{name}.conf"
        advert_s = time_ns(self.advert) / 1e9
        file.write_text(
            "global_defs {\n vrrp_version 3\n vrrp_garp_master_delay 0\n}\n"
            "vrrp_instance lab {\n"
            f" state BACKUP\n interface lan\n use_vmac vrrp\n virtual_router_id 1\n priority {_PRIORITIES[name]}\n"
            f" advert_int {advert_s:g}\n virtual_ipaddress {{\n  {site.ports[0].dut_ipv4}/32\n }}\n}}\n"
        )
        pids = [str(folder / f"{name}{kind}.pid") for kind in ("", "-vrrp")]
        for pid in pids:
            (folder / pid).unlink(missing_ok=True)
        site.daemons.start(
            KEEPALIVED,
            *("--dont-fork", "--log-console", "--vrrp", "-f", str(file), "-p", pids[0], "-r", pids[1]),
            ready=(folder / pids[1]).exists,
            core=site.core,
            name=f"keepalived-{name}",
            urgent=True,
        )


def _own(name: str) -> int:
    return 251 if name == "master" else 252


def _await_address() -> None:
    """In the master's namespace: until the virtual interface has its address."""
    deadline = time.monotonic() + _PATIENCE_S
    with IPRoute() as ip:
        while True:
            found = ip.link_lookup(ifname="vrrp")
            if found and any(one.get("ifa_address") for one in ip.get_addr(index=found[0], family=2)):
                return
            if time.monotonic() > deadline:
                raise EngineError(f"no router became the VRRP master in {_PATIENCE_S:g} s")
            time.sleep(_LOOK_S)
