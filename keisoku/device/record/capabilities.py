"""What a tester can do, as a plan is checked against it before the first frame leaves. Knows no engine."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Ability = Literal["short_gap", "undersize", "crc", "dribble", "alignment"]
"""Gaps of 88 bits, and the kinds of errored frames that a NIC does not send (RFC 2889 §5.6, §5.9)."""


class Capabilities(BaseModel):
    """What a plan is checked against before the first frame leaves."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    engine: str
    link_bits_per_second: float | None
    """None: the link has no rate of its own, as a veth pair has none."""
    min_frame_bytes: int
    max_frame_bytes: int | None
    """The tester's own limit, not the device's; None: not known."""
    simulated: bool
    transmit_stamp: str
    """Which clock and which point of the way out."""
    receive_stamp: str
    abilities: frozenset[Ability] = frozenset()
    """What only some testers can do."""
    resolution_ns: float = 0.0
    """Of a simulated tester's stamps; 0: exact. What real clocks resolve is in their calibration's scatter."""
    exact: bool = False
    """The tester adds nothing of its own: there is nothing to calibrate."""
    mean_error_ns: float = 0.0
    """Bound of what steps of the stamps leave in a mean over many frames, which no scatter tells of."""
    switches: bool = False
    """Flows of a running trial can be started, paused and ended one by one, and are counted meanwhile."""
    resets: Literal["on command", "by hand"] | None = None
    """Who can reset the device in a trial: the engine, the operator, or nobody."""
