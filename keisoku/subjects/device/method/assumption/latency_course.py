"""Whether the latencies of a trial are of one kind: what a mean hides of its first frames, a change, or one phase."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keisoku.language import phrase
from keisoku.subjects.device.analysis.percentile import percentile
from keisoku.subjects.device.analysis.samples import samples_of
from keisoku.subjects.device.method.assumption.loss_place import alike
from keisoku.subjects.device.record.counts import Latency
from keisoku.subjects.device.record.trial import NS_PER_S
from keisoku.subjects.device.record.trial_record import TrialRecord

_LEAST_INTERVALS = 6
_TRIALS = 2
"""The longest latency of a trial of twenty intervals is in the first one by chance in one of 400 pairs of trials."""
_APART = 4.0
"""What stands out exceeds the spread of all others so many times."""
_MATTERS = 0.02
"""A smaller share of the mean is no change."""
_CHANGED = 3
"""Trials that change alike, and intervals on each side of a change."""
_SAME_STEP = 0.25
_NARROW = 20.0
"""Latencies of one phase lie in so many times less than those of all phases."""
_EVEN = 0.3
"""The middle half of latencies that come from any phase of a clock is half as wide as all of them."""


def course(own: Sequence[TrialRecord], run: Sequence[TrialRecord]) -> str:
    """What is said of trials at one load; `run` are those of the same size in the whole run. Empty: nothing."""
    return _first_frames(own) or _change(own) or _one_phase(own, run)


def _first_frames(own: Sequence[TrialRecord]) -> str:
    found = []
    for record in own:
        known = [one for one in record.facts.tracked.series if one.latency is not None]
        latency = record.facts.tracked.latency
        if len(known) < _LEAST_INTERVALS or latency is None or known[0].latency is None:
            return ""
        most_ns = known[0].latency.max_ns
        others_ns = max(one.latency.max_ns for one in known[1:] if one.latency is not None)
        spread_ns = others_ns - latency.min_ns
        if most_ns - latency.min_ns <= _APART * spread_ns or most_ns - others_ns <= _MATTERS * latency.mean_ns:
            return ""
        bounds = zip(latency.histogram.lower_ns, latency.histogram.counts, strict=True)
        frames = sum(count for lower_ns, count in bounds if lower_ns > others_ns)
        found.append((most_ns, others_ns, max(1, frames), known[1].start_ns))
    if len(found) < _TRIALS:
        return ""
    return phrase(
        "in each of {trials} trials up to {frames:,} frames of the first {seconds:.3g} s took up to {most:.4g} µs, and"
        " all later ones at most {others:.4g} µs: the first frames wait, which a mean hides",
        trials=len(found),
        frames=max(one[2] for one in found),
        seconds=found[0][3] / NS_PER_S,
        most=max(one[0] for one in found) / 1000,
        others=max(one[1] for one in found) / 1000,
    )


def _change(own: Sequence[TrialRecord]) -> str:
    """All trials change at the same time by the same step, for good."""
    if len(own) < _CHANGED:
        return ""
    steps = []
    for record in own:
        step = _step(record)
        if step is None:
            return ""
        steps.append(step)
    places, before, after = zip(*steps, strict=True)
    jumps = [other - one for one, other in zip(before, after, strict=True)]
    if max(places) - min(places) > 1 or max(jumps) - min(jumps) > _SAME_STEP * max(map(abs, jumps)):
        return ""
    series = own[0].facts.tracked.series
    return phrase(
        "{seconds:.3g} s after the begin of each of {trials} trials the latency changed from {before:.4g} to"
        " {after:.4g} µs for good: the figures are of both, by the length of the trials",
        seconds=series[min(places)].start_ns / NS_PER_S,
        trials=len(own),
        before=before[0] / 1000,
        after=after[0] / 1000,
    )


def _step(record: TrialRecord) -> tuple[int, float, float] | None:
    """The interval within which means change, so that all later ones lie apart from those before, and the middle of
    both; None without one."""
    means = np.array([one.mean_ns for one in samples_of(record, record.facts.tracked)])
    if len(means) <= 2 * _CHANGED:
        return None
    # Of each place with so many on both sides: extremes of all before it, and of all after it.
    before, after = slice(_CHANGED - 1, -_CHANGED - 1), slice(_CHANGED + 1, len(means) - _CHANGED + 1)
    least, most = np.minimum.accumulate(means)[before], np.maximum.accumulate(means)[before]
    later_least = np.minimum.accumulate(means[::-1])[::-1][after]
    later_most = np.maximum.accumulate(means[::-1])[::-1][after]
    apart = np.maximum(later_least - most, least - later_most)
    spread = np.maximum(most - least, later_most - later_least)
    apart[apart <= np.maximum(_APART * spread, _MATTERS * means.max())] = 0.0
    if not apart.any():
        return None
    place = _CHANGED + int(np.argmax(apart))
    return place, float(means[:place].mean()), float(means[place + 1 :].mean())


def _one_phase(own: Sequence[TrialRecord], run: Sequence[TrialRecord]) -> str:
    """At other loads frames take less time than the least here, and a wide range of times.

    A queue makes no frame faster. A device that looks for frames at its own times does, where the load meets it at
    another of its phases.
    """
    known = [one.facts.tracked.latency for one in own if one.facts.tracked.latency is not None]
    if not known or any(one.loss_ratio for one in own):
        return ""
    least_ns, width_ns = min(one.min_ns for one in known), max(map(_middle_half_ns, known))
    longest_ns = max(one.trial.duration_ns for one in own)
    load = own[0].trial.frames_per_second
    for record in alike(run):
        latency = record.facts.tracked.latency
        if latency is None or record.loss_ratio or record.trial.frames_per_second == load:
            continue
        faster_ns, half_ns = least_ns - latency.min_ns, _middle_half_ns(latency)
        # A longer trial meets more of whatever varies slowly.
        if (
            record.trial.duration_ns > longest_ns
            or faster_ns <= _MATTERS * least_ns
            or half_ns <= max(_NARROW * width_ns, _EVEN * faster_ns)
        ):
            continue
        return phrase(
            "the latencies of this load lie within {width:.3g} µs, but at {fps:,.0f} frames/s from {low:.4g} to "
            "{high:.4g} µs: frames reach the device at one phase of its clock only; 'poisson' pacing shows the "
            "others",
            width=max(one.max_ns - one.min_ns for one in known) / 1000,
            fps=record.trial.frames_per_second,
            low=latency.min_ns / 1000,
            high=latency.max_ns / 1000,
        )
    return ""


def _middle_half_ns(latency: Latency) -> float:
    ends = [percentile(latency.histogram, percent, latency.min_ns, latency.max_ns) for percent in (25.0, 75.0)]
    low, high = (0.0 if one is None else one.value_ns for one in ends)
    return high - low
