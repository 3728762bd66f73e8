"""Latencies of all trials of a run as a log of HdrHistogram, for programs that read its histograms. It does no I/O."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from keisoku.ground.exchange.hdr_histogram import LOG, encode, gathered
from keisoku.subjects.device.record.trial import NS_PER_S
from keisoku.subjects.device.record.trial_record import TrialRecord

_HEADS = '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"'
_NS_PER_MS = 1e6


def hdr_log(records: Sequence[TrialRecord]) -> str:
    """A line for each stream of each trial that measured latencies, in ns; times are seconds of UTC.

    The core's buckets are those of three digits, so that no count moves. A latency below zero, of clocks that
    disagree, has no place in a histogram: how many there were is said in a comment.
    """
    lines = [LOG, "#[values are nanoseconds, times are seconds since 1970 (UTC)]", _HEADS]
    for record in records:
        for stream in record.facts.streams:
            latency = stream.tracked.latency
            if latency is None or not latency.count:
                continue
            buckets = latency.histogram
            tag = f"{record.method}.{record.trial.frame_bytes}B.trial{record.index}.stream{stream.stream}"
            if buckets.negative:
                lines.append(f"#[{tag}: {buckets.negative} latencies below zero are left out]")
            if not buckets.counts:
                continue
            start = datetime.fromisoformat(record.started_at).timestamp()
            text = encode(gathered(dict(zip(buckets.lower_ns, buckets.counts, strict=True))))
            length, most = record.trial.duration_ns / NS_PER_S, latency.max_ns / _NS_PER_MS
            lines.append(f"Tag={tag},{start:.3f},{length:.3f},{most:.6f},{text}")
    return "\n".join(lines) + "\n"
