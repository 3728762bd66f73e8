"""The tester's capabilities, against which a plan is checked before the first frame is sent. Knows no engine."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Ability = Literal["short_gap", "undersize", "crc", "dribble", "alignment"]
"""Gaps of 88 bits, and the kinds of errored frames that a NIC does not send (RFC 2889 §5.6, §5.9)."""


class Capabilities(BaseModel):
    """Capabilities of one tester with its ports."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    engine: str
    link_bits_per_second: float | None
    """None: the link has no rate of its own, for example a veth pair."""
    min_frame_bytes: int
    max_frame_bytes: int | None
    """The tester's own limit, not the device's; None: not known."""
    simulated: bool
    transmit_stamp: str
    """Clock and point at which transmit timestamps are taken."""
    receive_stamp: str
    abilities: frozenset[Ability] = frozenset()
    """Abilities that only some testers have."""
    resolution_ns: float = 0.0
    """Resolution of a simulated tester's timestamps; 0: exact. That of real clocks is part of the calibration's
    scatter."""
    on_host: bool = False
    """True if CPUs of this host send and receive the frames, so that a busy host disturbs trials."""
    exact: bool = False
    """True if the tester itself adds no latency, so that there is nothing to calibrate."""
    mean_error_ns: float = 0.0
    """Bound of the error that the timestamps' quantisation leaves in a mean of many frames and that no scatter
    shows."""
    switches: bool = False
    """True if flows of a running trial can be started, paused and ended one by one, and are counted while it runs."""
    resets: Literal["on command", "by hand"] | None = None
    """What resets the device in a trial: the engine on command, the operator by hand, or nothing (None)."""
