"""Which frames were lost: the first ranges of sequence numbers of every trial that lost, with times.

It shortens the list for the page, never the totals.
"""

from __future__ import annotations

from dataclasses import dataclass

from keisoku.ground.report import digits
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.device.record.gaps import Gap
from keisoku.subjects.device.record.run import DeviceRun
from keisoku.subjects.device.record.trial_record import TrialRecord

RANGES_SHOWN = 6
TRIALS_SHOWN = 30
KEPT_AS = {
    "bitmap": phrase("neighbouring gaps joined; the record has every number"),
    "intervals": phrase("neighbouring gaps joined; counts are exact"),
}


@dataclass(frozen=True)
class Loss:
    """One trial's losses: total, number of gaps, and the first of them as (numbers, frames, when sent)."""

    record: TrialRecord
    lost: str
    gaps: str
    first: list[tuple[str, str, str]]


def losses(run: DeviceRun) -> tuple[list[Loss], int]:
    """The trials that lost, those that a result rests on first, and how many more there are."""
    cited = {row.trial for result in run.results for row in result.rows}
    lossy = [record for record in run.records if record.facts.tracked.lost_frames]
    lossy.sort(key=lambda record: (record.index not in cited, record.index))
    return [_loss(record) for record in lossy[:TRIALS_SHOWN]], max(0, len(lossy) - TRIALS_SHOWN)


def _loss(record: TrialRecord) -> Loss:
    tracked = record.facts.tracked
    several = len(record.facts.streams) > 1
    # Of each stream only what can be shown: a trial with an overload has a hundred thousand gaps.
    first = [(stream.stream, gap) for stream in record.facts.streams for gap in stream.tracked.lost[:RANGES_SHOWN]]
    number = len(tracked.lost)
    gaps = plural("{count} gap", "{count} gaps", count=digits.count(number))
    if tracked.lost_kept_as != "list":
        gaps = phrase("{gaps} ({kept_as})", gaps=gaps, kept_as=KEPT_AS[tracked.lost_kept_as])
    return Loss(
        record=record,
        lost=digits.count(tracked.lost_frames),
        gaps=gaps,
        first=[_range(gap, stream if several else None) for stream, gap in first[:RANGES_SHOWN]],
    )


def _range(gap: Gap, stream: int | None) -> tuple[str, str, str]:
    numbers = digits.count(gap.first)
    if gap.last > gap.first:
        numbers += f" … {digits.count(gap.last)}"
    if stream is not None:
        numbers = phrase("stream {stream}: {numbers}", stream=stream, numbers=numbers)
    when = [] if gap.after_ns is None else [phrase("after {time}", time=_time(gap.after_ns))]
    when += [] if gap.before_ns is None else [phrase("before {time}", time=_time(gap.before_ns))]
    return numbers, digits.count(gap.count), join_texts(", ", when) or phrase("the whole trial")


def _time(time_ns: int) -> str:
    # Transmit times are facts in whole ns; as exact quantities they keep their digits.
    shown = digits.digits(Quantity(value=time_ns, unit="ns", uncertainty=0))
    return f"{shown.value} {shown.unit}"
