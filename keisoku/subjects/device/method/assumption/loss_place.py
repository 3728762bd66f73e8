"""Where in their trials frames were lost, if that is the same at all loads: then no overload lost them.

The more a device is overloaded, the sooner its buffer is full. A loss that comes at random, at the begin or the end of
each trial, after a number of frames, after a time, or in one stream alone has another cause, and can be named.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise, takewhile

from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.device.record.trial import NS_PER_S
from keisoku.subjects.device.record.trial_record import TrialRecord

_LEAST_FAILED = 8
"""So many trials with loss are needed to see whether it depends on the load."""
_APART = 4.0
"""The highest load with loss is so many times the lowest, or nothing is said of how loss depends on the load."""
_MIXED = 1.0001
"""The highest load without loss is so many times the lowest with loss: a limit has its losses above it."""
_CHANCE = 1.36
"""Kolmogorov's distance, times the root of the number of trials, that loss by chance stays below in 95 %."""
_LOADS = 3
"""So many loads with loss, the highest `_SPREAD` times the lowest, show that its place does not depend on the load."""
_SPREAD = 1.5
_COUNTED = 16
"""A place in fewer frames may be that of a small buffer, which is full after as many frames at any load."""
_PERIOD = 64
"""A number that divides all distances of at least four lost frames by chance is smaller in all but one of 8000."""
_ALIKE = 0.01
"""Times of a first loss that differ by this share, or by two frames, are the same."""
_ONE_STREAM = 24
"""Lost frames of which none was of the other streams: by chance, with two streams, one time in 17 million."""


def constant(records: Sequence[TrialRecord]) -> list[TrialRecord]:
    """The valid trials of one constant load through the device, between the plan's ports, in which frames arrived."""
    return [
        one
        for one in records
        if one.valid
        and not one.trial.flows
        and one.trial.opening is None
        and one.trial.batch_frames is None  # whose frames may have gone over a cable
        and one.facts.tracked.forwarded_frames
    ]


def alike(records: Sequence[TrialRecord]) -> list[TrialRecord]:
    """Those of them with one stream."""
    return [one for one in constant(records) if len(one.facts.streams) == 1]


def lossy_alike(records: Sequence[TrialRecord]) -> list[TrialRecord]:
    """Those of them in which some frames were lost."""
    return [one for one in alike(records) if len(one.facts.tracked.lost)]


def place_of_loss(own: Sequence[TrialRecord], run: Sequence[TrialRecord]) -> str:
    """What is said of `own`, the trials of a size; `run` are all trials of the run, in order. Empty: nothing.

    At the highest loads an output may be too slow as well: what holds at the lower ones is said.
    """
    failed = sorted(lossy_alike(own), key=lambda one: one.trial.frames_per_second)
    return _at_the_end(failed) or _at_the_begin(failed) or _counted(failed, run) or _timed(failed)


def _at_lower(failed: Sequence[TrialRecord], holds: Callable[[TrialRecord], bool]) -> list[TrialRecord]:
    """The trials up to the load at which this holds no more; none unless they have loads enough that are far apart."""
    found = list(takewhile(holds, failed))
    loads = {one.trial.frames_per_second for one in found}
    return found if len(loads) >= _LOADS and max(loads) >= _SPREAD * min(loads) else []


def _at_the_end(failed: Sequence[TrialRecord]) -> str:
    """The device keeps its last frames until others come."""
    held = failed[0].facts.tracked.lost_frames if failed else 0

    def are_last(record: TrialRecord) -> bool:
        behind = record.facts.sent.offered_frames - held
        return record.facts.tracked.lost_frames == held and _first(record) == behind

    if not (found := _at_lower(failed, are_last)):
        return ""
    return plural(
        "only the last {count} frame of a trial did not arrive, at loads from {loads}: the device keeps it until"
        " another one comes",
        "only the last {count} frames of a trial did not arrive, at loads from {loads}: the device keeps them until"
        " others come",
        count=held,
        loads=_span(found),
    )


def _at_the_begin(failed: Sequence[TrialRecord]) -> str:
    """No buffer is full when the first frame comes."""
    found = _at_lower(failed, lambda one: _first(one) == 0)
    if len(found) < len(failed) or not found or len(found[0].facts.tracked.lost) > 1:
        return ""
    return plural(
        "each trial that failed lost its first frame, and {count} alone at the lowest load, from {loads}: the device"
        " is not ready when frames come",
        "each trial that failed lost its first frame, and the first {count} alone at the lowest load, from {loads}: the"
        " device is not ready when frames come",
        count=found[0].facts.tracked.lost_frames,
        loads=_span(found),
    )


def _counted(failed: Sequence[TrialRecord], run: Sequence[TrialRecord]) -> str:
    """Each trial loses the frame of the same number, or one in so many frames is lost over all trials."""
    number = _first(failed[0]) if failed else 0
    if number >= _COUNTED and (found := _at_lower(failed, lambda one: _first(one) == number)):
        return phrase(
            "the first frame that was lost is number {number:,} of a trial, at loads from {loads}: the device counts"
            " frames, and no overload lost it",
            number=number + 1,
            loads=_span(found),
        )
    before, places, lost = 0, [], 0
    chosen = {one.index for one in _at_lower(failed, lambda one: True)}
    for record in run:
        if record.index in chosen:
            places.append(before + _first(record))
        lost += record.facts.tracked.lost_frames
        before += record.facts.sent.offered_frames
    period = math.gcd(*(other - one for one, other in pairwise(places)))
    if len(places) <= _LOADS or period < _PERIOD or abs(before / period - lost) > 1:
        return ""
    return phrase(
        "one in {period:,} frames was lost, counted over all trials of the run, whatever the load was: no load is"
        " without loss, and what passed was shorter",
        period=period,
    )


