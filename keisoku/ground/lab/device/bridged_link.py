"""Two bridges with a layer-2 link between them that is a device of the kernel: a bond, a team, or MACsec.

Acts on the namespace of the calling thread, never on the host's own.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field
from pyroute2 import IPRoute

from keisoku.errors import EngineError
from keisoku.ground.host.program import Program
from keisoku.ground.lab.device import iproute
from keisoku.ground.lab.device import kernel_part as part
from keisoku.ground.lab.device.ability import EventfulDevice
from keisoku.ground.lab.device.bridge import bridge
from keisoku.ground.lab.device.device import LabDevice, Site
from keisoku.ground.lab.device.interface import whole_frames
from keisoku.ground.lab.device.kernel_part import KernelPart
from keisoku.ground.lab.device.team import set_mode

HEADROOM_BYTES = 64
"""What the lines between carry more than the ports."""
_PATIENCE_S = 10.0
_LOOK_S = 0.02
_MACSEC_KEY = "6b" * 16
"""Of no worth, like every key of a lab."""


class BridgedLink(LabDevice):
    """Port 1 is bridged with the link's near end, port 2 with its far end."""

    most_ports: ClassVar[int] = 2
    programs: ClassVar[tuple[Program, ...]] = (iproute.IP,)

    @property
    def lines(self) -> int:
        """How many veth pairs the link has, `near1` and `far1`, `near2` and `far2` …"""
        return 1

    @abstractmethod
    def join(self, mtu: int) -> None:
        """Make the ends `near` and `far` of the link upon the lines, and set them up."""

    def build(self, site: Site) -> None:
        """Make the lines, the link and the bridges."""
        mtu = site.ports[0].mtu_bytes
        numbers = range(1, self.lines + 1)
        wide = mtu + HEADROOM_BYTES
        iproute.ip(*(f"link add name near{n} mtu {wide} type veth peer name far{n} mtu {wide}" for n in numbers))
        for number in numbers:
            for end in ("near", "far"):
                whole_frames(f"{end}{number}")
        self.join(mtu)
        with IPRoute() as ip:
            for port, end in zip(site.ports, ("near", "far"), strict=True):
                bridge(ip, [str(port.dut_interface), end], f"bridge-{end}")


class Bond(BridgedLink, EventfulDevice):
    """Two bridges joined by a bond of several lines."""

    family: ClassVar[str] = "bond"
    title: ClassVar[str] = "Linux bond between two bridges"
    parameters: ClassVar[str] = "mode=balance-rr, active-backup, balance-xor or 802.3ad&links=2 to 8"
    parts: ClassVar[tuple[KernelPart, ...]] = (part.BONDING,)
    events: ClassVar[tuple[str, ...]] = ("member-lost",)

    mode: Literal["balance-rr", "active-backup", "balance-xor", "802.3ad"] = "balance-rr"
    links: int = Field(2, ge=2, le=8)

    @property
    def lines(self) -> int:
        """The bond's members."""
        return self.links

    def happen(self, event: str, site: Site) -> None:
        """The first member loses its carrier."""
        iproute.ip("link set dev far1 down")

    def mend(self, event: str, site: Site) -> None:
        """It has a carrier again."""
        iproute.ip("link set dev far1 up")

    def join(self, mtu: int) -> None:
        """A bond at each end; returns when all members carry frames."""
        words = f"miimon 10 mode {self.mode}" + (" lacp_rate fast" if self.mode == "802.3ad" else "")
        iproute.ip(
            *(f"link add name {end} mtu {mtu} type bond {words}" for end in ("near", "far")),
            *(f"link set dev {end}{n} master {end}" for end in ("near", "far") for n in range(1, self.links + 1)),
            *(f"link set dev {end} mtu {mtu} up" for end in ("near", "far")),
        )
        wanted = "collecting" if self.mode == "802.3ad" else "MII Status: up"
        _until(lambda: all(self._members(end) for end in ("near", "far")), f"the members of the bond ({wanted})")

    def _members(self, end: str) -> bool:
        said = Path(f"/proc/thread-self/net/bonding/{end}").read_text().split("Slave Interface:")[1:]
        up = all("MII Status: up" in member for member in said) and len(said) == self.links
        if self.mode != "802.3ad":
            return up
        # The bits of a port's state: synchronised, collecting, distributing (IEEE 802.1AX).
        states = [int(line.split(":")[1]) for member in said for line in member.splitlines() if "port state:" in line]
        return up and len(states) == 2 * self.links and all(state & 0x38 == 0x38 for state in states)


class Team(BridgedLink):
    """Two bridges joined by a team of several lines, which take turns."""

    family: ClassVar[str] = "team"
    title: ClassVar[str] = "Linux team between two bridges"
    parameters: ClassVar[str] = "links=2 to 8"
    parts: ClassVar[tuple[KernelPart, ...]] = (part.TEAM,)

    links: int = Field(2, ge=2, le=8)

    @property
    def lines(self) -> int:
        """The team's members."""
        return self.links

    def join(self, mtu: int) -> None:
        """A team at each end, without its daemon."""
        iproute.ip("link add name near type team", "link add name far type team")
        for end in ("near", "far"):
            set_mode(end, "roundrobin")
        iproute.ip(
            *(f"link set dev {end}{n} master {end}" for end in ("near", "far") for n in range(1, self.links + 1)),
            *(f"link set dev {end}{n} up" for end in ("near", "far") for n in range(1, self.links + 1)),
            *(f"link set dev {end} mtu {mtu} up" for end in ("near", "far")),
        )
        names = ("near", "far")
        _until(lambda: all(Path(f"/sys/class/net/{end}/carrier").read_text() == "1\n" for end in names), "the team")


class Macsec(BridgedLink):
    """Two bridges joined by a line on which every frame is encrypted (MACsec, IEEE 802.1AE)."""

    family: ClassVar[str] = "macsec"
    title: ClassVar[str] = "MACsec between two bridges"
    parameters: ClassVar[str] = "encrypt=on or off"
    parts: ClassVar[tuple[KernelPart, ...]] = (part.MACSEC,)

    encrypt: Literal["on", "off"] = "on"

    def join(self, mtu: int) -> None:
        """One association with fixed keys in each direction."""
        macs = {"near": "02:6b:73:00:02:01", "far": "02:6b:73:00:03:01"}
        lines = [f"link set dev {end}1 address {mac} up" for end, mac in macs.items()]
        for end, other in (("near", "far"), ("far", "near")):
            peer = f"port 1 address {macs[other]}"
            lines += [
                f"link add link {end}1 name {end} mtu {mtu} type macsec port 1 encrypt {self.encrypt}",
                f"macsec add {end} tx sa 0 pn 1 on key 01 {_MACSEC_KEY}",
                f"macsec add {end} rx {peer}",
                f"macsec add {end} rx {peer} sa 0 pn 1 on key 01 {_MACSEC_KEY}",
                f"link set dev {end} up",
            ]
        iproute.ip(*lines)


def _until(there: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not there():
        if time.monotonic() > deadline:
            raise EngineError(f"{what} did not come up in {_PATIENCE_S:g} s")
        time.sleep(_LOOK_S)
