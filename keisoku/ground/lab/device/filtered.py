"""Bridges that filter what comes in: a policer, a gate in a cycle (IEEE 802.1Qci), and marks by flower.

Acts on the namespace of the calling thread, never on the host's own.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Annotated, ClassVar

from pydantic import Field, ValidationInfo, field_validator

from keisoku import units
from keisoku.ground.host.program import Program
from keisoku.ground.lab.device import iproute
from keisoku.ground.lab.device import kernel_part as part
from keisoku.ground.lab.device.ability import CountingDevice
from keisoku.ground.lab.device.bridge import Bridge
from keisoku.ground.lab.device.counted import Counted
from keisoku.ground.lab.device.device import Site
from keisoku.ground.lab.device.kernel_part import KernelPart
from keisoku.ground.lab.device.parameter import SizeText, TimeText, between, rate_bps, size_bytes, text_for, time_ns
from keisoku.ground.lab.device.passage import Passage
from keisoku.ground.lab.device.port import LabPort

_LINK_UNITS = ("bps", "bit/s", "b/s")
FRAME_BUCKET = 64
BYTE_BUCKET = 20_000


def _police_rate(text: str) -> int:
    if text.endswith(_LINK_UNITS):
        return rate_bps(text)
    return round(between(1, units.rate("rate", text), 1e9))


PoliceText = Annotated[str, text_for(_police_rate)]


class Filtered(Bridge):
    """Each port has a filter of its own, with the same parameters, for the frames that arrive there."""

    programs: ClassVar[tuple[Program, ...]] = (iproute.TC,)

    @abstractmethod
    def filters(self) -> list[str]:
        """What follows `filter add dev PORT ingress`."""

    def build(self, site: Site) -> None:
        """Make the bridge, then the filters."""
        super().build(site)
        for port in site.ports:
            name = port.dut_interface
            iproute.tc(
                f"qdisc add dev {name} clsact", *(f"filter add dev {name} ingress {line}" for line in self.filters())
            )

    def restart(self, site: Site) -> None:
        """Make the bridge again; the filters were never gone."""
        Bridge.build(self, site)

    def counted(self, port: LabPort) -> Counted:
        """Of its input, by the first action."""
        shown = iproute.tc_shows("filter", "show", "dev", str(port.dut_interface), "ingress")
        arrived, dropped = iproute.tc_frames(shown)
        return Counted(arrived - dropped, dropped, 0)


class Police(Filtered, CountingDevice):
    """Drops frames that come in faster than a rate, in bits or in frames, beyond its bucket."""

    family: ClassVar[str] = "police"
    title: ClassVar[str] = "Linux bridge with policers"
    parameters: ClassVar[str] = "rate=10Mbps&bucket=20kB, or rate=10kpps&bucket=64 (frames)"
    parts: ClassVar[tuple[KernelPart, ...]] = (part.MATCHALL, part.POLICE)

    rate: PoliceText = "1Gbps"
    bucket: SizeText | None = None

    def filters(self) -> list[str]:
        """One for all frames."""
        rate, by_bits = _police_rate(self.rate), self.rate.endswith(_LINK_UNITS)
        bucket = size_bytes(self.bucket) if self.bucket else BYTE_BUCKET if by_bits else FRAME_BUCKET
        limit = f"rate {rate}bit burst {bucket}" if by_bits else f"pkts_rate {rate} pkts_burst {bucket}"
        return [f"protocol all matchall action police {limit} conform-exceed drop/pipe"]


class Gate(Filtered, CountingDevice):
    """Drops the frames that come in while its gate is closed, for a part of each cycle (act_gate)."""

    family: ClassVar[str] = "gate"
    title: ClassVar[str] = "Linux bridge with gates at its inputs"
    parameters: ClassVar[str] = "cycle=20ms&open=10ms"
    parts: ClassVar[tuple[KernelPart, ...]] = (part.MATCHALL, part.GATE)

    cycle: TimeText = "20ms"
    open: TimeText = "20ms"
    """The first part of each cycle; cycles begin at whole multiples of their length in CLOCK_TAI."""

    @field_validator("open")
    @classmethod
    def _within(cls, given: str, others: ValidationInfo) -> str:
        if not 0 < time_ns(given) <= time_ns(others.data.get("cycle", "0s")):
            raise ValueError
        return given

    def filters(self) -> list[str]:
        """One for all frames."""
        open_ns = time_ns(self.open)
        closed_ns = time_ns(self.cycle) - open_ns
        entries = f"sched-entry open {open_ns} -1 -1"
        if closed_ns:
            entries += f" sched-entry close {closed_ns} -1 -1"
        return [f"protocol all matchall action gate clockid CLOCK_TAI base-time 0 {entries}"]


class Flower(Filtered):
    """Writes a DSCP into the UDP frames to one port, which flower finds."""

    family: ClassVar[str] = "flower"
    title: ClassVar[str] = "Linux bridge that marks by flower"
    parameters: ClassVar[str] = "mark=0 to 63 (DSCP)&port=7 (UDP)"
    parts: ClassVar[tuple[KernelPart, ...]] = (part.FLOWER, part.PEDIT, part.CSUM)

    mark: int = Field(46, ge=0, le=63)
    port: int = Field(7, ge=1, le=65_535)

    def passage(self, tx: LabPort, rx: LabPort) -> Passage:
        """The mark is in frames of its UDP port."""
        plain, value = super().passage(tx, rx), self.mark << 2
        if self.port != 7:
            return plain
        marked = {
            kind: stack.replace("/IP(", f"/IP(tos={value}, ").replace("/IPv6(", f"/IPv6(tc={value}, ")
            for kind, stack in plain.arrives.items()
        }
        return replace(plain, arrives=marked)

    def filters(self) -> list[str]:
        """One a version of IP."""
        value = f"set {self.mark << 2:#x} retain 0xfc"
        udp = f"flower ip_proto udp dst_port {self.port} action"
        return [
            f"protocol ip pref 1 {udp} pedit ex munge ip tos {value} pipe action csum ip4h",
            f"protocol ipv6 pref 2 {udp} pedit ex munge ip6 traffic_class {value}",
        ]
