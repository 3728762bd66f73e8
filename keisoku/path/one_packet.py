"""The answer of a one-packet measurement: bandwidth and latency of each hop, from its raw probes alone. Pure.

It sends nothing and formats no figure; `keisoku/path/hop_campaign.py` probes, `report` shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keisoku.analysis import budget
from keisoku.path import hop_slope
from keisoku.path.hop_minimum import HopSamples, hop_samples
from keisoku.path.hop_probe import HopProbe
from keisoku.path.hop_segment import BITS, DRAWS, HopFit, Segment, Span, fit_hops, rate, segments
from keisoku.path.hop_train import Dispersion, dispersions
from keisoku.path.hop_verdict import Verdict, unexplained_kink, verdicts
from keisoku.path.icmp_limit import IcmpLimit
from keisoku.path.quoting import Quoting, classify
from keisoku.record.observation import Flag, Interval, Observation, ObservedRow
from keisoku.record.result import Contribution, Quantity

KIND = "path-one-packet"
STEERED = 500e-6
"""CLOCK_REALTIME may be slewed by so much (adjtimex(2)); every interval of kernel stamps may be off by it."""
WIDE = 0.3
"""Relative half-width from which an interval is not symmetrical any more, a rate being the inverse of a slope."""
REVERSE_SHARE = 1 / 3
HOP, ROUTER = "Hop", "Router"


@dataclass(frozen=True)
class PathFit:
    """All that was computed of a path, for the answer and for plots."""

    hops: list[HopSamples]
    fits: list[HopFit]
    segments: list[Segment]
    verdicts: list[Verdict]
    trains: dict[int, Dispersion]
    quoting: dict[int, Quoting]


def fit_path(probes: Sequence[HopProbe], draws: int = DRAWS) -> PathFit:
    """Fits, differences between hops, and what trains say of them."""
    hops = hop_samples(probes)
    fits = fit_hops(hops, draws)
    found = segments(fits)
    trains = dispersions(probes)
    quoting = {
        samples.hop: classify(samples.sizes.astype(int).tolist(), samples.replies.astype(int).tolist())
        for samples in hops
    }
    return PathFit(hops, fits, found, verdicts(found, trains), trains, quoting)


def analyse(
    host: str, path: PathFit, probes: Sequence[HopProbe], stamp_noise_ns: float | None, reached: bool
) -> Observation:
    """What the probes and what was fitted to them say about the path to `host`.

    `stamp_noise_ns` is the standard deviation of one round trip's stamps, where it was measured; `reached` says whether
    the host itself answered.
    """
    rows = [
        _segment_row(path, segment, verdict, stamp_noise_ns)
        for segment, verdict in zip(path.segments, path.verdicts, strict=True)
    ]
    routers = [_router_row(samples, path.quoting[samples.hop], _limit(probes, samples.hop)) for samples in path.hops]
    return Observation(
        kind=KIND,
        title=f"one-packet bandwidth of the hops to {host}",
        rows=(*rows, *routers),
        flags=tuple(_flags(path, reached)),
        remarks=tuple(_remarks(path, probes, stamp_noise_ns)),
    )


def widths(path: PathFit) -> dict[int, float]:
    """By last hop of each segment: the relative half-width of its forward slope; infinite if unknown.

    A third of that of its reverse slope counts if it is larger: replies vary over a third of the bytes that probes do.

    A segment that shows no serialisation at all has none to be measured: its width is zero.
    """
    found = {}
    for segment in path.segments:
        spans = [(segment.forward, 1.0), (segment.reverse, REVERSE_SHARE), (segment.both, 1.0)]
        found[segment.last_hop] = max(
            (share * _width(span) for span, share in spans if span is not None), default=np.inf
        )
    return found


def _width(span: Span) -> float:
    if not np.isfinite(span.half_width):
        return float("inf")
    if span.value < 0.4 and span.half_width < 0.4:  # see SLOWEST_COPY: nothing serialises here
        return 0.0
    return span.half_width / abs(span.value) if span.value else float("inf")


def _segment_row(path: PathFit, segment: Segment, verdict: Verdict, noise: float | None) -> ObservedRow:
    figures: dict[str, Quantity] = {}
    intervals: dict[str, Interval] = {}
    said = []
    for name, span, gain, words in (
        ("forward", segment.forward, segment.forward_gain, "forward"),
        ("reverse", segment.reverse, segment.reverse_gain, "reverse"),
        ("if_symmetric", segment.both, segment.forward_gain, "both ways together"),
    ):
        if span is None:
            if name == "reverse" and segment.both is None:
                said.append("reverse not identifiable: replies are of one length")
            continue
        speed = rate(span)
        if speed is None:
            said.append(_unresolved(words, span))
            continue
        ways = 2.0 if name == "if_symmetric" else 1.0
        figures[name], interval = _rate_figure(span, ways, gain, noise)
        if interval is not None:
            intervals[name] = interval
    if segment.both is not None:
        said.append(
            "forward and reverse cannot be told apart: replies grow with every probe; the figure holds if they are equal"
        )
    figures["latency"] = _quantity(segment.fixed, "ns", noise)
    if (train := path.trains.get(segment.last_hop)) is not None:
        spread = (train.upper - train.lower) / 2
        figures["train"] = Quantity(value=train.rate, unit="bit/s", uncertainty=spread if train.trains > 1 else None)
    if segment.joined:
        said.append(f"hops {segment.first_hop} to {segment.last_hop} together, as those between never answered")
    if verdict.kind == "not-checked" and verdict.why:
        said.append(f"hidden stages not checked: {verdict.why}")
    number = f"{segment.first_hop}–{segment.last_hop}" if segment.joined else f"{segment.last_hop}"
    return ObservedRow(
        name=f"{number} {segment.far}", figures=figures, intervals=intervals, group=HOP, remark="; ".join(said)
    )


def _unresolved(words: str, span: Span) -> str:
    if not np.isfinite(span.upper):
        return f"{words}: too few repeats for an interval"
    if span.upper <= 0:
        return f"{words}: longer packets took no longer, so nothing is known of its bandwidth"
    return f"{words}: no serialisation seen, above {BITS / span.upper / 1e6:.0f} Mb/s or a token bucket"


def _rate_figure(span: Span, ways: float, gain: float, noise: float | None) -> tuple[Quantity, Interval | None]:
    """A rate with its budget; the interval too where it is not symmetrical. `ways` counts how often a byte is sent."""
    value = ways * BITS / span.value
    sensitivity = value / span.value
    parts: list[Contribution] = [
        budget.normal("repeats and sizes (bootstrap)", span.half_width / 2, sensitivity=sensitivity),
        budget.rectangular("rate of the system clock", STEERED * value),
    ]
    if noise is not None:
        parts.append(budget.normal("noise of the stamps", noise * gain, kind="A", sensitivity=sensitivity))
    quantity = budget.figure(value, "bit/s", parts)
    if span.half_width < WIDE * span.value:
        return quantity, None
    return quantity, Interval(lower=ways * BITS / span.upper, upper=ways * BITS / span.lower)


def _quantity(span: Span, unit: str, noise: float | None) -> Quantity:
    if not np.isfinite(span.half_width):
        return Quantity(value=span.value, unit=unit)
    return Quantity(value=span.value, unit=unit, uncertainty=float(np.hypot(span.half_width, 2 * (noise or 0.0))))


def _router_row(samples: HopSamples, quoting: Quoting, limit: IcmpLimit) -> ObservedRow:
    figures = {
        "probes": Quantity(value=samples.sent, unit="packets", uncertainty=0.0),
        "answered": Quantity(value=samples.answered, unit="packets", uncertainty=0.0),
        "repeats": Quantity(value=samples.repeats, unit="per size", uncertainty=0.0),
    }
    said = [f"quotes {quoting.text}" if quoting.style != "unknown" else f"quoting {quoting.text}"]
    if quoting.kink_bytes is not None:
        said.append(f"replies grow with probes up to {quoting.kink_bytes} byte, which the fit accounts for")
    if limit.limited:
        figures["reply_interval"] = Quantity(value=limit.interval_ns, unit="ns")
        said.append(f"limits its replies after a burst of {limit.burst}")
    return ObservedRow(name=f"{samples.hop} {samples.replier}", figures=figures, group=ROUTER, remark="; ".join(said))


def _limit(probes: Sequence[HopProbe], hop: int) -> IcmpLimit:
    """The limit as it was learnt while probing, replayed."""
    limit = IcmpLimit()
    for probe in probes:
        if probe.hop == hop and probe.train is None:
            limit.observe(probe.sent_ns, probe.answered)
    return limit


def _flags(path: PathFit, reached: bool) -> list[Flag]:
    flags = []
    for segment, verdict in zip(path.segments, path.verdicts, strict=True):
        where = f"hop {segment.last_hop} ({segment.far})"
        stage = {} if verdict.stage_rate is None else {"stage_rate": Quantity(value=verdict.stage_rate, unit="bit/s")}
        if verdict.kind == "hidden-stages":
            text = (
                f"{where}: a train is spread less than one link of that rate would spread it, so at least {verdict.stages}"
                " store-and-forward stages (switches) lie in this hop; its one-packet rate is that of all of them in a row"
            )
            flags.append(Flag(name="hidden-stages", text=text, figures=stage))
        elif verdict.kind == "token-bucket":
            text = (
                f"{where}: single packets pass without serialisation but a train does not: a token bucket (shaper), whose"
                " sustained rate is at most that of the train; the one-packet method cannot measure it"
            )
            flags.append(Flag(name="token-bucket", text=text, figures=stage))
        elif verdict.kind == "not-serialising":
            text = f"{where}: not serialising: the time does not depend on the size; a fast link, or a shaper with a large burst"
            flags.append(Flag(name="not-serialising", text=text))
    for hop in path.fits:
        if (kink := unexplained_kink(hop.samples, hop.fit)) is not None:
            text = (
                f"hop {hop.samples.hop} ({hop.samples.replier}): the slope changes at {kink[0]} byte by {kink[1]:+.2f} ns per"
                " byte, which the lengths of its replies do not explain; its figures are means over all sizes"
            )
            flags.append(Flag(name="kink", text=text))
        if (odd := _theil_sen_differs(hop)) is not None:
            flags.append(Flag(name="fits-disagree", text=odd))
    if any(samples.mixed for samples in path.hops):
        mixed = [f"{samples.mixed} at hop {samples.hop}" for samples in path.hops if samples.mixed]
        text = f"replies from another address or over another way back were left out: {', '.join(mixed)}"
        flags.append(Flag(name="mixed-paths", text=text))
    if any(samples.user_stamps for samples in path.hops):
        text = "some packets were stamped by the program instead of the kernel: microseconds of noise instead of nanoseconds"
        flags.append(Flag(name="user-stamps", text=text))
    if not reached:
        flags.append(
            Flag(name="host-silent", text="the host itself was silent or refused the probes: what lies behind the last hop listed is unknown")
        )
    return flags


def _theil_sen_differs(hop: HopFit) -> str | None:
    """A sentence if the median of all pairs' slopes lies outside the bootstrap's interval and a tenth of the slope."""
    forward, _ = hop_slope.theil_sen(hop.samples.sizes, hop.samples.replies, hop.samples.minima, hop.fit.kind)
    drawn = hop.draws[:, 0][np.isfinite(hop.draws[:, 0])]
    if drawn.size < 20 or not np.isfinite(forward):
        return None
    allowed = max(4 * float(drawn.std()), 0.1 * abs(hop.fit.forward), 0.4)
    if abs(forward - hop.fit.forward) <= allowed:
        return None
    return (
        f"hop {hop.samples.hop} ({hop.samples.replier}): the trimmed fit gives {hop.fit.forward:.2f} ns per byte, the median of"
        f" all pairs {forward:.2f}: too few undelayed probes"
    )


def _remarks(path: PathFit, probes: Sequence[HopProbe], noise: float | None) -> list[str]:
    remarks = ["latency is out and back for a packet of no length, with what routers take to write their replies"]
    sent = [probe.sent_ns for probe in probes]
    if sent:
        volume = sum(probe.size_bytes for probe in probes)
        seconds = (max(sent) - min(sent)) / 1e9
        remarks.append(f"{len(sent)} probes of {volume} byte in {seconds:.1f} s")
    answered = {samples.hop for samples in path.hops}
    asked = {probe.hop for probe in probes if probe.hop <= max(answered, default=0)}
    if silent := sorted(asked - answered):
        hops = ", ".join(str(hop) for hop in silent)
        remarks.append(f"never answered: hop {hops}; what lies there is part of the next hop that did")
    fitted = {hop.samples.hop for hop in path.fits}
    if few := sorted(answered - fitted):
        hops = ", ".join(str(hop) for hop in few)
        remarks.append(f"answered too few sizes for a fit: hop {hops}; what lies there is part of the next hop")
    if noise is None:
        remarks.append("the noise of the stamps alone is not known")
    else:
        remarks.append(f"noise of the stamps of one round trip: {noise:.0f} ns (standard deviation, on loopback)")
    return remarks
