"""What all procedures of a run together say of the throughput.

Each valid trial without loss is a lower bound of it and each with loss an upper one, whichever procedure asked for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.table import PROCEDURES

_FIGURES = ("throughput", "bit_rate", "line_share")
_LEAST_SHARE = 0.5
"""A trial shorter than this share of the deciding one may have hidden an overload in a buffer."""


@dataclass(frozen=True)
class _Seen:
    """The highest load without loss and the lowest with loss of one size, each with its trial; None: there is none."""

    lossless: TrialRecord | None
    lossy: TrialRecord | None


def agreed(results: Sequence[Result], records: Sequence[TrialRecord]) -> list[Result]:
    """The results, in which a throughput says no less than any trial of the run has shown.

    A bound is raised to the highest load without loss; a row without a figure gets a bound. Where a trial contradicts
    what was measured, the interval is widened to it and the contradiction is stated.
    """
    return [_of_throughput(result, records) if result.measurement == "throughput" else result for result in results]


def _of_throughput(result: Result, records: Sequence[TrialRecord]) -> Result:
    rows, remarks = [], list(result.remarks)
    for row in result.rows:
        changed, said = _row(row, _seen(row, records))
        rows.append(changed)
        if said:
            remarks.append(phrase("{frame_bytes} byte: {said}", frame_bytes=row.frame_bytes, said=said))
    return result.model_copy(update={"rows": rows, "remarks": remarks})


def _seen(row: Row, records: Sequence[TrialRecord]) -> _Seen:
    own = [record for record in records if record.index == row.trial]
    least_ns = _LEAST_SHARE * own[0].trial.duration_ns if own else 0
    alike = [
        record
        for record in records
        if record.valid
        and PROCEDURES[record.method].bounds_throughput
        and record.trial.frame_bytes == row.frame_bytes
        and not record.trial.flows
        and record.trial.batch_frames is None  # whose frames may have gone over a cable
    ]
    clean = [record for record in alike if record.loss_ratio == 0 and record.trial.duration_ns >= least_ns]
    # Flat out there is no load that could be named an upper bound.
    failed = [record for record in alike if record.loss_ratio > 0 and not record.trial.flat_out]
    return _Seen(
        max(clean, key=lambda record: record.load_fps, default=None),
        min(failed, key=lambda record: record.trial.frames_per_second, default=None),
    )


def _row(row: Row, seen: _Seen) -> tuple[Row, str]:
    """The row as it should be, and what is to be said of it."""
    figure = row.figures.get("throughput")
    lossless_fps = seen.lossless.load_fps if seen.lossless else 0.0
    if figure is None:
        if seen.lossless is None:
            if seen.lossy is None:
                return row, ""
            figures = _bound(row, seen.lossy.trial.frames_per_second, "at most")
            return row.model_copy(update={"figures": figures, "trial": seen.lossy.index}), ""
        figures = _bound(row, lossless_fps, "at least")
        said = phrase(
            "no search came to an end ({remark}), but {method} lost nothing at this load",
            remark=row.remark,
            method=seen.lossless.method,
        )
        return row.model_copy(update={"figures": figures, "trial": seen.lossless.index}), said
    if figure.bound == "at least":
        if seen.lossless is not None and lossless_fps > figure.value:
            factor = lossless_fps / figure.value
            raised = {name: one.scaled(factor, one.unit) for name, one in row.figures.items() if name in _FIGURES}
            row = row.model_copy(update={"figures": row.figures | raised, "trial": seen.lossless.index})
            figure = row.figures["throughput"]
        most_fps = max(figure.value, lossless_fps)
        return _contradicted(row, figure, Interval(lower=figure.value, upper=most_fps), seen)
    if figure.interval is None:
        return row, ""
    return _contradicted(row, figure, figure.interval, seen)


def _bound(row: Row, fps: float, bound: Literal["at least", "at most"]) -> dict[str, Quantity]:
    return {
        "throughput": Quantity(value=fps, unit="frames/s", bound=bound),
        "bit_rate": Quantity(value=fps * row.frame_bytes * 8, unit="bit/s", bound=bound),
    }


def _contradicted(row: Row, figure: Quantity, interval: Interval, seen: _Seen) -> tuple[Row, str]:
    lower, upper, said = interval.lower, interval.upper, []
    if seen.lossless is not None and seen.lossless.load_fps > upper:
        upper = seen.lossless.load_fps
        said.append(
            phrase(
                "contradiction: a trial of {method} lost nothing at {upper:,.0f} frames/s",
                method=seen.lossless.method,
                upper=upper,
            )
        )
    if seen.lossy is not None and seen.lossy.trial.frames_per_second < lower:
        lower = seen.lossy.trial.frames_per_second
        said.append(
            phrase(
                "contradiction: a trial of {method} lost frames at {lower:,.0f} frames/s",
                method=seen.lossy.method,
                lower=lower,
            )
        )
    if not said:
        return row, ""
    return between(row, lower, upper), join_texts("; ", said)


def between(row: Row, lower_fps: float, upper_fps: float) -> Row:
    """A row whose throughput, in all its units, lies between these rates; it is no bound then."""
    figures, value = dict(row.figures), row.figures["throughput"].value
    for name in _FIGURES:
        if name in figures and value:
            scale = figures[name].value / value
            own = Interval(lower=lower_fps * scale, upper=upper_fps * scale)
            figures[name] = figures[name].model_copy(update={"uncertainty": None, "interval": own, "bound": ""})
    return row.model_copy(update={"figures": figures})
