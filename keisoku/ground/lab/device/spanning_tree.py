"""`SpanningTree`: three bridges in a ring, of which the kernel's spanning tree keeps one line blocked.

Acts on the namespace of the calling thread, never on the host's own.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import ClassVar

from pyroute2 import IPRoute

from keisoku.errors import EngineError
from keisoku.ground.host.program import Program
from keisoku.ground.lab.device import iproute
from keisoku.ground.lab.device.ability import EventfulDevice
from keisoku.ground.lab.device.device import Site
from keisoku.ground.lab.device.interface import whole_frames
from keisoku.ground.lab.device.nftables import NFT, withhold

_FORWARD_DELAY_S, _HELLO_S, _MAX_AGE_S = 2, 1, 6
"""The least that the kernel accepts; times of `ip link` are in hundredths."""
_AGEING_S = 1
"""When the topology changes, the kernel shortens the time after which an address is forgotten, but looks at its table
only when the next address would have been forgotten without the change: up to 300 s later. The third bridge, which
learned port 2 behind the first one, would drop all frames to it until then."""
_BRIDGES = {"first": 4096, "second": 12288, "third": 8192}
"""Priorities: the first is the root, and the second blocks its end of the line to the third: it opens it at once."""
_LINES = (("first", "second"), ("first", "third"), ("third", "second"))
_FORWARDING = "3"
_PATIENCE_S = 30.0
_LOOK_S = 0.05


class SpanningTree(EventfulDevice):
    """A ring of three bridges with the kernel's spanning tree (IEEE 802.1D-1998); port 1 at the first, 2 at the second.

    The way in use is the line between these two; when it is lost, the way by the third is opened after twice the
    forward delay of 2 s. The kernel has no rapid spanning tree.
    """

    family: ClassVar[str] = "stp"
    title: ClassVar[str] = "Linux bridges with spanning tree"
    most_ports: ClassVar[int] = 2
    programs: ClassVar[tuple[Program, ...]] = (iproute.IP, NFT)
    events: ClassVar[tuple[str, ...]] = ("port-blocked",)

    def build(self, site: Site) -> None:
        """Make the bridges and their lines; the tester's ports hear no word of the spanning tree."""
        mtu = site.ports[0].mtu_bytes
        words = f"stp_state 1 forward_delay {_FORWARD_DELAY_S}00 hello_time {_HELLO_S}00 max_age {_MAX_AGE_S}00 "
        words += f"ageing_time {_AGEING_S}00"
        ends = [(f"{one}-{other}"[:15], f"{other}-{one}"[:15]) for one, other in _LINES]
        iproute.ip(
            *(
                f"link add name {name} mtu {mtu} type bridge {words} priority {priority} mcast_snooping 0"
                for name, priority in _BRIDGES.items()
            ),
            *(f"link add name {one} mtu {mtu} type veth peer name {other} mtu {mtu}" for one, other in ends),
        )
        for pair in ends:
            for name in pair:
                whole_frames(name)
        members = [(end, end.partition("-")[0]) for pair in ends for end in pair]
        members += [(str(port.dut_interface), name) for port, name in zip(site.ports, ("first", "second"), strict=True)]
        iproute.ip(
            *(f"link set dev {name} master {bridge}" for name, bridge in members),
            *(f"link set dev {name} up" for name in (*_BRIDGES, *(end for pair in ends for end in pair))),
        )
        for port in site.ports:
            withhold(str(port.dut_interface), "ether daddr 01:80:c2:00:00:00")

    def begin(self, site: Site) -> None:
        """Wait until the ports forward. Raises EngineError if they do not in time."""
        names = [str(port.dut_interface) for port in site.ports] + ["second-first"]
        deadline = time.monotonic() + _PATIENCE_S
        while not all(_state(name) == _FORWARDING for name in names):
            if time.monotonic() > deadline:
                raise EngineError(f"the spanning tree did not settle in {_PATIENCE_S:g} s")
            time.sleep(_LOOK_S)

    def happen(self, event: str, site: Site) -> None:
        """The second bridge loses its root port: the other end of its line has no carrier any more."""
        _set("first-second", "down")

    def mend(self, event: str, site: Site) -> None:
        """The line is there again."""
        _set("first-second", "up")


def _state(name: str) -> str:
    return Path(f"/sys/class/net/{name}/brport/state").read_text().strip()


def _set(name: str, state: str) -> None:
    with IPRoute() as ip:
        ip.link("set", index=ip.link_lookup(ifname=name)[0], state=state)
