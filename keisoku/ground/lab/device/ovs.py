"""Open vSwitch with its userspace datapath: `ovs`, `ovs-mpls`, `ovs-vxlan`. `Vswitch` runs the daemons."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, field_validator
from pyroute2 import IPRoute

from keisoku.ground.host.program import Program
from keisoku.ground.lab.device.device import LabDevice, Site
from keisoku.ground.lab.device.passage import HOPS, Passage, inside
from keisoku.ground.lab.device.port import LabPort
from keisoku.ground.lab.device.vswitch import PROGRAMS, Vswitch, await_carriers, configure
from keisoku.ground.lab.device.vxlan import NETWORK, TunnelEnd
from keisoku.ground.lab.device.weights import WeightsText, weights_of

MPLS_BYTES = 4
LABELS = {"ipv4": (104, 204), "ipv6": (106, 206)}
"""The labels at port 1 and, where labels are swapped, at port 2."""
_ETHERTYPES = {"ipv4": "0x0800", "ipv6": "0x86dd"}
_SWITCH = "switch"


class _Switched(LabDevice):
    """Frames pass a switch of `Vswitch`."""

    programs: ClassVar[tuple[Program, ...]] = PROGRAMS
    by_daemon: ClassVar[bool] = True

    def begin(self, site: Site) -> None:
        """The switch knows of the carriers."""
        await_carriers(site.daemons, site.ports)


class Ovs(_Switched):
    """A learning switch; or with `flows`, so many flows to each port, each for a destination MAC of its own.

    Flow 0 is for the tester port's MAC; what matches no flow is dropped.
    """

    family: ClassVar[str] = "ovs"
    title: ClassVar[str] = "Open vSwitch"
    parameters: ClassVar[str] = "flows=1 to 10000 to each port, or 0 for a learning switch"

    flows: int = Field(0, ge=0, le=10_000)

    def passage(self, tx: LabPort, rx: LabPort) -> Passage:
        """The frame is not changed; each flow has its own MAC."""
        stacks = inside(tx, rx)
        return Passage(self._macs(rx), 0, stacks, stacks)

    def build(self, site: Site) -> None:
        """Make the switch over all ports."""
        switch = Vswitch(site.daemons, site.core)
        switch.bridge(_SWITCH, *(str(port.dut_interface) for port in site.ports), learning=not self.flows)
        if self.flows:
            macs = {mac: number for number, port in enumerate(site.ports, 1) for mac in self._macs(port)}
            switch.set_flows(_SWITCH, [f"dl_dst={mac},actions=output:{number}" for mac, number in macs.items()])

    def _macs(self, port: LabPort) -> tuple[str, ...]:
        number = port.mac.rsplit(":", 1)[1]
        return port.mac, *(f"02:6b:74:{n >> 8:02x}:{n & 0xFF:02x}:{number}" for n in range(1, self.flows))


class OvsExport(_Switched):
    """A learning switch that exports what it forwards: sFlow, NetFlow 5 or IPFIX.

    Of IPFIX it counts each frame where it arrives and where it leaves, as Open vSwitch does by default.
    """

    family: ClassVar[str] = "ovs-export"
    title: ClassVar[str] = "Open vSwitch with telemetry"
    parameters: ClassVar[str] = "protocol=sflow, netflow or ipfix&sampling=64 (not of netflow)"
    exports_to: ClassVar[str] = "127.0.0.1:6343"

    protocol: Literal["sflow", "netflow", "ipfix"] = "sflow"
    sampling: int = Field(1, ge=1, le=10_000)

    def build(self, site: Site) -> None:
        """Make the switch."""
        with IPRoute() as ip:
            ip.link("set", index=ip.link_lookup(ifname="lo")[0], state="up")
        switch = Vswitch(site.daemons, site.core)
        switch.bridge(_SWITCH, *(str(port.dut_interface) for port in site.ports), learning=True)

    def begin(self, site: Site) -> None:
        """Let it export every second. It sends the templates of IPFIX with its first export and then every ten minutes,
        so nothing may pass it before the tester listens."""
        super().begin(site)
        target = f'targets="{self.exports_to}"'
        match self.protocol:
            case "sflow":
                # It samples one of a frame's first 128 bytes.
                made = ["sFlow", "agent=lo", target, f"sampling={self.sampling}", "polling=1", "header=128"]
            case "netflow":
                made = ["NetFlow", target, "active_timeout=1"]
            case "ipfix":
                made = ["IPFIX", target, f"sampling={self.sampling}", "cache_active_timeout=1"]
        made = ["--id=@export", "create", *made, "--", "set", "bridge", _SWITCH, f"{self.protocol}=@export"]
        configure(site.daemons, *made)


_HASHED = ("eth_src", "eth_dst", "ip_src", "ip_dst", "ipv6_src", "ipv6_dst", "ipv6_label", "udp_src", "udp_dst")
"""OpenFlow's names of the fields that a group may hash."""


