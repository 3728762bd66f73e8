"""What a procedure takes for granted and a run has shown to be otherwise, said in the rows that rest on it.

A load at the throughput loses nothing; a trial without loss shows what a device can forward for any time; whether a
frame is lost depends on the load. Judged by records of trials alone, for all procedures in this one place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.line import POINTS_MIN, fit_line
from keisoku.ground.statistics.uncertainty import student
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.analysis.drift import TOLERANCE_PPM
from keisoku.subjects.device.analysis.samples import samples_of
from keisoku.subjects.device.method.evidence import between
from keisoku.subjects.device.record.trial import NS_PER_S, TrialRecord
from keisoku.subjects.device.table import PROCEDURES

_OF_SEARCHES = ("search", "final", "confirm", "maximum")
"""How the purposes of trials begin that look for a load."""
_LEAST_SAMPLES = 6
_LEAST_FAILED = 8
"""So many trials with loss are needed to see whether it depends on the load."""
_APART = 4.0
"""The highest load with loss is so many times the lowest, or nothing is said of how loss depends on the load."""
_MIXED = 1.0001
"""The highest load without loss is so many times the lowest with loss: a limit has its losses above it."""
_CHANCE = 1.36
"""Kolmogorov's distance, times the root of the number of trials, that loss by chance stays below in 95 %."""
_ALL_BUT = 0.025


def with_contradictions(results: Sequence[Result], records: Sequence[TrialRecord]) -> list[Result]:
    """The results, with what their own trials contradict in the rows' remarks, the deviations, and the intervals."""
    return [_of(result, [one for one in records if one.method == result.measurement]) for result in results]


def _of(result: Result, records: Sequence[TrialRecord]) -> Result:
    rows, deviations = [], list(result.deviations)
    procedure = PROCEDURES[result.measurement]
    lossy: list[int] = []
    for row in result.rows:
        own = [one for one in records if one.valid and one.trial.frame_bytes == row.frame_bytes]
        if row.figures and procedure.lossless and (share := _lost(own)):
            row = _said(
                row,
                phrase(
                    "up to {percent:.3g} % of a trial's frames were lost: the figures are of the others",
                    percent=100 * share,
                ),
            )
            lossy.append(row.frame_bytes)
        if row.figures and (also := _also_seen(row, own)):
            row = _said(row, also)
        if row.figures and procedure.is_steady:
            shown = next((one for one in own if one.index == row.trial), None)
            row = _growing(row, shown) if shown is not None else row
        if result.measurement == "throughput" and "throughput" in row.figures:
            row = _by_chance(row, own)
        rows.append(row)
    if lossy:
        sizes = ", ".join(map(str, dict.fromkeys(lossy)))
        deviations.append(
            phrase(
                "{clause}: measured at a load at which frames of {frame_bytes} byte are lost",
                clause=procedure.lossless,
                frame_bytes=sizes,
            )
        )
    return result.model_copy(update={"rows": rows, "deviations": list(dict.fromkeys(deviations))})


def _also_seen(row: Row, records: Sequence[TrialRecord]) -> str:
    """What the accounts of its trials show and no figure of the row says: frames that arrived twice or out of order."""
    accounts = [record.facts.tracked for record in records]
    frames = sum(one.forwarded_frames for one in accounts)
    twice, late = (sum(one.duplicated.count for one in accounts), sum(one.reordered.count for one in accounts))
    seen = []
    if twice and "duplicated" not in row.figures:
        seen.append(phrase("{count:,} of {frames:,} frames arrived twice", count=twice, frames=frames))
    if late and "reordered" not in row.figures:
        seen.append(phrase("{count:,} of {frames:,} frames arrived out of order", count=late, frames=frames))
    return join_texts("; ", seen)


def _said(row: Row, remark: str) -> Row:
    return row.model_copy(update={"remark": join_texts("; ", [part for part in (row.remark, remark) if part])})


def _lost(records: Sequence[TrialRecord]) -> float:
    """The highest loss ratio of trials that are no part of a search."""
    return max((one.loss_ratio for one in records if not one.trial.purpose.startswith(_OF_SEARCHES)), default=0.0)


@dataclass(frozen=True)
class Outflow:
    """A queue that grew until the end of a trial: the rate at which frames left, and its standard error (k = 1)."""

    fps: float
    error_fps: float
    grown_ns: float


def outflow(record: TrialRecord) -> Outflow | None:
    """None if no queue grew in the later half of the trial by more than two clocks within their tolerance explain."""
    samples = samples_of(record, record.facts.tracked)
    if len(samples) < _LEAST_SAMPLES or len(record.facts.streams) != 1:
        return None
    later = samples[-max(POINTS_MIN + 1, len(samples) // 2) :]
    fit = fit_line([one.at_s for one in later], [one.mean_ns for one in later])
    slope, error = fit.slope / NS_PER_S, fit.slope_error / NS_PER_S * student(len(later) - 2) / 2
    if slope - 3 * error <= TOLERANCE_PPM * 1e-6 or samples[-1].mean_ns <= samples[0].mean_ns:
        return None
    # Over the time of arrivals latency grows by one less the ratio of departures to arrivals.
    grown_ns = samples[-1].max_ns - samples[0].min_ns
    return Outflow(record.offered_fps * (1 - slope), record.offered_fps * error, grown_ns)


def _growing(row: Row, record: TrialRecord) -> Row:
    found = outflow(record)
    if found is None:
        return row
    seconds = record.trial.duration_ns / NS_PER_S
    row = _said(
        row,
        phrase(
            "latency grew by {grown:.3g} ms until the end of the trial of {seconds:g} s: frames left at"
            " {fps:,.0f} frames/s only and a buffer took the others, so a longer trial would lose"
            " frames",
            grown=found.grown_ns / 1e6,
            seconds=seconds,
            fps=found.fps,
        ),
    )
    figure = row.figures.get("throughput")
    if figure is None:
        return row
    low, high = figure.bounds or (figure.value, figure.value)
    high = high if math.isfinite(high) else figure.value
    return between(row, max(0.0, min(low, found.fps - 2 * found.error_fps)), high)


def _by_chance(row: Row, records: Sequence[TrialRecord]) -> Row:
    ratio = chance_of_loss(records)
    if ratio is None:
        return row
    seconds = max(one.trial.duration_ns for one in records) / NS_PER_S
    row = _said(
        row,
        phrase(
            "about {percent:.2g} % of the frames were lost whatever the load was: no load is without"
            " loss, and the highest that lost nothing in a trial is a matter of chance and of the"
            " length of trials",
            percent=100 * ratio,
        ),
    )
    figure = row.figures["throughput"]
    # A load passes a trial with the probability exp(-ratio · frames).
    return between(row, 0.0, max(figure.value, -math.log(_ALL_BUT) / (ratio * seconds)))


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
