"""Flows of one class of traffic: their headers, and trials in which classes are sent one after the other.

It proposes no trial by itself and computes no figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from keisoku.errors import PlanError
from keisoku.language import phrase
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.rfc8239 import FullRate, flows_trial
from keisoku.subjects.device.procedure.rfc4689.settings import ClassSettings, QosSettings
from keisoku.subjects.device.record.facts import StreamFacts
from keisoku.subjects.device.record.trial import NS_PER_S, Constant, Flow, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord

_ECT0 = 2
"""RFC 3168 §5: the sender is capable of ECN."""
_SERIES = 200
"""Intervals of each part of a trial."""
_LEAST_INTERVAL_NS = 100_000


def headers(inputs: MethodInput, settings: ClassSettings, code: int, ecn: bool) -> str:
    """The stack of a class's frames. Raises PlanError for a plan with headers of its own."""
    named = inputs.plan.contents()[0].headers
    if named not in ("ipv4", "ipv6"):
        raise PlanError("headers", "classes are sent with headers of their own", "use ipv4 or ipv6")
    traffic_class = (code << 2 if settings.field == "dscp" else 0) | (_ECT0 if ecn else 0)
    tag = "" if settings.field == "dscp" else f"Dot1Q(vlan={settings.vlan}, prio={code})/"
    layer = f"IP(tos={traffic_class})" if named == "ipv4" else f"IPv6(tc={traffic_class})"
    return f"Ether()/{tag}{layer}/UDP()"


@dataclass(frozen=True)
class Part:
    """One class from one port in a part of a trial."""

    code: int
    sender: int
    share: float = 1.0
    """Of the port's full rate."""


@dataclass(frozen=True)
class Window:
    """What was sent together in a part of a trial, and what became of it."""

    parts: tuple[Part, ...]
    streams: tuple[StreamFacts, ...]
    start_ns: int
    end_ns: int
    """Of the sending."""
    interval_ns: int

    def streams_of(self, code: int) -> list[StreamFacts]:
        """The streams of a class."""
        return [stream for part, stream in zip(self.parts, self.streams, strict=True) if part.code == code]

    def served(self, code: int, from_share: float = 0.25) -> list[int]:
        """Frames of a class that arrived in each whole interval of the sending, after a share of its time."""
        first_ns = self.start_ns + from_share * (self.end_ns - self.start_ns)
        counts: dict[int, int] = {}
        for stream in self.streams_of(code):
            for interval in stream.tracked.series:
                counts[interval.start_ns] = counts.get(interval.start_ns, 0) + interval.forwarded_frames
        inside = range(
            -(-int(first_ns) // self.interval_ns) * self.interval_ns,
            self.end_ns - self.interval_ns + 1,
            self.interval_ns,
        )
        return [counts.get(start_ns, 0) for start_ns in inside]


def windows_trial(
    inputs: MethodInput,
    settings: QosSettings,
    purpose: str,
    size: int,
    full: FullRate,
    parts: Sequence[Sequence[Part]],
    output: int,
    ecn: bool,
) -> Trial:
    """A trial in which these parts are sent one after the other, with a pause between them."""
    step_s = settings.window_s + settings.pause_s
    flows = [
        Flow(
            transmit=part.sender,
            receive=output,
            share=part.share,
            start_ns=round(place * step_s * NS_PER_S),
            duration_ns=round(settings.window_s * NS_PER_S),
            pacing=Constant(),
            headers=headers(inputs, settings, part.code, ecn),
        )
        for place, together in enumerate(parts)
        for part in together
    ]
    trial = flows_trial(inputs, purpose, size, full, len(parts) * step_s, flows)
    return _watching(inputs, trial, settings.window_s)


def together_trial(
    inputs: MethodInput,
    settings: QosSettings,
    size: int,
    full: FullRate,
    parts: Sequence[Part],
    output: int,
    ecn: bool,
) -> Trial:
    """A trial in which all these are sent all the time."""
    flows = [
        Flow(
            transmit=part.sender,
            receive=output,
            share=part.share,
            pacing=Constant(),
            headers=headers(inputs, settings, part.code, ecn),
        )
        for part in parts
    ]
    trial = flows_trial(inputs, phrase("all classes, {size} byte", size=size), size, full, settings.trial_s, flows)
    return _watching(inputs, trial, settings.trial_s).model_copy(update={"variation": True})


def windows(record: TrialRecord, parts: Sequence[Sequence[Part]]) -> list[Window]:
    """The parts of a trial with their facts."""
    found, at = [], 0
    for together in parts:
        flow = record.trial.flows[at]
        length_ns = flow.duration_ns or record.trial.duration_ns - flow.start_ns
        streams = tuple(record.facts.streams[at : at + len(together)])
        width_ns = min((_width_ns(one, record.trial.interval_ns) for one in streams), default=record.trial.interval_ns)
        found.append(Window(tuple(together), streams, flow.start_ns, flow.start_ns + length_ns, width_ns))
        at += len(together)
    return found


def _width_ns(stream: StreamFacts, asked_ns: int) -> int:
    """Width of a stream's intervals, which are wider than asked for in a long trial of many streams."""
    series = stream.tracked.series
    return series[1].start_ns - series[0].start_ns if len(series) > 1 else asked_ns


def _watching(inputs: MethodInput, trial: Trial, seconds: float) -> Trial:
    interval_ns = max(_LEAST_INTERVAL_NS, round(seconds * NS_PER_S / _SERIES))
    return trial.model_copy(update={"interval_ns": interval_ns, "marks": "marks" in inputs.capabilities.abilities})