class OvsSelect(_Switched):
    """A switch whose group of buckets (OpenFlow's type select) sends UDP from port 1 by any of ports 2, 3 …

    A hash of the fields that are given chooses; all other frames leave by port 2.
    """

    family: ClassVar[str] = "ovs-select"
    title: ClassVar[str] = "Open vSwitch with a select group"
    parameters: ClassVar[str] = f"fields=ip_src,udp_src (of {', '.join(_HASHED)})&weights=1:2:1"

    fields: str = "ip_src,ip_dst,udp_src,udp_dst"
    weights: WeightsText | None = None
    """Of the members (default: equal). The switch compares hashes times weights, so shares are not proportional."""

    @field_validator("fields")
    @classmethod
    def _fields_of_one_version(cls, fields: str) -> str:
        names = fields.split(",")
        versions = {name.split("_")[0] for name in names} & {"ip", "ipv6"}
        if not {*names} <= {*_HASHED} or len(versions) > 1:
            raise ValueError
        return fields

    def build(self, site: Site) -> None:
        """Make the switch, the group, and a flow from each member back to port 1."""
        switch = Vswitch(site.daemons, site.core)
        switch.bridge(_SWITCH, *(str(port.dut_interface) for port in site.ports))
        numbers = range(2, len(site.ports) + 1)
        shares = zip(numbers, weights_of(self.weights, len(numbers)), strict=True)
        buckets = ",".join(f"bucket=weight:{share},actions=output:{number}" for number, share in shares)
        switch.set_groups(_SWITCH, [f"group_id=1,type=select,selection_method=hash,fields({self.fields}),{buckets}"])
        # A field can only be hashed of frames that have it.
        flows = [f"in_port=1,{kind},actions=group:1" for kind in self._kinds()]
        flows += ["in_port=1,priority=1,actions=output:2"]
        switch.set_flows(_SWITCH, flows + [f"in_port={number},actions=output:1" for number in numbers])

    def _kinds(self) -> list[str]:
        if "ipv6_" in self.fields:
            return ["udp6"]
        return ["udp"] if "ip_" in self.fields else ["udp", "udp6"]


