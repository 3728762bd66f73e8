"""The tester's capabilities, against which a plan is checked before the first frame is sent. Knows no engine."""

from __future__ import annotations

from typing import Literal

from keisoku.frozen import Frozen

Ability = Literal[
    "short_gap",
    "undersize",
    "crc",
    "dribble",
    "alignment",
    "anywhere",
    "batches",
    "commands",
    "compare",
    "connections",
    "cost",
    "drops",
    "exports",
    "marks",
    "multicast",
    "switches",
]
"""short_gap: sends with gaps of 88 bits (RFC 2889 §5.6). undersize, crc, dribble, alignment: sends the kinds of
errored frames that a NIC does not send (§5.9). anywhere: counts frames at whichever port they arrive. commands:
commands of the host can be events, whose time is known on the clock of the frames. compare: compares the headers of
every frame that arrives with those that are expected. connections: opens connections before a load and sees from where
each arrives (RFC 9693). batches: times batches of frames on the CPU of this host that the device uses too. cost: the
same also over a cable. drops: tells where in this host's kernel a frame was dropped. exports:
keeps what the device exports about the frames. marks: sees which frames arrived
with CE, or with another class than they were sent with. multicast: accounts for each frame at several ports (RFC
3918). switches: starts, pauses and ends flows of a running trial one by one, and counts them while it runs."""


class Capabilities(Frozen):
    """Capabilities of one tester with its ports."""

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
    resets: Literal["on command", "by hand"] | None = None
    """What resets the device in a trial: the engine on command, the operator by hand, or nothing (None)."""
    events: tuple[str, ...] = ()
    """Names of events that can be done to the device in a trial (`keisoku/subjects/device/record/event.py`)."""
