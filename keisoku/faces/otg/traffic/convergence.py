"""OTG's times of interruptions, from the frames that were lost: exact where OTG expects estimates from rates.

A flow is interrupted from one lost frame to the last one behind it. Its rate is zero in between, whatever threshold a
script gives, so the threshold is crossed at both ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from keisoku.subjects.device.record.gaps import Gap
from keisoku.subjects.device.record.trial import NS_PER_S, Constant, Trial

EventKind = Literal["link_down", "link_up", "route_withdraw", "route_advertise"]


@dataclass(frozen=True)
class ControlEvent:
    """A script set the link of a port, or a range of routes; times are since the first frame of the traffic was due."""

    kind: EventKind
    source: str
    """The name of the port or the range."""
    begun_ns: int
    ended_ns: int


@dataclass(frozen=True)
class Interruption:
    """Consecutive lost frames of a stream: each end is known to half the time between two of its frames."""

    begin_ns: float
    end_ns: float
    length_ns: float
    """What was lost in this time; less than it where the record has joined interruptions."""
    is_over: bool
    """Whether frames arrived behind it."""


def interruptions(trial: Trial, number: int, gaps: Iterable[Gap]) -> list[Interruption]:
    """Those of the gaps of stream `number` of a traffic, in their order."""
    flow = trial.flows[number]
    gap_ns = NS_PER_S / (trial.frames_per_second * flow.share)
    # Frames of a burst are closer to each other: there the lost ones tell the time.
    regular = isinstance(flow.pacing or Constant(), Constant)
    found = []
    for gap in gaps:
        lost_ns = gap.count * gap_ns
        whole = gap.count == gap.last - gap.first + 1
        if gap.after_ns is not None and gap.before_ns is not None and regular:
            begin_ns, end_ns = gap.after_ns + gap_ns / 2, gap.before_ns - gap_ns / 2
            length_ns = end_ns - begin_ns if whole else lost_ns
        else:
            begin_ns = flow.start_ns + gap.first * gap_ns if gap.after_ns is None else gap.after_ns + gap_ns / 2
            end_ns, length_ns = begin_ns + lost_ns, lost_ns
        found.append(Interruption(begin_ns, max(begin_ns, end_ns), max(0.0, length_ns), gap.before_ns is not None))
    return found


def loss_duration_ms(parts: Sequence[Sequence[Interruption]]) -> float:
    """How long a flow was interrupted in all; of several streams that it has, the one that was so for longest."""
    return max((sum(one.length_ns for one in own) for own in parts), default=0.0) / 1e6


def convergence_metric(
    name: str, parts: Sequence[Sequence[Interruption]], causes: Sequence[ControlEvent], with_flows: bool
) -> dict[str, Any]:
    """OTG's convergence metric of a flow, by its longest interruption and the last cause before its end. An
    interruption that did not end has no times of convergence."""
    metric: dict[str, Any] = {"name": name}
    longest = max((one for own in parts for one in own), key=lambda one: one.length_ns, default=None)
    events = [
        {
            "type": cause.kind,
            "source": cause.source,
            "begin_timestamp_ns": float(cause.begun_ns),
            "end_timestamp_ns": float(cause.ended_ns),
        }
        for cause in causes
    ]
    if longest is not None:
        if longest.is_over:
            metric["data_plane_convergence_us"] = longest.length_ns / 1e3
            before = [cause for cause in causes if cause.begun_ns <= longest.end_ns]
            if before:
                metric["control_plane_data_plane_convergence_us"] = (longest.end_ns - before[-1].begun_ns) / 1e3
        if with_flows:
            crossed = [("flow_rx_rate_below_threshold", longest.begin_ns)]
            crossed += [("flow_rx_rate_above_threshold", longest.end_ns)] if longest.is_over else []
            events += [
                {"type": kind, "source": name, "begin_timestamp_ns": at_ns, "end_timestamp_ns": at_ns}
                for kind, at_ns in crossed
            ]
    return metric | {"events": sorted(events, key=lambda event: float(str(event["begin_timestamp_ns"])))}
