"""RFC 8239 §2: forwarding, latency and jitter at line rate without congestion, by port pairs and as a full mesh.

"For all tests, the traffic generator's sending rate MUST be less than or equal to 99.98% of the nominal value of the
line rate" (§2.2). Then the tester's clock alone, which may differ by ±100 ppm, overloads no device.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Generator

from keisoku.ground.frame.rates import frame_time_ns
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.difference import of_difference
from keisoku.ground.statistics.quantity import Quantity
from keisoku.ground.statistics.uncertainty import expanded
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.analysis import repeatability
from keisoku.subjects.device.analysis.percentile import latency_percentile
from keisoku.subjects.device.analysis.samples import samples_of
from keisoku.subjects.device.entry import LATENCIES, Procedure
from keisoku.subjects.device.method import rfc8239
from keisoku.subjects.device.method.latency_figures import latency_figures, observed
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.rfc8239 import SIZES_TEXT, FullRate, flows_trial, full_rate, reliably
from keisoku.subjects.device.plan.pattern import pairs
from keisoku.subjects.device.procedure.rfc8239.settings import LINE_RATE_PERCENT, LineRateSettings
from keisoku.subjects.device.record.counts import Latency
from keisoku.subjects.device.record.trial import NS_PER_S, Constant, Flow, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import why_invalid

_HIGH_PERCENT = 99.0


def line_rate(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """One row a size, pattern and load; all figures of a row are of one trial.

    'line_share' (% of 100 %) and 'lost' (frames) of all ports; 'min', 'mean', 'max' (ns) FIFO; where the link has a
    rate, means by all four definitions and 'filo_min', 'filo_max': RFC 8238 §2.3 demands FILO, allows FIFO and forbids
    LIFO, which is given only for comparison with results of RFC 2544.
    Jitter (ns) is PDV, each frame's latency less its flow's least (RFC 8238 §3, RFC 5481 §4.2), never |IPDV|: 'jitter'
    is the mean, 'jitter_p99' and 'jitter_max' are those of the worst flow. The least PDV, which §2.2 asks for, is 0 by
    its definition. The row's trial holds the histogram.
    """
    settings = inputs.plan.settings_of(LineRateSettings)
    count = rfc8239.ports(inputs, 2, "line_rate")
    even = count - count % 2
    patterns = {phrase("port pairs"): pairs("pairs", even)} | (
        {phrase("full mesh"): pairs("mesh", count)} if count > 2 else {}
    )
    rows: list[Row] = []
    rates: list[FullRate] = []
    for size in inputs.plan.frame_bytes:
        for name, ways in patterns.items():
            flows = _flows(ways, 1.0)
            full = yield from full_rate(inputs, size, flows, settings.maximum_fps)
            rates.append(full)
            for percent in settings.loads_percent:
                flows = _flows(ways, percent / 100)
                purpose = phrase("{name} {percent:g} %, {size} byte", name=name, percent=percent, size=size)
                record = yield from reliably(flows_trial(inputs, purpose, size, full, settings.trial_s, flows))
                rows.append(_row(inputs, name, percent, full, record))
    found = [
        phrase("RFC 8239 §2.2: no snake test: ports of the DUT that are not connected to the tester are not tested")
    ]
    if count == 2:
        found.append(phrase("RFC 8239 §2.2: two ports have no full mesh beyond the port pair"))
    if even < count:
        found.append(phrase("RFC 8239 §2.2: port {count} has no partner in the test of port pairs", count=count))
    if LINE_RATE_PERCENT not in settings.loads_percent:
        found.append(
            phrase("RFC 8239 §2.3: no load of {line_rate_percent} % was tested", line_rate_percent=LINE_RATE_PERCENT)
        )
    return Result(
        measurement="line_rate", rows=rows, deviations=found + rfc8239.deviations(inputs, rates, all_sizes=True)
    )


def _flows(ways: list[tuple[int, int]], load: float) -> list[Flow]:
    """Each port's load goes to its receivers in equal parts."""
    sent = {port: sum(way[0] == port for way in ways) for port, _ in ways}
    return [Flow(transmit=one, receive=other, share=load / sent[one], pacing=Constant()) for one, other in ways]


