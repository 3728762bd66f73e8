"""`Throttle`: what limits a lab device beside its own speed: a known capacity and a known cost of each frame.

Plain values. core/bpf/throttle.c carries it out; docs/lab.md says what it does to frames and what it hides.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Annotated

from keisoku import units
from keisoku.ground.lab.device.parameter import between, text_for

CATCH_UP_NS, CATCH_UP_FRAMES = 200_000, 64
"""What a sender may catch up at once, the longer of both times (core/src/trial/departures.rs)."""
_MARGIN = 1.5
"""The burst without another one, in times of that: a sender's batches come on top."""
_LONGEST_BYTES = 1518 + 20
_LINK_UNITS = ("bps", "bit/s", "b/s")
_MOST_BURST_NS = 10**12
_MOST_COST_NS = 100_000


@dataclass(frozen=True)
class Throttle:
    """The limits of each port of a device by itself, for the frames that arrive there."""

    frame_ns: float
    """Time of the capacity that a frame takes, whatever its length; 0 where a frame takes none."""
    byte_ns: float
    """Time that each byte of it takes on an Ethernet link, with preamble, FCS and gap."""
    burst_ns: int
    """A frame is dropped if those before it would still occupy a link of this rate for longer."""
    cost_ns: int | None
    """Time of the device's CPU that each frame takes; None without the program."""

    @classmethod
    def from_parameters(cls, capacity: str | None, burst: str | None, cost: str | None) -> Throttle | None:
        """From the parameters of a device; None where there is nothing to carry out.

        Without a burst, all that a sender of keisoku may catch up at once passes.
        """
        if capacity is None and cost is None:
            return None
        frame_ns, byte_ns = _capacity(capacity) if capacity else (0.0, 0.0)
        longest_ns = max(CATCH_UP_NS, CATCH_UP_FRAMES * (frame_ns + _LONGEST_BYTES * byte_ns))
        burst_ns = _burst(burst) if burst else round(_MARGIN * longest_ns)
        return cls(frame_ns, byte_ns, burst_ns, None if cost is None else _cost(cost))

    def to_json(self) -> str:
        """The form that `keisoku._core.Throttle` takes."""
        return json.dumps(asdict(self))


@dataclass(frozen=True)
class Throttled:
    """What the limits did to the frames that arrived at one port of the device, since it was made."""

    passed_frames: int
    """Frames that the capacity let through; 0 for a device without one."""
    dropped_frames: int
    longest_backlog_ns: int
    """How long a frame that was let through would have waited at a link of this rate, at most."""
    costing_frames: int
    cost_spent_ns: int
    """Time of the device's CPU that `costing_frames` took by their cost."""


def _capacity(text: str) -> tuple[float, float]:
    """The time that a frame and a byte take, in ns. Raises PlanError, or ValueError if out of range."""
    if text.endswith(_LINK_UNITS):
        return 0.0, 8e9 / between(1e3, units.bit_rate("capacity", text), 1e12)
    return 1e9 / between(1.0, units.rate("capacity", text), 1e9), 0.0


def _burst(text: str) -> int:
    return round(between(0.0, units.quantity("burst", text, units.TIME_UNITS_NS), _MOST_BURST_NS))


def _cost(text: str) -> int:
    return round(between(0.0, units.quantity("cost", text, units.TIME_UNITS_NS), _MOST_COST_NS))


CapacityText = Annotated[str, text_for(_capacity)]
BurstText = Annotated[str, text_for(_burst)]
CostText = Annotated[str, text_for(_cost)]
