"""The settings of telemetry: where the device exports to, how it samples, and the flows that it is asked about."""

from __future__ import annotations

import random
from math import ceil

from pydantic import Field, field_validator

from keisoku.errors import PlanError
from keisoku.ground.frame.headers import unaddressed
from keisoku.ground.frame.stack import parse
from keisoku.ground.host.place import split_port
from keisoku.ground.run.settings import Settings
from keisoku.subjects.device.analysis.telemetry import samples_needed
from keisoku.subjects.device.plan.rate import Load
from keisoku.subjects.device.record.exports import Exporting
from keisoku.subjects.device.record.trial import NS_PER_S

DEFAULT_S = 10.0
"""Length of the load where the sampling is not known beforehand."""
_FIRST_PORT, _LAST_PORT = 10_000, 60_000


class TelemetrySettings(Settings):
    """A constant load of many flows, and what the device exports about them (sFlow, NetFlow, IPFIX)."""

    listen: str = ""
    """Address of this host and UDP port to which the device exports, such as 198.51.100.1:6343; behind '@' a network
    namespace or container (default: that of the lab's device)."""
    sampling: int | None = Field(None, ge=1)
    """The device counts one frame in so many, as it is configured (default: as the exports say)."""
    flows: int = Field(100, ge=1, le=4093)
    """Number of flows, which differ by their UDP source port."""
    rate_fps: Load | None = None
    """Load, which all flows share (default: 10 000 frames/s, or the maximum of the link if that is less)."""
    trial_s: float | None = Field(None, gt=0)
    """Length of the load (default: as long as the resolution needs with this sampling; else 10 s)."""
    resolution_percent: float = Field(5.0, gt=0, le=100)
    """An estimate that is off by so much is found with a probability of 95 %."""
    before_s: float = Field(2.0, ge=0)
    """How long readings of counters are awaited before the load."""
    after_s: float = Field(20.0, ge=0)
    """How long exports are awaited after the load: longer than the device's timeout for inactive flows."""

    @field_validator("listen")
    @classmethod
    def _listen(cls, text: str) -> str:
        if text:
            split_port("telemetry.listen", text)
        return text

    @property
    def exporting(self) -> Exporting:
        """What a trial is told."""
        return Exporting(
            at=self.listen, before_ns=round(self.before_s * NS_PER_S), after_ns=round(self.after_s * NS_PER_S)
        )

    def length_s(self, fps: float) -> float:
        """Length of the load."""
        if self.trial_s is not None:
            return self.trial_s
        if self.sampling is None or self.sampling == 1:
            return DEFAULT_S
        return max(DEFAULT_S, ceil(samples_needed(self.resolution_percent / 100) * self.sampling / fps))

    def modifier(self, headers: str, seed: str) -> str:
        """A source port for each flow, in the words of a modifier. Raises PlanError for headers without one."""
        kinds = [type(layer).__name__ for layer in unaddressed(parse(headers)).layers]
        transport = next((kind for kind in ("UDP", "TCP") if kind in kinds), None)
        if transport is None:
            problem = f"{headers} has no ports by which exporters tell flows apart"
            raise PlanError("headers", problem, "use ipv4, ipv6 or other headers with UDP or TCP")
        ports = random.Random(seed).sample(range(_FIRST_PORT, _LAST_PORT), self.flows)
        return f"{transport}.sport=list({', '.join(map(str, ports))})"
