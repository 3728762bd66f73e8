"""What a procedure takes for granted and a run has shown to be otherwise, said in the rows that rest on it.

A load at the throughput loses nothing; a trial without loss shows what a device can forward for any time; whether a
frame is lost depends on the load. Judged by records of trials alone, for all procedures in this one place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from keisoku.ground.run.result import Result, Row
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method.assumption.carried_load import checked_buffer, contradicted_load, lost_below
from keisoku.subjects.device.method.assumption.latency_course import course
from keisoku.subjects.device.method.assumption.loss_place import chance_of_loss, place_of_loss, stream_of_loss
from keisoku.subjects.device.method.assumption.outflow import outflow
from keisoku.subjects.device.method.evidence import between
from keisoku.subjects.device.method.search import is_of_search
from keisoku.subjects.device.record.trial import NS_PER_S
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.table import PROCEDURES

_LATENCIES = {"min", "mean", "max", "typical", "worst_case"}
_ALL_BUT = 0.025


def with_contradictions(results: Sequence[Result], records: Sequence[TrialRecord]) -> list[Result]:
    """The results, with what their own trials contradict in the rows' remarks, the deviations, and the intervals."""
    return [_of(result, records) for result in results]


def _of(result: Result, run: Sequence[TrialRecord]) -> Result:
    rows, deviations = [], list(result.deviations)
    procedure = PROCEDURES[result.measurement]
    records = [one for one in run if one.method == result.measurement]
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
        if row.figures:
            row = _said(row, _also_seen(row, own))
        if row.figures and procedure.is_steady:
            shown = next((one for one in own if one.index == row.trial), None)
            row = _growing(row, shown) if shown is not None else row
        if not procedure.is_of_tester:
            beside = [one for one in result.rows if one.frame_bytes == row.frame_bytes]
            row = _contradicted(row, beside, own, run, procedure)
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


def _contradicted(
    row: Row, rows: Sequence[Row], own: Sequence[TrialRecord], run: Sequence[TrialRecord], procedure: Procedure
) -> Row:
    """The row with what its trials, and those of the run, show of the device that its figures take to be otherwise.

    Of the rows of a size, `rows`, those of the throughput say what lost the frames, or else that of the highest load
    that lost some.
    """
    shown = next((one for one in own if one.index == row.trial), None)
    same = [one for one in run if one.trial.frame_bytes == row.frame_bytes]
    lossy = [one for one in own if one.loss_ratio]
    if len(rows) == 1:
        speaks = True
    elif any("throughput" in one.figures for one in rows):
        speaks = "throughput" in row.figures
    else:
        speaks = bool(lossy) and shown is max(lossy, key=lambda one: one.trial.frames_per_second)
    if speaks:
        is_rfc2544 = procedure.name == "throughput" and "throughput" in row.figures
        cause = place_of_loss(own, run)
        ratio = chance_of_loss(own) if is_rfc2544 and not cause else None
        if ratio is not None:
            row = _by_chance(row, own, ratio)
        elif lossy or is_rfc2544:
            row = _said(row, cause or contradicted_load(same))
        row = _said(row, stream_of_loss(own))
    # That of RFC 2544 is compared with all trials of the run in `evidence.py`; PDR allows for loss.
    if procedure.figure == "throughput" and procedure.name != "throughput" and not row.case.startswith("PDR"):
        row = _said(*lost_below(row, run))
    row = _said(*checked_buffer(row, own))
    if shown is not None and row.figures.keys() & _LATENCIES:
        load = shown.trial.frames_per_second
        trials = [one for one in own if one.trial.frames_per_second == load and not is_of_search(one)]
        row = _said(row, course(trials, same))
    return row


def _also_seen(row: Row, records: Sequence[TrialRecord]) -> str:
    """What the accounts of its trials show and no figure of the row says: frames that arrived twice, out of order, or
    at ports that listen to others."""
    accounts = [record.facts.tracked for record in records]
    frames = sum(one.forwarded_frames for one in accounts)
    twice, late = (sum(one.duplicated.count for one in accounts), sum(one.reordered.count for one in accounts))
    # Where a method sets itself which port sends to which, floods are what it looks for.
    strays = sum(
        one.misdirected_frames for record in records if not record.trial.flows for one in record.facts.receivers
    )
    seen = []
    if strays:
        seen.append(
            phrase(
                "{count:,} frames arrived at ports that they were not meant for, beside {frames:,} that arrived where"
                " they should: the device floods",
                count=strays,
                frames=frames,
            )
        )
    if twice and "duplicated" not in row.figures:
        seen.append(phrase("{count:,} of {frames:,} frames arrived twice", count=twice, frames=frames))
    if late and "reordered" not in row.figures:
        seen.append(phrase("{count:,} of {frames:,} frames arrived out of order", count=late, frames=frames))
    return join_texts("; ", seen)


def _said(row: Row, remark: str) -> Row:
    return row.model_copy(update={"remark": join_texts("; ", [part for part in (row.remark, remark) if part])})


def _lost(records: Sequence[TrialRecord]) -> float:
    """The highest loss ratio of trials that are no part of a search."""
    return max((one.loss_ratio for one in records if not is_of_search(one)), default=0.0)


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


def _by_chance(row: Row, records: Sequence[TrialRecord], ratio: float) -> Row:
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