def _timed(failed: Sequence[TrialRecord]) -> str:
    """All first losses may be of one moment, and some are far from the begin."""
    since_ns, until_ns = 0.0, math.inf

    def may_be_alike(record: TrialRecord) -> bool:
        nonlocal since_ns, until_ns
        since_ns = max(since_ns, _after_ns(record))
        until_ns = min(until_ns, (1 + _ALIKE) * (_after_ns(record) + 2 * NS_PER_S / record.trial.frames_per_second))
        return since_ns <= until_ns

    found = list(takewhile(may_be_alike, failed))
    fine = [one for one in found if _after_ns(one) * one.trial.frames_per_second > _COUNTED * NS_PER_S]
    if not _at_lower(fine, lambda one: True):
        return ""
    return phrase(
        "the first loss came {seconds:.3g} s after the begin of a trial, at loads from {loads}: something happens in"
        " the device then, and shorter trials do not meet it",
        seconds=max(map(_after_ns, fine)) / NS_PER_S,
        loads=_span(fine),
    )


def _span(records: Sequence[TrialRecord]) -> str:
    return phrase(
        "{low:,.0f} to {high:,.0f} frames/s",
        low=records[0].trial.frames_per_second,
        high=records[-1].trial.frames_per_second,
    )


def _after_ns(record: TrialRecord) -> int:
    """When the last frame before the first loss was sent; 0 if there was none."""
    return record.facts.tracked.lost[0].after_ns or 0


def _first(record: TrialRecord) -> int:
    return int(record.facts.tracked.lost.firsts.min())


def stream_of_loss(records: Sequence[TrialRecord]) -> str:
    """Whether all lost frames of the trials were of some streams only, while others lost nothing; empty if not."""
    several = [one for one in records if one.valid and len(one.facts.streams) > 1 and not one.trial.flows]
    lossy = [one for one in several if one.facts.tracked.lost_frames]
    count = len(several[0].facts.streams) if several else 0
    if not lossy or any(len(one.facts.streams) != count for one in several):
        return ""
    lost = [sum(one.facts.streams[place].tracked.lost_frames for one in lossy) for place in range(count)]
    hit = [place for place, frames in enumerate(lost) if frames]
    if sum(lost) < _ONE_STREAM or 2 * len(hit) > count or _queued(lossy, hit):
        return ""
    named = [
        phrase(
            "{place} ({one} to {other})",
            place=place + 1,
            one=lossy[0].facts.name_of(lossy[0].facts.streams[place].transmit),
            other=lossy[0].facts.name_of(lossy[0].facts.streams[place].receive),
        )
        for place in hit[:_LOADS]
    ]
    return phrase(
        "all {lost:,} lost frames were of {some} of {count} streams: {streams}; the others lost none at the same load",
        lost=sum(lost),
        some=len(hit),
        count=count,
        streams=join_texts(", ", named + (["…"] if len(hit) > _LOADS else [])),
    )


def _queued(lossy: Sequence[TrialRecord], hit: Sequence[int]) -> bool:
    """Whether streams that lost nothing waited in a queue with others: which of two it refuses may be a matter of their
    order."""
    for record in lossy:
        receives = {record.facts.streams[place].receive for place in hit}
        beside = [one for place, one in enumerate(record.facts.streams) if place not in hit and one.receive in receives]
        frame_ns = NS_PER_S / record.trial.frames_per_second
        waits = [one.tracked.latency for one in beside if one.tracked.latency is not None]
        if any(one.max_ns - one.min_ns > 4 * frame_ns for one in waits):
            return True
    return False


def chance_of_loss(records: Sequence[TrialRecord]) -> float | None:
    """The share of frames that is lost by chance at any load, if the trials look like this; else None.

    Then the number of frames before the first lost one has the same exponential distribution at all loads, cut off at
    the trial's length. A device that is overloaded loses its first frame the sooner, the higher the load is.
    """
    alike = [one for one in records if not one.trial.flows and len(one.facts.streams) == 1 and _frames(one)]
    failed = [one for one in alike if one.loss_ratio > 0]
    loads = [one.trial.frames_per_second for one in failed]
    passed = max((one.trial.frames_per_second for one in alike if one.loss_ratio == 0), default=0.0)
    if len(failed) < _LEAST_FAILED or max(loads) < _APART * min(loads) or passed < _MIXED * min(loads):
        return None
    ratio = len(failed) / sum(_frames(one) for one in alike)
    places = sorted(
        math.expm1(-ratio * _frames(one)) / math.expm1(-ratio * max(_frames(one), one.intended_frames))
        for one in failed
    )
    count = len(places)
    distance = max(max((rank + 1) / count - place, place - rank / count) for rank, place in enumerate(places))
    return ratio if distance * math.sqrt(count) < _CHANCE else None


def _frames(record: TrialRecord) -> int:
    """Frames up to and including the first that was lost; all, if none was; 0, if it is not known."""
    lost = record.facts.tracked.lost
    if record.loss_ratio == 0:
        return record.facts.sent.offered_frames
    return int(lost.firsts.min()) + 1 if lost else 0
