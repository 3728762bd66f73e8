"""All trials of a run as rows of a CSV file. Full precision, units in column names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.report.accounting import account


def trial_rows(records: Iterable[TrialRecord]) -> Iterable[Sequence[object]]:
    """The header, then a row for each trial."""
    yield [
        "trial",
        "method",
        "purpose",
        "started_at_utc",
        "frame_bytes",
        "duration_ns",
        "intended_frames_per_second",
        "offered_frames_per_second",
        "intended_frames",
        "offered_frames",
        "forwarded_frames",
        "lost_frames",
        "lost_gaps",
        "corrupt_frames",
        "corrupt_arrivals",
        "duplicated_frames",
        "reordered_frames",
        "foreign_frames",
        "received_frames",
        "tester_dropped_frames",
        "latency_min_ns",
        "latency_mean_ns",
        "latency_max_ns",
        "latency_deviation_ns",
        "adds_up",
        "stopped_for_loss",
        "invalid_because",
    ]
    for record in sorted(records, key=lambda record: record.index):
        trial, sent, tracked = record.trial, record.facts.sent, record.facts.tracked
        latency = tracked.latency
        yield [
            record.index,
            record.method,
            trial.purpose,
            record.started_at,
            trial.frame_bytes,
            trial.duration_ns,
            trial.frames_per_second,
            record.offered_fps,
            record.intended_frames,
            sent.offered_frames,
            tracked.forwarded_frames,
            tracked.lost_frames,
            len(tracked.lost),
            tracked.corrupt.count,
            tracked.corrupt_arrivals,
            tracked.duplicated.count,
            tracked.reordered.count,
            tracked.foreign_frames,
            tracked.received_frames,
            record.facts.tester_dropped_frames,
            *((latency.min_ns, latency.mean_ns, latency.max_ns, latency.deviation_ns) if latency else ("", "", "", "")),
            account(record).adds_up,
            record.facts.stopped_for_loss,
            "; ".join(record.invalid_because),
        ]
