"""At which latencies the frames of a stream arrived marked, whichever way the tester saw it."""

from __future__ import annotations

from keisoku.ground.frame.codes import CE, code_points
from keisoku.subjects.device.analysis.histogram import merged
from keisoku.subjects.device.record.counts import Buckets, Marked
from keisoku.subjects.device.record.facts import StreamFacts


def marked(stream: StreamFacts) -> Marked | None:
    """From the marks that a simulated device reports, or from the headers of changed frames; None if neither was asked
    for."""
    if stream.marked is not None or stream.changes is None:
        return stream.marked
    ce: list[Buckets] = []
    remarked: list[Buckets] = []
    for kind in stream.changes.kinds:
        if kind.front is None or kind.corrupt:
            continue
        sent, came = (code_points(bytes.fromhex(front)) for front in (kind.sent, kind.front))
        if came.ecn == CE != sent.ecn:
            ce.append(kind.latency)
        if (came.dscp, came.pcp) != (sent.dscp, sent.pcp):
            remarked.append(kind.latency)
    return Marked(ce=merged(ce) if ce else Buckets(), remarked=merged(remarked) if remarked else Buckets())
