"""What each generator of an instrument sends in a trial: a short program of frames, when they start, how many.

Refuses what the hardware cannot do. It knows no registers and sends nothing.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd, lcm

from keisoku.errors import PlanError
from keisoku.ground.fpga.program import ENTRIES, LEAST_GAP_BYTES, Defect, PlannedFrame, Program, encode
from keisoku.ground.frame.payload import FCS_BYTES, SIGNATURE_BYTES
from keisoku.ground.frame.variants import Frames
from keisoku.subjects.device.engine.traffic import Traffic
from keisoku.subjects.device.record.trial import NS_PER_S, Constant, Flow, Gaps, Poisson, Stream, Trial

PREAMBLE_BYTES = 8
GAP_BYTES = 12
"""IEEE 802.3 wants 96 bits between frames."""
LEAST_BYTES, MOST_BYTES = 64, 16_387
"""With FCS; errored frames may be smaller."""
UNDERSIZE_HEADERS = "ethernet"
"""IPv4, UDP and a signature do not fit into a frame below 64 bytes."""
LEAST_GAPS = 256
"""Gaps of a Poisson process before they repeat."""
_SNAP = Fraction(1, 10**7)
"""A rate is a float: an interval this near to whole byte times is meant to be whole."""

TICKS_PERIOD_BYTES = 40
"""After so many byte times the time base (128.125 MHz) and the ports' clock (125 MHz) have the same phase again."""
MOST_SHARED = 3
"""A factor of an interval and that period for which the timestamps' quantisation still averages to 0.6 ns."""
SLIP_BYTES = Fraction(1, 41)


@dataclass(frozen=True)
class PortLoad:
    """All that one generator sends, and how its stream is received."""

    transmit: int
    receive: int
    program: Program
    """Frames that are sent in turn, again and again."""
    interval_bytes: Fraction
    """Byte times from start to start of bursts; 0: the program's gaps alone set the times."""
    burst_frames: int
    """1: the interval starts every frame; 0: it starts none."""
    frames: int
    start_ns: int
    """After the start of the trial."""
    checked_from: int
    byte_ns: Fraction
    tag: int | None = None

    @property
    def sizes(self) -> tuple[int, int]:
        """The smallest and the largest frame, with FCS."""
        return min(one.frame_bytes for one in self.program.frames), max(one.frame_bytes for one in self.program.frames)

    @cached_property
    def _starts(self) -> list[int]:
        """Byte times of each entry's preamble after that of the first, and last, of the next round's first."""
        found = [0]
        for frame in self.program.frames:
            found.append(found[-1] + PREAMBLE_BYTES + frame.frame_bytes + frame.gap_bytes)
        return found

    def due_ns(self, number: int) -> int:
        """When frame `number` of the stream is due, in ns after the start of the trial."""
        if self.burst_frames:
            burst, place = divmod(number, self.burst_frames)
            first = burst * self.burst_frames % len(self.program.frames)
            at = self.interval_bytes * burst + self._after(first + place) - self._after(first)
        else:
            at = Fraction(self._after(number))
        return self.start_ns + round(at * self.byte_ns)

    def _after(self, number: int) -> int:
        rounds, place = divmod(number, len(self.program.frames))
        return rounds * self._starts[-1] + self._starts[place]

    @property
    def duration_ns(self) -> int:
        """From the start of the trial until the last frame is due."""
        return self.due_ns(self.frames - 1)


