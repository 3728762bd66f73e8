"""What a device does to classes of traffic: limits of each, how they share an output, loss and latency of each.

RFC 4689 defines what is reported of each class under congestion. Four trials at most: each class alone from one port
(its policer or shaper), each class alone from all ports (its buffer), each pair of classes (strict priority, or
weights), and all classes together.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from keisoku.errors import PlanError
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.ground.statistics.uncertainty import expanded
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.analysis import repeatability
from keisoku.subjects.device.analysis.loss_ratio import share
from keisoku.subjects.device.analysis.marks import marked
from keisoku.subjects.device.analysis.samples import samples_of
from keisoku.subjects.device.analysis.shares import Sharing, sharing
from keisoku.subjects.device.entry import LATENCIES, Procedure
from keisoku.subjects.device.method import rfc8239
from keisoku.subjects.device.method.latency_figures import latency_figures, observed
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.rfc8239 import FullRate, full_rate, reliably
from keisoku.subjects.device.procedure.rfc4689.class_flows import (
    Part,
    Window,
    headers,
    together_trial,
    windows,
    windows_trial,
)
from keisoku.subjects.device.procedure.rfc4689.class_limits import Limit, limit
from keisoku.subjects.device.procedure.rfc4689.settings import QosSettings
from keisoku.subjects.device.record.counts import Jitter
from keisoku.subjects.device.record.facts import StreamFacts
from keisoku.subjects.device.record.total import all_tracked
from keisoku.subjects.device.record.trial import NS_PER_S, Constant, Flow, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import why_invalid

_LIMITED = 0.98
"""A class that reaches this share of what it gets alone is held back by its own limit and not by the others."""
_SETTLED = 0.1
"""Queues fill in this share of a trial."""
_LINK = 0.002
"""A queue that is emptied so nearly at the rate of the output is not shaped."""
CLASSES, LIMITS, SHARING = "Class", "Alone", "Order"
"""Headers of the columns of cases of the three tables."""


def qos(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """For each size and class three rows.

    'Class', all classes sent together: 'share' (% of all that was forwarded while all were sent), 'offered' and
    'forwarded' (frames/s), 'loss' (%), 'mean', 'p99', 'max', 'jitter' (mean), 'jitter_max' (ns), 'reordered' (frames),
    and 'marked' (% of the forwarded, with CE) where the tester sees marks.
    'Alone': 'rate' (bit/s) and 'burst' (byte) of its policer or shaper, and 'buffer' (byte), the most that waited.
    'Order': 'level' (1 is served first), 'weight' (relative to the smallest of its level) and 'guaranteed' (% of what
    the levels before leave).
    Raises PlanError for a link without a rate if no maximum is given.
    """
    settings = inputs.plan.settings_of(QosSettings)
    count = rfc8239.ports(inputs, 2, "qos")
    if inputs.capabilities.link_bits_per_second is None and settings.maximum_fps is None:
        problem = "the link has no rate, so a tester would send as fast as it can"
        raise PlanError("qos.maximum_fps", problem, "give more than the device forwards: --maximum 20kpps")
    rows: list[Row] = []
    rates: list[FullRate] = []
    remarks: list[str] = []
    for size in inputs.plan.frame_bytes:
        senders = list(range(count - 1))
        ecn = "marks" in inputs.capabilities.abilities
        probe = headers(inputs, settings, settings.codes[0], ecn)
        flows = [Flow(transmit=port, receive=count - 1, pacing=Constant(), headers=probe) for port in senders]
        full = yield from full_rate(inputs, size, flows, settings.maximum_fps)
        rates.append(full)
        found = yield from _Classes(inputs, size, senders, count - 1, full, ecn).measure()
        rows += found.rows
        remarks += found.remarks
    return Result(
        measurement="qos", rows=rows, deviations=_deviations(inputs, rates), remarks=list(dict.fromkeys(remarks))
    )


@dataclass
class _Found:
    rows: list[Row] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


@dataclass
class _Classes:
    """All classes at one size."""

    inputs: MethodInput
    size: int
    senders: Sequence[int]
    output: int
    full: FullRate
    ecn: bool
    spoiled: list[str] = field(default_factory=list)
    held_back: set[int] = field(default_factory=set)
    """Classes whose own policer or shaper kept them from competing with another one."""

    @property
    def settings(self) -> QosSettings:
        return self.inputs.plan.settings_of(QosSettings)

    @property
    def counted_bytes(self) -> int:
        """What the device counts of a frame."""
        return max(1, self.size + self.settings.counted_bytes)

    def measure(self) -> Generator[Trial, TrialRecord, _Found]:
        """All trials, and the rows of all classes."""
        codes = self.settings.codes
        first = self.senders[0]
        alone = yield from self._windows(phrase("each class alone"), [[Part(code, first)] for code in codes])
        limits = {code: limit(window, code, self.counted_bytes) for code, window in zip(codes, alone, strict=False)}
        buffers: dict[int, Limit] = {}
        if len(self.senders) > 1:
            parts = [[Part(code, port) for port in self.senders] for code in codes]
            filled = yield from self._windows(phrase("each class from all ports"), parts)
            for code, window in zip(codes, filled, strict=False):
                least_ns = limits[code].least_ns if code in limits and limits[code].fps else None
                buffers[code] = limit(window, code, self.counted_bytes, least_ns)
        pairs = list(combinations(codes, 2))
        shared = yield from self._windows(phrase("each pair of classes"), [self._pair(pair) for pair in pairs])
        order = self._order(codes, dict(zip(pairs, shared, strict=False)), limits)
        everything = [Part(code, port, 1 / len(codes)) for code in codes for port in self.senders]
        record = yield from reliably(
            together_trial(self.inputs, self.settings, self.size, self.full, everything, self.output, self.ecn)
        )
        found = _Found()
        found.rows += self._together(record, everything)
        found.rows += [self._limit_row(code, limits.get(code), buffers.get(code)) for code in codes]
        found.rows += [self._order_row(code, order) for code in codes]
        if record.valid and not record.facts.tracked.lost_frames and not any(one.held for one in buffers.values()):
            found.remarks.append(phrase("nothing was congested: no frame of all classes together was lost; send more"))
        if len(self.senders) == 1:
            found.remarks.append(
                phrase("one port sends: classes compete only where the device is slower than the port")
            )
        return found

    def _pair(self, pair: tuple[int, int]) -> list[Part]:
        """Both classes at full rate from different ports, or at half of it from one."""
        if len(self.senders) > 1:
            return [Part(pair[0], self.senders[0]), Part(pair[1], self.senders[1])]
        return [Part(code, self.senders[0], 0.5) for code in pair]

    def _windows(self, purpose: str, parts: list[list[Part]]) -> Generator[Trial, TrialRecord, list[Window]]:
        """The parts of a trial; none if the tester disturbed it."""
        trial = windows_trial(
            self.inputs,
            self.settings,
            phrase("{purpose}, {size} byte", purpose=purpose, size=self.size),
            self.size,
            self.full,
            parts,
            self.output,
            self.ecn,
        )
        record = yield from reliably(trial)
        if not record.valid:
            self.spoiled = record.invalid_because
            return []
        return windows(record, parts)

    def _order(
        self, codes: Sequence[int], pairs: Mapping[tuple[int, int], Window], limits: Mapping[int, Limit]
    ) -> dict[int, dict[int, Sharing]]:
        """For each class what it got beside each other one."""
        found: dict[int, dict[int, Sharing]] = {code: {} for code in codes}
        for (one, other), window in pairs.items():
            both = {code: window.served(code) for code in (one, other)}
            seconds = len(both[one]) * window.interval_ns / NS_PER_S
            limited = {
                code for code in both if seconds and self._is_limited(sum(both[code]) / seconds, limits.get(code))
            }
            held = sum(stream.tracked.lost_frames for stream in window.streams)
            for own, beside in ((one, other), (other, one)):
                told = sharing(both[own], both[beside])
                if not held or (limited and told.kind == "weighted"):
                    told = Sharing("unknown")
                    self.held_back |= limited
                found[own][beside] = told
        return found

    def _is_limited(self, fps: float, own: Limit | None) -> bool:
        """Whether a class got no more because of its own policer or shaper."""
        if own is None or own.kind in ("none", "nothing arrived") or self._is_link(own):
            return False
        return fps >= _LIMITED * own.fps

    def _is_link(self, own: Limit) -> bool:
        """Whether a queue is emptied at the rate of the output."""
        line = self.inputs.line_fps(self.size)
        return own.kind == "queue" and line is not None and own.fps >= (1 - _LINK) * line

    def _together(self, record: TrialRecord, parts: Sequence[Part]) -> list[Row]:
        streams = record.facts.streams
        window = windows(record, [parts])[0]
        served = {code: sum(window.served(code, _SETTLED)) for code in self.settings.codes}
        seconds = record.trial.duration_ns / NS_PER_S
        rows = []
        for code in self.settings.codes:
            own = [stream for part, stream in zip(parts, streams, strict=True) if part.code == code]
            figures: dict[str, Quantity] = {}
            if record.valid:
                figures = self._figures(record, own, seconds)
                figures = {"share": share(served[code], sum(served.values())), **figures}
            remark = join_texts("; ", why_invalid(record))
            rows.append(self._row(CLASSES, code, figures, remark, record.index))
        return rows

    def _figures(self, record: TrialRecord, own: Sequence[StreamFacts], seconds: float) -> dict[str, Quantity]:
        offered = sum(stream.offered_frames for stream in own)
        forwarded = sum(stream.tracked.forwarded_frames for stream in own)
        figures = {
            "offered": Quantity(value=offered / seconds, unit="frames/s"),
            "forwarded": Quantity(value=forwarded / seconds, unit="frames/s"),
            "loss": share(offered - forwarded, offered),
            "reordered": Quantity(
                value=sum(stream.tracked.reordered.count for stream in own), unit="frames", uncertainty=0
            ),
        }
        # Of all ports together: streams of one trial are no repetitions of it.
        whole = all_tracked([stream.tracked for stream in own], 0)
        if whole.latency is not None:
            samples = [samples_of(record, whole)]
            figures |= latency_figures(
                self.inputs.bias,
                [whole.latency],
                self.size,
                record.offered_fps,
                percents={"p99": 99.0},
                samples=samples,
            )
            jitters = [stream.tracked.jitter for stream in own if stream.tracked.jitter is not None]
            figures |= self._jitter(jitters)
        marks = [found for stream in own if (found := marked(stream)) is not None]
        if forwarded and len(marks) == len(own):
            ce = sum(sum(one.ce.counts) + one.ce.negative for one in marks)
            figures["marked"] = share(ce, forwarded)
        return figures

    def _jitter(self, own: Sequence[Jitter]) -> dict[str, Quantity]:
        """RFC 4689 §3.2.5. Errors of both frames' stamps add up in a difference."""
        count = sum(one.count for one in own)
        if not count:
            return {}
        mean_ns = sum(one.count * one.mean_ns for one in own) / count
        # Of two stamps that are rounded to the resolution, the difference is off by less than twice of it.
        error_ns = 2 * self.inputs.capabilities.resolution_ns if self.inputs.capabilities.exact else None
        repeats_ns = repeatability.of_jitter(own)
        unsure_ns = None
        if error_ns is not None and repeats_ns is not None:
            unsure_ns = math.hypot(error_ns, expanded(repeats_ns))
        most_ns = max(one.max_ns for one in own)
        return {
            "jitter": Quantity(value=mean_ns, unit="ns", uncertainty=unsure_ns),
            "jitter_max": observed(Quantity(value=most_ns, unit="ns", uncertainty=error_ns)),
        }

    def _limit_row(self, code: int, own: Limit | None, filled: Limit | None) -> Row:
        figures: dict[str, Quantity] = {}
        if own is None:
            return self._row(LIMITS, code, figures, join_texts("; ", self.spoiled))
        if own.kind == "nothing arrived":
            return self._row(LIMITS, code, figures, phrase("no frame of this class arrived"))
        remark = ""
        if own.kind == "none":
            remark = phrase("neither policer nor shaper: all that one port sent was forwarded")
            figures["rate"] = Quantity(value=8 * own.fps * self.counted_bytes, unit="bit/s", bound="at least")
        elif self._is_link(own):
            remark = phrase("neither policer nor shaper: forwarded at the rate of the link")
        else:
            kind = phrase("policer: it loses frames and delays none")
            queue = phrase("shaper, or a slower link behind it: frames wait")
            remark = kind if own.kind == "policer" else queue
            if own.bucket is not None:
                figures["rate"], figures["burst"] = own.bucket.rate, own.bucket.burst
        held = (filled.held if filled is not None else None) or own.held
        if held is not None:
            figures["buffer"] = held.scaled(self.size, "byte")
        return self._row(LIMITS, code, figures, remark)

    def _order_row(self, code: int, order: Mapping[int, Mapping[int, Sharing]]) -> Row:
        if not order[code]:
            return self._row(SHARING, code, {}, join_texts("; ", self.spoiled))
        unknown = [other for other, told in order[code].items() if told.kind == "unknown"]
        untold = []
        if unknown:
            listed = ", ".join(map(str, unknown))
            untold = [
                phrase("not known against {listed}: one of the two did not always have frames waiting", listed=listed)
            ]
        # Those that compete have an order among themselves, whoever is held back beside them.
        competing = set(order) - self.held_back if unknown and code not in self.held_back else set(order)
        order = {
            one: {other: told for other, told in beside.items() if other in competing}
            for one, beside in order.items()
            if one in competing
        }
        own = order[code]
        if not own or any(told.kind == "unknown" for told in own.values()):
            return self._row(SHARING, code, {}, join_texts("; ", untold))
        levels = {one: sum(told.kind == "behind" for told in order[one].values()) for one in order}
        ahead = [one for one, told in own.items() if told.kind == "behind"]
        figures = {"level": Quantity(value=1 + len({levels[one] for one in ahead}), unit="", uncertainty=0)}
        beside = {one: told.ratio for one, told in own.items() if told.kind == "weighted" and told.ratio is not None}
        if not beside:
            return self._row(
                SHARING, code, figures, join_texts("; ", [phrase("strict priority: alone at its level"), *untold])
            )
        smallest = max(beside, key=lambda one: beside[one].value)
        largest = beside[smallest]
        if largest.value >= 1:
            figures["weight"] = largest
        else:
            figures["weight"] = Quantity(value=1.0, unit="", uncertainty=0)
        guaranteed = 100 / (1 + sum(1 / ratio.value for ratio in beside.values()))
        figures["guaranteed"] = Quantity(value=guaranteed, unit="%")
        return self._row(SHARING, code, figures, join_texts("; ", [phrase("shared by weight"), *untold]))

    def _row(self, group: str, code: int, figures: dict[str, Quantity], remark: str, trial: int | None = None) -> Row:
        case = f"{self.settings.field.upper()} {code}"
        return Row(frame_bytes=self.size, group=group, case=case, figures=figures, remark=remark, trial=trial)


