"""`SerialLine`: two routers with a line between them that takes 8·L/C for each packet and marks by a known rule.

The line is that of core/src/lab/serial_link, which the lab makes before the device is built. The rest acts on the
namespaces of the device, never on the host's own.
"""

from __future__ import annotations

import json
from typing import ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from keisoku.ground.host.namespace import Namespace
from keisoku.ground.lab.device.parameter import (
    RateText,
    ShareText,
    SizeText,
    TimeText,
    rate_bps,
    share,
    size_bytes,
    time_ns,
)
from keisoku.ground.lab.device.two_routers import End, TwoRouters
from keisoku.ground.statistics.seed import DEFAULT

LINE = "line1"
"""The name of its end in each place."""
_ETHERNET_AND_FCS_BYTES = 18
_QUEUE_PACKETS = 10_000
_RETURN_BPS = 10**10


class SerialLine(TwoRouters):
    """Two routers and a line of known rate, which marks, drops or does neither by a curve, PIE or CoDel.

    The rate, the queue and the curve count frames with FCS. The way back is fast and marks nothing.
    """

    family: ClassVar[str] = "serial"
    title: ClassVar[str] = "serialising line between two Linux routers"
    parameters: ClassVar[str] = (
        "rate=20Mbps&queue=200kB&mark=off, curve, pie or codel&least=30kB&most=90kB&probability=50%"
        "&target=5ms&interval=100ms&seed=1"
    )
    lines: ClassVar[int] = 0

    rate: RateText = "20Mbps"
    queue: SizeText = "200kB"
    mark: Literal["off", "curve", "pie", "codel"] = "off"
    least: SizeText = "30kB"
    """The curve: no packet is marked that meets a shorter queue."""
    most: SizeText = Field("90kB", validate_default=True)
    """Every packet is marked that meets this queue or a longer one; as `least`: a step."""
    probability: ShareText = "50%"
    """What the share of marked packets rises to just below `most`."""
    target: TimeText = "5ms"
    interval: TimeText = "100ms"
    """PIE: time between two updates; CoDel: its interval."""
    seed: int = DEFAULT

    @field_validator("most")
    @classmethod
    def _ordered(cls, most: str, given: ValidationInfo) -> str:
        least = given.data.get("least")
        if least is not None and size_bytes(most) < size_bytes(least):
            raise ValueError
        return most

    def bed(self, places: list[Namespace], core: int | None) -> str:
        """The line as `SerialLinks` takes it."""
        marking = {
            "by": self.mark,
            "action": "mark",
            "least_bytes": size_bytes(self.least),
            "most_bytes": size_bytes(self.most),
            "most_ratio": share(self.probability),
            "target_ns": time_ns(self.target),
            "interval_ns": time_ns(self.interval),
        }
        common = {
            "overhead_bytes": _ETHERNET_AND_FCS_BYTES,
            "propagation_ns": 0,
            "jitter_ns": 0,
            "loss": 0.0,
            "seed": self.seed,
            "queue_bytes": size_bytes(self.queue),
        }
        there = common | {"from": 0, "to": 1, "stages_bps": [rate_bps(self.rate)]}
        if self.mark != "off":
            there["marking"] = marking
        back = common | {"from": 1, "to": 0, "stages_bps": [_RETURN_BPS]}
        ports = [{"namespace": str(place.path), "interface": LINE} for place in places]
        return json.dumps({"ports": ports, "lanes": [there, back], "sources": [], "core": core})

    def commands(self, end: End, mtu: int) -> list[str]:
        """The line is a TUN device, so a route needs no next hop."""
        return [
            f"link set dev {LINE} mtu {mtu} txqueuelen {_QUEUE_PACKETS} up",
            *end.routes(f"dev {LINE}"),
        ]