def loads(traffic: Traffic, trial: Trial, link_bits_per_second: float) -> list[PortLoad]:
    """One for each stream of the trial, in the order of its facts.

    Raises PlanError for what a generator cannot send or a receiver cannot account.
    """
    if any(flow.also or flow.message for flow in trial.flows):
        problem = "a port of the instrument accounts the frames of one stream only, which no other port expects"
        raise PlanError("methods", problem, "measure multicast with ports of a host")
    if traffic.streams_beside(trial):
        raise PlanError("modifiers", "a port of the instrument sends one stream and no other frames", "leave it out")
    if trial.reset_after_ns is not None:
        raise PlanError("dut", "the instrument cannot reset the device in a trial", "reset it by hand")
    defects = [flow.defect for flow in trial.flows] or [None]
    shown = _showable(trial)
    streams, tables = traffic.streams(shown), traffic.tables(shown)
    for name, ports in (("sends", [one.transmit for one in streams]), ("receives", [one.receive for one in streams])):
        if len(set(ports)) < len(ports):
            problem = f"a port of the instrument {name} one stream at a time"
            raise PlanError("streams", problem, "use one stream on each way, and a mix of sizes or modifiers in it")
    for one in streams:
        if one.transmit == one.receive:
            raise PlanError("rx", "a port cannot receive its own frames here", "use the other port")
    return [
        _load(stream, table, defect, trial, link_bits_per_second, traffic.seed)
        for stream, table, defect in zip(streams, tables, _repeated(defects, len(streams)), strict=True)
    ]


def _repeated(defects: Sequence[Defect | None], count: int) -> Sequence[Defect | None]:
    return defects if len(defects) == count else [None] * count


def _showable(trial: Trial) -> Trial:
    """The trial with whole frames only, whose headers the errored ones have too."""
    if not any(flow.defect for flow in trial.flows):
        return trial
    flows = tuple(_whole(flow) for flow in trial.flows)
    return trial.model_copy(update={"flows": flows, "frame_bytes": max(LEAST_BYTES, trial.frame_bytes)})


def _whole(flow: Flow) -> Flow:
    changes: dict[str, object] = {"defect": None}
    if flow.defect == "undersize":
        changes["headers"] = UNDERSIZE_HEADERS
    return flow.model_copy(update=changes)


def poisson_period(sizes: int) -> int:
    """Frames after which gaps of a Poisson process repeat, with so many sizes in turn.

    Raises PlanError if there would be too few of them to behave like independent gaps.
    """
    period = ENTRIES // sizes * sizes
    if period // sizes < LEAST_GAPS:
        problem = f"with {sizes} sizes in turn gaps repeat after {period} frames"
        raise PlanError("pacing", problem, f"use at most {ENTRIES // LEAST_GAPS} sizes, or give gaps:FILE")
    return period


def _load(
    stream: Stream, table: Frames, defect: Defect | None, trial: Trial, bits_per_second: float, seed: int
) -> PortLoad:
    sizes = [int(length) + FCS_BYTES for length in table.lengths]
    if defect == "undersize":
        sizes = [trial.frame_bytes] * len(sizes)
        if table.room_bytes:
            problem = "the instrument writes its signature into the last bytes of a frame, where the inner FCS must be"
            raise PlanError("headers", problem, "use Ether() inside the tunnel")
        least = table.checked_from + SIGNATURE_BYTES + FCS_BYTES
        if not least <= trial.frame_bytes < LEAST_BYTES:
            raise PlanError("frame size", f"{trial.frame_bytes} byte is no undersize frame", f"use {least} to 63")
    for size in sizes:
        if size > MOST_BYTES or (defect != "undersize" and size < LEAST_BYTES):
            raise PlanError("frame size", f"{size} byte cannot be sent", f"use {LEAST_BYTES} to {MOST_BYTES}")
    byte_ns = Fraction(8 * NS_PER_S) / Fraction(bits_per_second)
    interval, burst, gaps = _pacing(stream, sizes, byte_ns, seed)
    count = lcm(len(sizes), len(gaps))
    if count > ENTRIES:
        problem = (
            f"sizes, headers and gaps repeat after {count} frames, and the instrument's program has {ENTRIES} entries"
        )
        raise PlanError("pacing", problem, "use counts that divide each other")
    frames = [
        PlannedFrame(
            header=table.frame(place % table.count)[: table.checked_from],
            frame_bytes=sizes[place % len(sizes)],
            gap_bytes=gaps[place % len(gaps)],
            defect=defect,
        )
        for place in range(count)
    ]
    return PortLoad(
        transmit=stream.transmit,
        receive=stream.receive,
        program=encode(frames),
        interval_bytes=interval,
        burst_frames=burst,
        frames=stream.frames,
        start_ns=stream.start_ns,
        checked_from=table.checked_from,
        byte_ns=byte_ns,
        tag=stream.tag,
    )


