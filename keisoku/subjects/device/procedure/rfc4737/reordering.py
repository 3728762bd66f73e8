"""Reordering at several loads by RFC 4737 and RFC 5236: share, extent, lateness, and the buffer a receiver needs.

A device that spreads frames over parallel paths may keep their order at low load only, hence several loads.
"""

from __future__ import annotations

import math
from collections.abc import Generator

import numpy as np
from pydantic import Field

from keisoku.ground.run.result import Result, Row
from keisoku.ground.run.settings import Settings
from keisoku.ground.statistics import budget
from keisoku.ground.statistics.quantity import Quantity
from keisoku.ground.statistics.uncertainty import COVERAGE_FACTOR, student
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.analysis.loss_ratio import loss_of, share
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method.latency_figures import observed
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.search import CEILING_WITHOUT_LINK_FPS, RETRIES, beyond_tester, reached_fps
from keisoku.subjects.device.plan.rate import Load
from keisoku.subjects.device.record.counts import Extents, Reordering, Tracked
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import why_invalid


class ReorderingSettings(Settings):
    """RFC 4737 and RFC 5236 at several loads: a device may reorder frames only above a certain load."""

    trial_s: float = Field(60.0, gt=0)
    loads_percent: tuple[float, ...] = Field((10.0, 50.0, 90.0, 100.0), min_length=1)
    """Loads as shares of the maximum."""
    maximum_fps: Load | None = None
    """Rate of 100 % (default: the theoretical maximum of the link)."""


_TCP_DEGREE = 3
"""RFC 4737 §5.4: a TCP sender treats a 3-reordered segment as lost (RFC 5681's duplicate ACK threshold)."""