class OvsMpls(_Switched):
    """Applies `action` to the label of frames from port 1 to port 2, and the reverse on the way back.

    A swap also counts down the label's time to live (RFC 3032 §2.4); a pushed label takes that of IP.
    """

    family: ClassVar[str] = "ovs-mpls"
    title: ClassVar[str] = "Open vSwitch as MPLS router"
    parameters: ClassVar[str] = "action=push, pop or swap"
    most_ports: ClassVar[int] = 2

    action: Literal["push", "pop", "swap"]

    def headroom_bytes(self, port: int) -> int:
        """The MTU of the labelled side is larger by the label."""
        return MPLS_BYTES if self._labelled(port) else 0

    def passage(self, tx: LabPort, rx: LabPort) -> Passage:
        """The frame has one label more, one less, or another one."""
        sender, receiver = (1, 2) if tx.interface < rx.interface else (2, 1)
        swap = self.action == "swap"
        sent: dict[str, str] = {}
        arrives: dict[str, str] = {}
        for kind in LABELS:
            ethernet, rest = inside(tx, rx)[kind].split("/", 1)
            for stacks, port, hops in ((sent, sender, HOPS), (arrives, receiver, HOPS - swap)):
                label = f"MPLS(label={self._label(kind, port)}, s=1, ttl={hops})/" if self._labelled(port) else ""
                stacks[kind] = f"{ethernet}/{label}{rest}"
        if self._labelled(sender):
            # The name of RFC 5695's frames, which carry IPv4.
            sent["mpls"], arrives["mpls"] = sent["ipv4"], arrives["ipv4"]
        growth = MPLS_BYTES * (self._labelled(receiver) - self._labelled(sender))
        return Passage((rx.mac,), growth, sent, arrives)

    def build(self, site: Site) -> None:
        """Make the switch and its flows."""
        switch = Vswitch(site.daemons, site.core)
        switch.bridge(_SWITCH, *(str(port.dut_interface) for port in site.ports))
        flows = [self._flow(kind, source, target) for kind in LABELS for source, target in ((1, 2), (2, 1))]
        switch.set_flows(_SWITCH, flows)

    def _flow(self, kind: str, source: int, target: int) -> str:
        plain = _ETHERTYPES[kind]
        if not self._labelled(source):
            push = f"push_mpls:0x8847,set_field:{self._label(kind, target)}->mpls_label"
            return f"in_port={source},dl_type={plain},actions={push},output:{target}"
        match = f"in_port={source},dl_type=0x8847,mpls_label={self._label(kind, source)},mpls_bos=1"
        if not self._labelled(target):
            return f"{match},actions=pop_mpls:{plain},output:{target}"
        return f"{match},actions=set_field:{self._label(kind, target)}->mpls_label,dec_mpls_ttl,output:{target}"

    def _labelled(self, port: int) -> bool:
        return self.action == "swap" or port == (2 if self.action == "push" else 1)

    def _label(self, kind: str, port: int) -> int:
        return LABELS[kind][port - 1 if self.action == "swap" else 0]


class OvsVxlan(_Switched, TunnelEnd):
    """A tunnel end in the userspace datapath: one bridge for port 1 and the tunnel, one for port 2."""

    family: ClassVar[str] = "ovs-vxlan"
    title: ClassVar[str] = "Open vSwitch VXLAN tunnel end"

    def build(self, site: Site) -> None:
        """Make both bridges; the tunnel end's address is at the second's own port."""
        plain, far = site.ports
        assert far.dut_mac and far.dut_ipv4
        below = "underlay"
        switch = Vswitch(site.daemons, site.core)
        switch.bridge(below, str(far.dut_interface))
        switch.configure("set", "bridge", below, f"other-config:hwaddr={far.dut_mac}")
        with IPRoute() as ip:
            index = ip.link_lookup(ifname=below)[0]
            ip.link("set", index=index, state="up")
            ip.addr("add", index=index, address=far.dut_ipv4, prefixlen=24)
        switch.set_flows(below, ["in_port=1,actions=LOCAL", "in_port=LOCAL,actions=output:1"])
        # The switch would learn route and neighbour by itself, but only after the first frames.
        switch.control("ovs/route/add", f"{far.ipv4}/32", below)
        switch.control("tnl/neigh/set", below, far.ipv4, far.mac)
        switch.bridge(_SWITCH, str(plain.dut_interface))
        switch.add_vxlan(_SWITCH, "tunnel", 2, far.dut_ipv4, far.ipv4, NETWORK)
        switch.set_flows(_SWITCH, ["in_port=1,actions=output:2", "in_port=2,actions=output:1"])