def _deviations(inputs: MethodInput, rates: Sequence[FullRate]) -> list[str]:
    found = [phrase("RFC 4689 §3.2: forwarding delay and jitter are those of every frame of the class from each port")]
    if any(rate.source == "given" for rate in rates):
        found.append(phrase("RFC 2544 §26: the load of each port is a rate that was given, not the line rate"))
    if not inputs.plan.phases.learning:
        found.append(phrase("RFC 2544 §23 b: no learning frames were sent, the DUT may have flooded"))
    if inputs.capabilities.simulated:
        found.append(phrase("the DUT is simulated: results describe the model"))
    return found


PROCEDURE = Procedure(
    name="qos",
    title=phrase("Classes of traffic"),
    standard="RFC 4689",
    summary="Share, loss, latency and marks of up to eight classes under congestion; their policers, shapers, buffers,"
    " priorities and weights.",
    settings=QosSettings,
    packages=("scipy",),
    generator=qos,
    figure="share",
    units={
        "%": "share loss marked guaranteed",
        "frames/s": "offered forwarded",
        "frames": "reordered",
        "ns": f"{LATENCIES} jitter jitter_max jitter_p99",
        "bit/s": "rate",
        "byte": "buffer burst",
        "": "level weight",
    },
    example="keisoku qos --dut 'lab:ets?rate=20Mbps' --classes 0,8,16,24 --size 512 --maximum 10kpps --duration 2s",
    sizes="512",
    own_flows=True,
    watches_headers=True,
    rows_when_simulated=True,
)
