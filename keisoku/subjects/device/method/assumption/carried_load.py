"""What a device carries, where its trials contradict that it is one load: the higher passes and the lower does not.

A throughput takes for granted that a device which forwards a load forwards every lower one, for any time, and after an
overload as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import takewhile
from statistics import median

from keisoku.ground.run.result import Row
from keisoku.language import phrase
from keisoku.subjects.device.method.assumption.loss_place import alike, constant, lossy_alike
from keisoku.subjects.device.method.assumption.outflow import departed_fps
from keisoku.subjects.device.method.evidence import between
from keisoku.subjects.device.record.counts import Interval
from keisoku.subjects.device.record.trial import NS_PER_S
from keisoku.subjects.device.record.trial_record import TrialRecord

_MORE = 1.05
"""Frames that leave so many times as fast as others come show that the device could carry these."""
_LESS = 0.97
_WAITED = 10
"""A queue of so many frames has grown."""
_FLAT = 0.05
"""Latencies below this share of the longest wait show no queue."""
_LEAST_INTERVALS = 3
_COUNTED = 50
"""So many frames in an interval show a rate."""
_LONG = 0.3
"""Share of the time until the first loss that shows that a queue did not begin with the load."""
_WAIT_SHARE = 0.5
"""A buffer makes a frame wait for at least this share of the time in which it empties."""
_FEW_FRAMES = 3


def contradicted_load(records: Sequence[TrialRecord]) -> str:
    """What trials of a size contradict of a single load that a device carries; empty if nothing."""
    return _late_queue(records) or _slower_when_full(records) or _collapse(records) or _below_capacity(records)


def _below_capacity(records: Sequence[TrialRecord]) -> str:
    """Loads fail although frames left faster in another trial: the rate of the output is not what limits the device."""
    failed = lossy_alike(records)
    rates = [(fps, one) for one in alike(records) if (fps := departed_fps(one)) is not None]
    if not rates or not failed:
        return ""
    fps, fast = max(rates, key=lambda pair: pair[0])
    slow = min(failed, key=lambda one: one.trial.frames_per_second)
    if fps < _MORE * slow.trial.frames_per_second:
        return ""
    return phrase(
        "frames were lost at {slow:,.0f} frames/s already, although at {load:,.0f} frames/s they left at {fps:,.0f}"
        " frames/s: it is not the rate of its output that limits the device",
        slow=slow.trial.frames_per_second,
        load=fast.trial.frames_per_second,
        fps=fps,
    )


def _collapse(records: Sequence[TrialRecord]) -> str:
    """Under every overload frames leave more slowly than in a trial that lost none, or in the first overload."""
    rates = [(one, fps) for one in alike(records) if (fps := departed_fps(one)) is not None]
    clean = [(one, fps) for one, fps in rates if one.loss_ratio == 0]
    for known in (clean, [pair for pair in rates if pair[0].loss_ratio][:1]):
        if not known:
            continue
        best, best_fps = max(known, key=lambda pair: pair[1])
        over = [pair for pair in rates if pair[0].loss_ratio and pair[0].trial.frames_per_second > best_fps]
        rest = [pair for pair in over if pair[0] is not best]
        slower_fps = max((fps for _, fps in rest), default=0.0)
        if len({one.trial.frames_per_second for one, _ in rest}) < 2 or slower_fps >= _LESS * best_fps:
            continue
        return phrase(
            "frames left at {fps:,.0f} frames/s at a load of {load:,.0f}, but overloaded at other times at"
            " {slower:,.0f} at most: what it carries depends on what came before, and on the order of the loads",
            fps=best_fps,
            load=best.trial.frames_per_second,
            slower=slower_fps,
        )
    return ""


def _slower_when_full(records: Sequence[TrialRecord]) -> str:
    """In a trial frames leave more slowly from the first loss on."""
    for record in lossy_alike(records):
        series, gap = record.facts.tracked.series, record.facts.tracked.lost[0]
        if gap.after_ns is None or len(series) < 2 * _LEAST_INTERVALS:
            continue
        width_ns = series[1].start_ns - series[0].start_ns
        # The first interval is silent until a frame has crossed the device, the last one is not whole.
        early = [one.forwarded_frames for one in series[1:-1] if one.start_ns + width_ns <= gap.after_ns]
        late = [one.forwarded_frames for one in series[1:-1] if one.start_ns > gap.after_ns]
        if min(len(early), len(late)) < 2 or min(median(early), median(late)) < _COUNTED:
            continue
        first_fps, then_fps = (median(own) * NS_PER_S / width_ns for own in (early, late))
        if then_fps > _LESS * first_fps or first_fps > _LESS * record.offered_fps:
            continue
        return phrase(
            "at {load:,.0f} frames/s frames left at {first:,.0f} frames/s until the first was lost, and at {then:,.0f}"
            " from then on: what it carries depends on whether its queue was full, and on the order of the loads",
            load=record.trial.frames_per_second,
            first=first_fps,
            then=then_fps,
        )
    return ""


def _late_queue(records: Sequence[TrialRecord]) -> str:
    """A queue began long after the load: until then the device carried it."""
    for record in lossy_alike(records):
        gap, latency = record.facts.tracked.lost[0], record.facts.tracked.latency
        if gap.after_ns is None or latency is None:
            continue
        risen_ns = latency.max_ns - latency.min_ns
        if risen_ns < _WAITED * NS_PER_S / record.trial.frames_per_second:
            continue
        flat = list(takewhile(partial(_is_flat, latency.min_ns + _FLAT * risen_ns), record.facts.tracked.series))
        series = record.facts.tracked.series[len(flat) :]
        if len(flat) < _LEAST_INTERVALS or not series or series[0].start_ns < _LONG * gap.after_ns:
            continue
        flat_s = series[0].start_ns / NS_PER_S
        if sum(one.forwarded_frames for one in flat) < _LESS * record.offered_fps * flat_s:
            continue
        return phrase(
            "at {load:,.0f} frames/s no frame waited for {seconds:.3g} s, then a queue grew until frames were lost: the"
            " device stops or slows down after a time, and what it carries depends on the length of trials",
            load=record.trial.frames_per_second,
            seconds=flat_s,
        )
    return ""


def _is_flat(most_ns: float, interval: Interval) -> bool:
    return interval.latency is not None and interval.latency.max_ns <= most_ns


def lost_below(row: Row, run: Sequence[TrialRecord]) -> tuple[Row, str]:
    """The row, whose throughput reaches down to the lowest load that lost frames if that is below the lossless one on
    which it rests, and why."""
    own = next((one for one in constant(run) if one.index == row.trial), None)
    if own is None or own.loss_ratio or "throughput" not in row.figures:
        return row, ""
    below = [
        one
        for one in constant(run)
        if one.loss_ratio
        and one.method != "mlr"  # RFC 9971 classifies its own loads, and allows for some trials with loss
        and one.trial.frame_bytes == row.frame_bytes
        and one.trial.frames_per_second < own.trial.frames_per_second
        and len(one.facts.streams) == len(own.facts.streams)
    ]
    if not below:
        return row, ""
    lowest, worst = (
        min(below, key=by) for by in (lambda one: one.trial.frames_per_second, lambda one: -one.loss_ratio)
    )
    figure = row.figures["throughput"]
    most_fps = max(end for end in (figure.value, *(figure.bounds or ())) if end < math.inf)
    return between(row, lowest.trial.frames_per_second, most_fps), phrase(
        "contradiction: {percent:.3g} % of the frames of {method} were lost at {fps:,.0f} frames/s, which is less",
        percent=100 * worst.loss_ratio,
        method=worst.method,
        fps=worst.trial.frames_per_second,
    )


def checked_buffer(row: Row, records: Sequence[TrialRecord]) -> tuple[Row, str]:
    """The row without the buffer that its longest burst implies, and why, where no frame has waited for so long.

    The last frame of a burst that just fits waits until the buffer before it is empty.
    """
    implied, corrected = row.figures.get("implied_buffer"), row.figures.get("corrected_buffer")
    waits = [
        one.facts.tracked.latency
        for one in records
        if one.facts.tracked.latency and one.trial.purpose.startswith("burst")
    ]
    if implied is None or corrected is None or not waits or not implied.value:
        return row, ""
    low, _ = corrected.bounds or (corrected.value, corrected.value)
    share = max(0.0, low / implied.value)
    empties_ns = math.inf if share >= 1 else implied.value * share / (1 - share)
    waited_ns = max(one.max_ns - one.min_ns for one in waits)
    frame_ns = NS_PER_S / max(one.trial.frames_per_second for one in records)
    if waited_ns + _FEW_FRAMES * frame_ns / max(1e-9, 1 - share) >= _WAIT_SHARE * empties_ns:
        return row, ""
    kept = {name: one for name, one in row.figures.items() if not name.endswith("_buffer")}
    return row.model_copy(update={"figures": kept}), phrase(
        "no buffer: one that holds this burst empties in {empties:.3g} ms, and no frame waited for more than"
        " {waited:.3g} ms, so that something else let it pass",
        empties=empties_ns / 1e6,
        waited=waited_ns / 1e6,
    )