def reordering(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """One row a size and load: 'reordered' (%), and where that is not 0 the metrics of RFC 4737 and RFC 5236.

    The distributions (extents, late times, gaps, RD and RBD) are in each trial's record.
    """
    settings = inputs.plan.settings_of(ReorderingSettings)
    rows: list[Row] = []
    remarks: list[str] = []
    for size in inputs.plan.frame_bytes:
        maximum = inputs.fps(settings.maximum_fps, size) or inputs.line_fps(size) or CEILING_WITHOUT_LINK_FPS
        limited = False
        # From the highest load down, so that the first trial finds the highest load of the tester.
        for percent in sorted(settings.loads_percent, reverse=True):
            record = yield from _trial(inputs, size, maximum, percent)
            while beyond_tester(record):
                maximum = reached_fps(record) * 100 / percent
                limited = True
                record = yield from _trial(inputs, size, maximum, percent)
            rows.append(_row(inputs, record, percent))
        if limited:
            remarks.append(
                phrase(
                    "{size} byte: 100 % is {maximum:,.0f} frames/s, the most that the tester could offer",
                    size=size,
                    maximum=maximum,
                )
            )
    discarded = max((row.figures["beyond"].value for row in rows if "beyond" in row.figures), default=0)
    if discarded:
        remarks.append(
            phrase(
                "up to {discarded:,.0f} frames of a trial were displaced beyond the threshold and are not in RD",
                discarded=discarded,
            )
        )
    return Result(measurement="reordering", rows=rows, deviations=_deviations(inputs), remarks=remarks)


def _trial(
    inputs: MethodInput, size: int, maximum: float, percent: float
) -> Generator[Trial, TrialRecord, TrialRecord]:
    for _ in range(RETRIES):
        record = yield inputs.trial(
            phrase("reordering at {percent:g} %, {size} byte", percent=percent, size=size),
            size,
            maximum * percent / 100,
            inputs.plan.settings_of(ReorderingSettings).trial_s,
        )
        if record.valid or beyond_tester(record):
            break
    return record


def _row(inputs: MethodInput, record: TrialRecord, percent: float) -> Row:
    size, tracked = record.trial.frame_bytes, record.facts.tracked
    figures = {
        "load": Quantity(value=percent, unit="%", uncertainty=0.0),
        "offered": Quantity(value=record.offered_fps, unit="frames/s"),
    }
    if record.valid and tracked.forwarded_frames:
        figures["loss"] = loss_of(record)
        # RFC 4737 §4.1: of the packets received, duplicates left out.
        figures["reordered"] = share(tracked.reordered.count, tracked.forwarded_frames, _together(tracked))
        if tracked.reordering is not None:
            found = tracked.reordering
            figures |= _figures(found, tracked.reordered.count, tracked.forwarded_frames, _together(tracked))
            if not inputs.plan.mix:
                # §4.4 sums bytes; here those of whole frames, which all have the same size.
                figures["byte_offset"] = _most(found.byte_offset.max_frames * size, "byte")
            if found.late_time.count:
                figures["late_time"] = observed(_time(inputs, found.late_time.max_ns, record))
                late_mean = _time(inputs, found.late_time.mean_ns, record, _of_mean(tracked))
                if found.late_time.count == 1:
                    late_mean = late_mean.model_copy(update={"covers": "resolution"})
                figures["late_mean"] = late_mean
    return Row(
        frame_bytes=size,
        case=f"{percent:g} %",
        figures=figures,
        trial=record.index,
        remark=join_texts("; ", why_invalid(record))
        or ("" if tracked.forwarded_frames else phrase("nothing was forwarded")),
    )


def _figures(found: Reordering, reordered: int, received: int, together: float) -> dict[str, Quantity]:
    figures = {
        "extent": _most(found.extent.max_frames, "frames"),
        "extent_mean": _mean(found.extent),
        # RFC 4737 §4.6.3: a / x and (q / a) / (a / x).
        "free_run": _free_run(found, reordered),
        "run_variation": Quantity(value=found.run_squares * reordered / found.in_order_frames**2, unit=""),
        # §5.3, definition 2: m / l.
        "n_reordered": share(_at(found.n_reordered, _TCP_DEGREE), received, together),
        "degree": _most(len(found.n_reordered), ""),
    }
    if found.gap.sum_frames:
        figures["gap"] = _mean(found.gap)
    placed = dict(found.displacement)
    held = dict(found.occupancy)
    if placed:
        # RFC 5236 §3.6 and §3.11: RD[0] and the ends of both densities.
        figures["in_place"] = share(placed.get(0, 0), sum(placed.values()), together)
        figures["earliest"] = _most(-min(placed), "frames")
        figures["latest"] = _most(max(placed), "frames")
        figures["occupancy"] = _most(max(held), "frames")
    if found.discarded_frames:
        figures["beyond"] = Quantity(value=found.discarded_frames, unit="frames", uncertainty=0.0)
    return figures


def _most(value: int, unit: str) -> Quantity:
    """The most that was seen, which is counted."""
    return observed(Quantity(value=value, unit=unit, uncertainty=0.0))


def _time(inputs: MethodInput, value_ns: float, record: TrialRecord, own_ns: float = 0.0) -> Quantity:
    """A time between two frames at one receiver: the bias cancels. `own_ns` is its own standard error (k = 1)."""
    correction = inputs.bias.correction(record.trial.frame_bytes, record.trial.frames_per_second)
    uncertainty = None if correction is None else 2 * math.hypot(2**0.5 * correction.frame_ns, own_ns)
    return Quantity(value=value_ns, unit="ns", uncertainty=uncertainty)


def _of_mean(tracked: Tracked) -> float:
    """Standard error (k = 1) of the mean time by which frames are late, in ns; frames that are late together say no
    more than one."""
    assert tracked.reordering is not None
    late = tracked.reordering.late_time
    middles = (np.asarray(late.histogram.lower_ns, float) + np.asarray(late.histogram.upper_ns, float)) / 2
    counts = np.asarray(late.histogram.counts, float)
    square = float((counts * (middles - late.mean_ns) ** 2).sum()) / max(1, late.count)
    independent = max(1.0, late.count / _together(tracked))
    freedom = max(1.0, independent - 1)
    return math.sqrt(square / freedom) * student(freedom) / COVERAGE_FACTOR


def _together(tracked: Tracked) -> float:
    """How many frames are reordered at a time (RFC 4737 §4.5: a discontinuity begins each time)."""
    found = tracked.reordering
    return max(1.0, tracked.reordered.count / found.discontinuities) if found and found.discontinuities else 1.0


def _mean(extents: Extents) -> Quantity:
    """Their mean; its scatter is that of the powers of two between which they lie."""
    count = sum(extents.by_power_of_two)
    if not count:
        return Quantity(value=0.0, unit="frames")
    mean = extents.sum_frames / count
    squares = sum(each * (1.5 * 2**power - mean) ** 2 for power, each in enumerate(extents.by_power_of_two))
    return budget.figure(
        mean, "frames", [budget.normal(phrase("scatter of the distances"), math.sqrt(squares) / count)]
    )


def _free_run(found: Reordering, reordered: int) -> Quantity:
    """RFC 4737 §4.6.3: a / x, from runs whose lengths scatter."""
    mean = found.in_order_frames / reordered
    square = max(0.0, found.run_squares / reordered - mean**2)
    return budget.figure(mean, "frames", [budget.normal(phrase("scatter of the runs"), math.sqrt(square / reordered))])


def _at(n_reordered: list[int], degree: int) -> int:
    return n_reordered[degree - 1] if len(n_reordered) >= degree else 0


def _deviations(inputs: MethodInput) -> list[str]:
    used, standard = inputs.plan.settings_of(ReorderingSettings), ReorderingSettings()
    found = [phrase("RFC 4737 §4.4: byte offsets are of whole frames with FCS, not of payloads")]
    if used.trial_s < standard.trial_s:
        found.append(
            phrase(
                "RFC 2544 §24: each trial lasts {trial:g} s instead of at least {wanted:g} s",
                trial=used.trial_s,
                wanted=standard.trial_s,
            )
        )
    if inputs.capabilities.simulated:
        found.append(phrase("the DUT is simulated: results describe the model"))
    return found


PROCEDURE = Procedure(
    name="reordering",
    title=phrase("Reordering"),
    standard="RFC 4737, RFC 5236",
    summary="Share of reordered frames, and how far and how late they are, at several loads.",
    settings=ReorderingSettings,
    generator=reordering,
    figure="reordered",
    units={
        "%": "load loss reordered n_reordered in_place",
        "frames/s": "offered",
        "frames": "extent extent_mean free_run gap earliest latest occupancy beyond",
        "ns": "late_time late_mean",
        "byte": "byte_offset",
        "": "run_variation degree",
    },
    example="keisoku reordering --dut lab:bridge --size 64 --maximum 200kpps --duration 2s --waits 0.1s",
    over_two_hosts="counts",
)