def _row(inputs: MethodInput, name: str, percent: float, full: FullRate, record: TrialRecord) -> Row:
    size, tracked, sent = record.trial.frame_bytes, record.facts.tracked, record.facts.sent
    figures = {"load": Quantity(value=percent, unit="%", uncertainty=0.0)}
    if not record.valid or tracked.latency is None:
        remark = join_texts("; ", why_invalid(record)) or phrase("nothing was forwarded")
        return Row(frame_bytes=size, case=name, figures=figures, trial=record.index, remark=remark)
    whole = full.fps * len(record.senders) * record.trial.duration_ns / NS_PER_S
    figures["line_share"] = Quantity(value=100 * tracked.forwarded_frames / whole, unit="%")
    figures["lost"] = Quantity(
        value=float(sent.offered_frames - tracked.forwarded_frames), unit="frames", uncertainty=0.0
    )

    speed = inputs.capabilities.link_bits_per_second
    samples = [samples_of(record, tracked)]
    outputs = _outputs(record)
    found = latency_figures(
        inputs.bias,
        [tracked.latency],
        size,
        record.offered_fps,
        speed,
        {"p99": _HIGH_PERCENT},
        samples,
        outputs_ns=[min(one.min_ns for one in own) for own in outputs],
    )
    high = found.pop("p99", found["max"])
    figures |= found
    if speed is not None:
        for key in ("min", "max"):
            frame_ns = frame_time_ns(speed, size)
            figures[f"filo_{key}"] = figures[key].model_copy(update={"value": figures[key].value + frame_ns})
    figures |= _jitter(outputs, {**figures, "p99": high}, repeatability.never_came_back(samples))
    return Row(frame_bytes=size, case=name, figures=figures, trial=record.index)


def _outputs(record: TrialRecord) -> list[list[Latency]]:
    """The flows to each port, which share its queue."""
    found: dict[int, list[Latency]] = {}
    for one in record.facts.streams:
        if one.tracked.latency is not None:
            found.setdefault(one.receive, []).append(one.tracked.latency)
    return list(found.values())


def _jitter(outputs: list[list[Latency]], known: dict[str, Quantity], rises: bool) -> dict[str, Quantity]:
    """PDV of each flow by itself, because flows may have different constant latencies. The bias cancels.

    Where latency only `rises`, as at the full rate of a line, all of it counts from the first frames of each flow:
    then the outputs show how it repeats, and two of them show hardly anything.
    """
    flows = [one for own in outputs for one in own]
    frames = sum(latency.count for latency in flows)
    high = [(latency_percentile(latency, _HIGH_PERCENT), latency.min_ns) for latency in flows]
    found = {
        "jitter": ("mean", sum(latency.count * (latency.mean_ns - latency.min_ns) for latency in flows) / frames),
        "jitter_max": ("max", max(latency.max_ns - latency.min_ns for latency in flows)),
    }
    if all(value is not None for value, _ in high):
        found["jitter_p99"] = "p99", max(value.value_ns - least for value, least in high if value is not None)
    # The largest is an observation, of which only what the stamps leave uncertain is known.
    figures = {
        name: _above_least(value_ns, known[of], known["max" if of == "max" else "min"])
        for name, (of, value_ns) in found.items()
    }
    means = [statistics.fmean(one.mean_ns - one.min_ns for one in own) for own in outputs]
    each_ns = repeatability.of_draws(means)
    for name, parts in (("jitter", len(outputs)), ("jitter_p99", 1)):
        figure = figures.get(name)
        if figure is None or figure.uncertainty is None or figure.covers == "resolution":
            continue
        if each_ns is not None:
            unsure_ns = expanded(each_ns) / math.sqrt(parts)
            least = min(figure.uncertainty, unsure_ns) if parts > 1 else unsure_ns
            figures[name] = figure.model_copy(update={"uncertainty": least, "covers": ""})
        elif rises:
            figures[name] = observed(figure)
    return figures


def _above_least(value_ns: float, high: Quantity, low: Quantity) -> Quantity:
    if high.uncertainty is None or low.uncertainty is None:
        return Quantity(value=value_ns, unit="ns")
    uncertainty = math.hypot(high.uncertainty, low.uncertainty)
    return Quantity(value=value_ns, unit="ns", uncertainty=uncertainty, covers=of_difference(high, low))


PROCEDURE = Procedure(
    name="line_rate",
    title=phrase("Line rate"),
    standard="RFC 8239 §2",
    summary="Forwarding, latency and jitter with every port at 99.98 % of its rate, as port pairs and as a full mesh.",
    settings=LineRateSettings,
    generator=line_rate,
    figure="line_share",
    units={
        "%": "load line_share",
        "frames": "lost",
        "ns": f"{LATENCIES} filo_min filo_max jitter jitter_max jitter_p99",
    },
    example="keisoku line-rate --dut sim:lsw4-gt-8ep --ports 1,2,3,4 --size 64,1518 --duration 1s",
    simulated_sizes=SIZES_TEXT,
    own_flows=True,
    is_steady=True,
)
