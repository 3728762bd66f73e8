"""Common parts of RFC 2889's procedures: loads that the tester can offer, forwarding rate, deviations."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Generator
from dataclasses import dataclass

from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.language import phrase
from keisoku.subjects.device.analysis.loss_ratio import share
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.search import CEILING_WITHOUT_LINK_FPS, RETRIES, beyond_tester, reached_fps
from keisoku.subjects.device.method.throughput_figure import passed_figure
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.plan.rate import Relative
from keisoku.subjects.device.plan.settings import RFC2544_SIZES
from keisoku.subjects.device.record.trial import NS_PER_S, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import TOLERANCE

TRIAL_S = 30.0
"""RFC 2889 §5.1.2: "The recommended Trial Duration is 30 seconds"."""
STARTS = 0.01
"""RFC 2889 §5.1.3: "All ports SHOULD start transmitting their frames within 1% of the trial duration"."""
_ATTEMPTS = 12
"""Limit of attempts: each lowers the load; after so many the tester can offer nothing."""

Carried = Generator[Trial, TrialRecord, TrialRecord]


def attempt(trial: Trial) -> Carried:
    """The record of a trial, repeated while the tester disturbs it."""
    for _ in range(RETRIES):
        record = yield trial
        if record.valid or beyond_tester(record):
            break
    return record


def at_most(
    inputs: MethodInput, size: int, maximum: float | Relative | None, make: Callable[[float], Trial]
) -> Generator[Trial, TrialRecord, tuple[float, TrialRecord]]:
    """The maximum load of a port, or the highest that the tester can offer below it, and the trial at this load.

    `maximum` in frames/s replaces the link's maximum if it is given; `make` is called with such a load.
    """
    fps = inputs.fps(maximum, size) or inputs.line_fps(size) or CEILING_WITHOUT_LINK_FPS
    for _ in range(_ATTEMPTS):
        record = yield from attempt(make(fps))
        if record.offered_share >= 1 - TOLERANCE:
            break
        fps = reached_fps(record)
    return fps, record


def lowered(inputs: MethodInput, size: int, maximum: float | Relative | None, fps: float) -> list[str]:
    """Remarks that the maximum load in frames/s is the tester's, where it is not the link's or the user's."""
    if fps == (inputs.fps(maximum, size) or inputs.line_fps(size)):
        return []
    return [
        phrase("{size} byte: 100 % is the most the tester could offer, {fps:,.0f} frames/s a port", size=size, fps=fps)
    ]


@dataclass(frozen=True)
class Boundary:
    """The highest value that passed, and the lowest above it that is not known to pass."""

    passed: float
    above: float
    limited_by_tester: bool
    """Nothing above is known not to pass."""

    def figure(self, unit: str) -> Quantity:
        """What passed: at least, if the tester was the limit, else with the interval to the lowest above it."""
        if self.limited_by_tester:
            return Quantity(value=self.passed, unit=unit, bound="at least")
        interval = Interval(lower=self.passed, upper=self.above)
        return Quantity(value=self.passed, unit=unit, interval=interval, covers="resolution")

    def throughput(self, fps: float, line_fps: float | None) -> Quantity | None:
        """Where values are loads: what was offered in frames/s when `passed` was asked for. None: nothing is known."""
        if self.passed >= self.above:
            return passed_figure(fps, self.above, "ceiling", line_fps)
        if not self.passed and self.limited_by_tester:
            return None
        return passed_figure(fps, self.above, "tester" if self.limited_by_tester else "loss", line_fps)


UNDECIDED = phrase("undecided: the tester was disturbed in each trial")
"""The remark of a search in which nothing passed: it is not known whether the DUT would."""

Probe = Callable[[float], Generator[Trial, TrialRecord, bool | None]]
"""Whether a value passes; None if the tester disturbed every trial."""


def highest(probe: Probe, ceiling: float, resolution: float) -> Generator[Trial, TrialRecord, Boundary]:
    """The highest load that passes, by binary search from `ceiling` down, to a share of `resolution`; less finely where
    the tester disturbed every trial of a load."""
    low, high, value, lossy = 0.0, ceiling, ceiling, math.inf
    while low < high * (1 - resolution) and high > ceiling * 1e-6:
        passed = yield from probe(value)
        if passed:
            low = value
        else:
            high = value
            lossy = lossy if passed is None else value
        value = (low + high) / 2
    return Boundary(low, min(lossy, ceiling), lossy == math.inf)


def forwarding_rate(record: TrialRecord, ports: Collection[int] | None = None) -> Quantity:
    """RFC 2285 §3.6.1: frames a second that reach the right ports, over the time in which they arrive, of all ports
    or of those given.

    The uncertainty is a frame a port: the ends of that time are those of whole frames.
    """
    facts = record.facts
    first_sent_ns = {one.port: one.sent.first_sent_ns for one in facts.transmitters}
    rate, error = 0.0, 0.0
    for receiver in facts.receivers:
        if ports is not None and receiver.port not in ports:
            continue
        own = [stream for stream in facts.streams if stream.receive == receiver.port]
        frames = sum(stream.tracked.forwarded_frames for stream in own)
        latencies = [stream.tracked.latency for stream in own if stream.tracked.latency is not None]
        if frames < 2 or not latencies or receiver.last_received_ns is None:
            continue
        first_ns = min(first_sent_ns.get(stream.transmit, 0) for stream in own)
        span_ns = receiver.last_received_ns - first_ns - min(latency.min_ns for latency in latencies)
        if span_ns > 0:
            rate += (frames - 1) * NS_PER_S / span_ns
            error += NS_PER_S / span_ns
    return Quantity(value=rate, unit="frames/s", uncertainty=error)


def flooded(record: TrialRecord) -> int:
    """Frames that arrived at ports other than their destinations."""
    return sum(receiver.misdirected_frames for receiver in record.facts.receivers)


def late_starts(record: TrialRecord) -> list[str]:
    """Remarks that the ports did not begin at the same time."""
    starts = [one.sent.first_sent_ns for one in record.facts.transmitters]
    apart = max(starts) - min(starts)
    if apart <= STARTS * record.trial.duration_ns:
        return []
    return [phrase("RFC 2889 §5.1.3: ports began {apart:.3g} ms apart, more than 1 % of the trial", apart=apart / 1e6)]


def deviations(plan: Plan, simulated: bool, clause: str, trial_s: float | None, sizes: bool = True) -> list[str]:
    """Deviations of a plan that all procedures share; with `sizes`, all frame sizes are required."""
    found = []
    missing = [str(size) for size in RFC2544_SIZES if size not in plan.frame_bytes]
    if sizes and missing:
        found.append(
            phrase("RFC 2889 {clause}: frame sizes {names} were not tested", clause=clause, names=", ".join(missing))
        )
    if trial_s is not None and trial_s < TRIAL_S:
        found.append(
            phrase("RFC 2889 {clause}: each trial lasts {trial_s:g} s instead of 30 s", clause=clause, trial_s=trial_s)
        )
    if simulated:
        found.append(phrase("the DUT is simulated: results describe the model"))
    return found


def percent(part: int, whole: int) -> Quantity:
    """A share of frames, as a property of the device."""
    return share(part, whole)


def frames(count: int) -> Quantity:
    """A count, which is exact."""
    return Quantity(value=count, unit="frames", uncertainty=0.0)
