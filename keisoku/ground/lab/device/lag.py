"""`Lag`: a bridge over port 1 and a bond of all other ports. Acts on the calling thread's namespace only."""

from __future__ import annotations

import time
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator
from pyroute2 import IPRoute

from keisoku.errors import EngineError
from keisoku.ground.host.program import Program
from keisoku.ground.lab.device import iproute
from keisoku.ground.lab.device import kernel_part as part
from keisoku.ground.lab.device.ability import EventfulDevice
from keisoku.ground.lab.device.bridge import bridge
from keisoku.ground.lab.device.device import Site
from keisoku.ground.lab.device.kernel_part import KernelPart

_BOND = "lag"
_PATIENCE_S = 10.0
_LOOK_S = 0.02


class Lag(EventfulDevice):
    """Frames from port 1 leave by any of ports 2, 3 …, which are one bond.

    A hash of the fields that `hash` names chooses; in the mode balance-rr each frame takes the next port.
    """

    family: ClassVar[str] = "lag"
    title: ClassVar[str] = "Linux bridge with a bond"
    parameters: ClassVar[str] = "mode=balance-xor or balance-rr&hash=layer2, layer2+3 or layer3+4"
    parts: ClassVar[tuple[KernelPart, ...]] = (part.BONDING,)
    programs: ClassVar[tuple[Program, ...]] = (iproute.IP,)
    events: ClassVar[tuple[str, ...]] = ("member-lost",)

    mode: Literal["balance-xor", "balance-rr"] = "balance-xor"
    hash: Literal["layer2", "layer2+3", "layer3+4"] | None = Field(None, validate_default=True)
    """xmit_hash_policy of balance-xor (default: layer3+4)."""

    @field_validator("hash")
    @classmethod
    def _hash_of_xor(cls, policy: str | None, given: ValidationInfo) -> str | None:
        if policy is not None and given.data.get("mode") == "balance-rr":
            raise ValueError
        return policy

    def build(self, site: Site) -> None:
        """Make the bond and the bridge."""
        first, *members = site.ports
        policy = f" xmit_hash_policy {self.hash or 'layer3+4'}" if self.mode == "balance-xor" else ""
        iproute.ip(
            f"link add name {_BOND} mtu {first.mtu_bytes} type bond miimon 10 mode {self.mode}{policy}",
            # A link that is up is not taken into a bond.
            *(f"link set dev {port.dut_interface} down" for port in members),
            *(f"link set dev {port.dut_interface} master {_BOND}" for port in members),
            f"link set dev {_BOND} up",
        )
        with IPRoute() as ip:
            bridge(ip, [str(first.dut_interface), _BOND])

    def begin(self, site: Site) -> None:
        """The bond has found all its members up. Raises EngineError if it does not."""
        deadline = time.monotonic() + _PATIENCE_S
        while _up() < len(site.ports) - 1:
            if time.monotonic() > deadline:
                raise EngineError(f"the members of the bond did not come up in {_PATIENCE_S:g} s")
            time.sleep(_LOOK_S)

    def happen(self, event: str, site: Site) -> None:
        """The last member's link is lost."""
        iproute.ip(f"link set dev {site.ports[-1].dut_interface} down")

    def mend(self, event: str, site: Site) -> None:
        """It is there again."""
        iproute.ip(f"link set dev {site.ports[-1].dut_interface} up")


def _up() -> int:
    """Members that the bond sends by."""
    said = Path(f"/proc/thread-self/net/bonding/{_BOND}").read_text().split("Slave Interface:")[1:]
    return sum("MII Status: up" in member for member in said)
