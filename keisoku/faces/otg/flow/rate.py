"""Rate and timing of an OTG flow, converted for keisoku's load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from keisoku.faces.otg.reading.node import Node
from keisoku.ground.frame.rates import NS_PER_S, OVERHEAD_BYTES
from keisoku.subjects.device.record.trial import Bursts, Constant, Pacing

_UNITS = {"bps": 1, "kbps": 1_000, "mbps": 1_000_000, "gbps": 1_000_000_000}
_LEAST_GAP_BYTES = 12
"""OTG's default, and that of Ethernet."""
_PREAMBLE_BYTES = OVERHEAD_BYTES - _LEAST_GAP_BYTES
CONTINUOUS_NS = 24 * 3600 * NS_PER_S
"""How long a flow without an end is sent if it is not stopped; keisoku can number frames for at least 78 hours."""


LONGEST_NS = 3 * CONTINUOUS_NS
"""Sequence numbers are 48 bits wide, and so are times in ns: they last for 78 hours."""
SLOWEST_FPS = 1e-3
FASTEST_FPS = 200e6
"""More than 100 Gb/s of the smallest frames; below it the number of frames is exact."""


@dataclass(frozen=True)
class Timing:
    """Number of frames, times and gaps."""

    frames_per_second: float
    """Mean rate, also of bursts."""
    frames: int | None
    """Number of frames; None: until it is stopped, or for `duration_ns`."""
    duration_ns: int
    start_ns: int
    pacing: Pacing


def frames_per_second(node: Node, sizes: Sequence[int], link_bits_per_second: float | None) -> float:
    """Raises PlanError, with the path, for a rate that no port has."""
    rate = _rate(node, sizes, link_bits_per_second)
    if not SLOWEST_FPS <= rate <= FASTEST_FPS:
        node.refuse(f"{rate:g} frames/s are not supported", f"use {SLOWEST_FPS:g} to {FASTEST_FPS:g}")
    return rate


def _rate(node: Node, sizes: Sequence[int], link_bits_per_second: float | None) -> float:
    """OTG's bit rates are line rates: its smallest, 672 bit/s, is one frame of 64 bytes with preamble and gap.

    Raises PlanError for a share of a line that has no rate.
    """
    choice = str(node.choice())
    if choice == "pps":
        return float(node.scalar("pps"))
    slot_bits = 8 * (sum(sizes) / len(sizes) + OVERHEAD_BYTES)
    if choice != "percentage":
        return float(node.scalar(choice)) * _UNITS[choice] / slot_bits
    share = float(node.scalar("percentage"))
    if share <= 0:
        node.refuse("is no rate", "use more than 0", "percentage")
    if link_bits_per_second is None:
        remedy = "give the port a speed in layer1, or start the server with --speed"
        node.refuse("the sending port has no line rate of its own", remedy, "percentage")
    return share / 100 * link_bits_per_second / slot_bits


def timing(node: Node, rate: float, largest_bytes: int, link_bits_per_second: float | None) -> Timing:
    """The duration of a flow of `rate` frames/s, or of fewer where the least gap between its frames wants that.
    `largest_bytes`: its longest frame. Raises PlanError, with the path, for gaps that no port can send."""
    inner = node.child(str(node.choice()))
    gap = int(inner.scalar("gap"))
    if gap > _LEAST_GAP_BYTES:
        if link_bits_per_second is None:
            remedy = f"leave it out ({_LEAST_GAP_BYTES}), or give the port a speed in layer1"
            inner.refuse("the sending port has no line rate, so a byte has no time", remedy, "gap")
        rate = min(rate, link_bits_per_second / 8 / (largest_bytes + _PREAMBLE_BYTES + gap))
    found = _timing(node, rate, link_bits_per_second)
    if found.start_ns + found.duration_ns > LONGEST_NS:
        hours = LONGEST_NS / 3600 / NS_PER_S
        node.refuse(f"would take longer than {hours:g} h", "send less, or continuously until it is stopped")
    return found


def _timing(node: Node, rate: float, link_bits_per_second: float | None) -> Timing:
    choice = str(node.choice())
    inner = node.child(choice)
    if choice == "burst":
        return _bursts(inner, rate, link_bits_per_second)
    start_ns = round(_time_ns(inner.child("delay"), link_bits_per_second))
    match choice:
        case "fixed_packets":
            frames = int(inner.scalar("packets"))
            return Timing(rate, frames, _lasting_ns(frames, rate), start_ns, Constant())
        case "fixed_seconds":
            seconds = float(inner.scalar("seconds"))
            if not 0 < seconds <= LONGEST_NS / NS_PER_S:
                inner.refuse("is no time", f"use above 0 and at most {LONGEST_NS / NS_PER_S:g}", "seconds")
            return Timing(rate, None, max(1, round(seconds * NS_PER_S)), start_ns, Constant())
    return Timing(rate, None, CONTINUOUS_NS, start_ns, Constant())


def _bursts(node: Node, rate: float, link_bits_per_second: float | None) -> Timing:
    bursts, packets = int(node.scalar("bursts")), int(node.scalar("packets"))
    gap_ns = _time_ns(node.child("inter_burst_gap"), link_bits_per_second)
    # The flow's rate is that within a burst; between two bursts the gap is added to a frame's own slot.
    mean = packets / (packets / rate + gap_ns / NS_PER_S)
    pacing = Bursts(burst_frames=packets, gap_ns=round(NS_PER_S / rate))
    if bursts == 0:
        return Timing(mean, None, CONTINUOUS_NS, 0, pacing)
    frames = bursts * packets
    return Timing(mean, frames, _lasting_ns(frames, mean), 0, pacing)


def _lasting_ns(frames: int, rate: float) -> int:
    return max(1, round(frames * NS_PER_S / rate))


def _time_ns(node: Node, link_bits_per_second: float | None) -> float:
    """A delay or a gap; bytes are byte times of the line."""
    if not node.present:
        return 0.0
    choice = str(node.choice())
    value = float(node.scalar(choice))
    if not 0 <= value <= LONGEST_NS:
        node.refuse("is not a time that keisoku supports", f"use 0 to {LONGEST_NS:g}", choice)
    match choice:
        case "nanoseconds":
            return value
        case "microseconds":
            return value * 1_000
    if value and link_bits_per_second is None:
        node.refuse("the sending port has no line rate, so a byte has no time", "give nanoseconds", "bytes")
    return value * 8 * NS_PER_S / link_bits_per_second if link_bits_per_second else 0.0