def _pacing(stream: Stream, sizes: Sequence[int], byte_ns: Fraction, seed: int) -> tuple[Fraction, int, list[int]]:
    """Interval in byte times, frames of a burst, and the gaps of consecutive frames in byte times."""
    pacing = stream.pacing
    if isinstance(pacing, Gaps):
        return Fraction(0), 0, _listed(pacing.gaps_ns, sizes, byte_ns)
    if stream.frames_per_second <= 0:
        raise PlanError("rate", f"{stream.frames_per_second:g} frames/s is no rate", "use a positive number")
    if isinstance(pacing, Poisson):
        return Fraction(0), 0, _listed(_drawn(stream, poisson_period(len(sizes)), seed), sizes, byte_ns)
    interval = _snapped(NS_PER_S / Fraction(stream.frames_per_second) / byte_ns)
    mean = Fraction(sum(sizes), len(sizes)) + PREAMBLE_BYTES
    gap = min(GAP_BYTES, int(interval - mean)) if interval < mean + GAP_BYTES else GAP_BYTES
    if gap < LEAST_GAP_BYTES:
        most = NS_PER_S / (byte_ns * (mean + LEAST_GAP_BYTES))
        problem = f"{stream.frames_per_second:,.0f} frames/s leave a gap below {LEAST_GAP_BYTES} byte times"
        raise PlanError("rate", problem, f"use at most {float(most):,.0f} frames/s")
    if isinstance(pacing, Constant):
        return (_slipping(interval) if interval >= mean + gap + 1 else interval), 1, [gap]
    if pacing.gap_ns:
        gap = max(gap, round(pacing.gap_ns / byte_ns) - max(sizes) - PREAMBLE_BYTES)
    return interval * pacing.burst_frames, pacing.burst_frames, [gap]


def _drawn(stream: Stream, count: int, seed: int) -> list[float]:
    """`count` exponentially distributed times from start to start in ns, whose mean is exactly that of the rate."""
    chance = random.Random(f"{seed} {stream.transmit}")
    drawn = [chance.expovariate(1.0) for _ in range(count)]
    scale = count * NS_PER_S / stream.frames_per_second / sum(drawn)
    return [one * scale for one in drawn]


def _snapped(interval: Fraction) -> Fraction:
    whole = round(interval)
    return Fraction(whole) if abs(interval - whole) <= _SNAP * interval else interval


def _slipping(interval: Fraction) -> Fraction:
    """An interval at which the two locked clocks meet in many phases: the timestamps' quantisation then averages out.

    The time base makes 41 ticks in 40 byte times, so frames a multiple of 40 apart would all meet it in one phase, and
    their mean would be off by up to a step. A 41st of a byte time more, 290 millionths at most, visits all phases.
    """
    few = interval.denominator == 1 and gcd(interval.numerator, TICKS_PERIOD_BYTES) > MOST_SHARED
    return interval + SLIP_BYTES if few else interval


def _listed(gaps_ns: Sequence[float], sizes: Sequence[int], byte_ns: Fraction) -> list[int]:
    """Converts gaps from start to start to gaps after the FCS. A gap that is too short delays the next frame; later
    gaps make up for it."""
    count = lcm(len(gaps_ns), len(sizes))
    if count > ENTRIES:
        problem = f"{len(gaps_ns)} gaps and {len(sizes)} sizes repeat after {count} frames, more than {ENTRIES}"
        raise PlanError("pacing", problem, "use fewer gaps")
    found: list[int] = []
    due, start = Fraction(0), 0
    # The second round is used: a gap too short at the end of a round is made up for at the beginning of the next.
    for place in range(2 * count):
        due += Fraction(gaps_ns[place % len(gaps_ns)]) / byte_ns
        end = start + PREAMBLE_BYTES + sizes[place % len(sizes)]
        found.append(max(GAP_BYTES, round(due) - end))
        start = end + found[-1]
    round_bytes = sum(found[count:]) + count * PREAMBLE_BYTES + sum(sizes) * (count // len(sizes))
    if round_bytes > due / 2 + 1:
        raise PlanError("pacing", "the gaps leave no time for the frames", "use longer gaps or smaller frames")
    return found[count:]
