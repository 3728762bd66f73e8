"""`Telemetry`: what a simulated device exports about the frames that it forwards, and how far it is from the truth."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from keisoku.ground.simulated_device.section import Nanoseconds, Ratio, Section


class Telemetry(Section):
    """The device exports samples of frames, or a record of each flow after the load."""

    protocol: Literal["sflow", "netflow"] = "sflow"
    """sFlow 5 with samples, or NetFlow 5 with a record a flow."""
    one_in: int = Field(1, ge=1, le=1 << 13)
    """So many frames pass for each that is counted, as the exports say it."""
    truly_one_in: float | None = Field(None, ge=1, le=1e6)
    """As it is (default: what the exports say)."""
    copies: int = Field(1, ge=1, le=16)
    """So often each frame is counted, as by a sampler at its input and one at its output."""
    missing: Ratio = 0.0
    """Share of the flows that nothing is exported of."""
    lost: Ratio = 0.0
    """Share of the datagrams that do not arrive."""
    delay_ns: Nanoseconds = 1e9
    """From the frame, or the end of the flow, to the datagram."""
    seed: int = Field(0, ge=0)
