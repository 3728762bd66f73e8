"""Rows of a procedure that measures each frame size at one load: the one that was given, or the throughput."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence

from keisoku.ground.run.result import Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.search import NO_LOAD_PASSES, throughput_of
from keisoku.subjects.device.plan.rate import Relative
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord


def rows_by_size(
    inputs: MethodInput,
    given: float | Relative | None,
    row_at: Callable[[int, float], Generator[Trial, TrialRecord, Row]],
) -> Generator[Trial, TrialRecord, list[Row]]:
    """A row for each frame size, which `row_at` measures from the size in byte and the load in frames/s.

    The load is `given`, or the throughput; where none passes without loss, the row says so.
    """
    rows = []
    for size in inputs.plan.frame_bytes:
        fps = inputs.fps(given, size) or (yield from throughput_of(inputs, size))
        rows.append((yield from row_at(size, fps)) if fps else Row(frame_bytes=size, figures={}, remark=NO_LOAD_PASSES))
    return rows


def row_of_trials(
    records: Sequence[TrialRecord], figures: Mapping[str, Quantity], remarks: Sequence[str], repetitions: int
) -> Row:
    """The row of one or more valid trials of a size; the tester disturbed what is missing of `repetitions`."""
    said = list(remarks)
    if missing := repetitions - len(records):
        said.append(phrase("the tester disturbed {some} of {count} trials", some=missing, count=repetitions))
    return Row(
        frame_bytes=records[0].trial.frame_bytes,
        figures=dict(figures),
        trial=records[0].index,
        remark=join_texts("; ", said),
    )
