"""The answer of a one-packet measurement: bandwidth and latency of each hop, from its raw probes alone.

It sends nothing and formats no figure; `keisoku/subjects/path/one_packet/probing/schedule.py` probes, `report` shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics import budget
from keisoku.ground.statistics.quantity import Contribution, Interval, Quantity
from keisoku.language import join_texts, phrase
from keisoku.subjects.path.one_packet.fit.minimum import HopSamples
from keisoku.subjects.path.one_packet.fit.segment import BITS, Segment, Span, rate
from keisoku.subjects.path.one_packet.judgement.flags import flags_of, loss_flags, remarks_of
from keisoku.subjects.path.one_packet.judgement.loss import HopLoss, path_loss
from keisoku.subjects.path.one_packet.judgement.path import PathFit
from keisoku.subjects.path.one_packet.judgement.quoting import Quoting
from keisoku.subjects.path.one_packet.judgement.verdict import PathVerdict
from keisoku.subjects.path.one_packet.probe import HopProbe
from keisoku.subjects.path.one_packet.probing.sizes import SLOWER_ABOVE_BYTES

NAME = "path one-packet"
STEERED = 500e-6
"""CLOCK_REALTIME may be slewed by so much (adjtimex(2)); every interval of kernel stamps may be off by it."""
WIDE = 0.1
"""Relative uncertainty from which an interval is not symmetrical any more, a rate being the inverse of a slope."""
NO_LINK = ("token-bucket", "not-serialising")
"""Verdicts on hops that hold no packet for as long as it takes to send: these have no rate of a link, nor a bound."""
HOP, ROUTER = "Hop", "Router"


def analyse(
    host: str,
    path: PathFit,
    probes: Sequence[HopProbe],
    stamp_noise_ns: float | None,
    reached: bool,
    loop: str = "",
) -> Result:
    """The result for the path to `host`, from the probes and what was fitted to them.

    `stamp_noise_ns` is the standard deviation of one round trip's stamps, where it was measured; `reached` says whether
    the host itself answered; `loop` is the clause about a routing loop, empty if there was none.
    """
    rows = [
        _segment_row(path, segment, verdict, stamp_noise_ns)
        for segment, verdict in zip(path.segments, path.verdicts, strict=True)
    ]
    losses = path_loss(probes)
    routers = [_router_row(samples, path.quoting[samples.hop], losses.hops[samples.hop]) for samples in path.hops]
    return Result(
        measurement=NAME,
        title=phrase("one-packet bandwidth of the hops to {host}", host=host),
        rows=[*rows, *routers],
        flags=[*loss_flags(losses, loop), *flags_of(path, reached)],
        remarks=list(remarks_of(path, probes, stamp_noise_ns)),
    )


def _segment_row(path: PathFit, segment: Segment, verdict: PathVerdict, noise: float | None) -> Row:
    figures: dict[str, Quantity] = {}
    said = []
    for name, span, gain, words in (
        ("forward", segment.forward, segment.forward_gain, phrase("forward")),
        ("reverse", segment.reverse, segment.reverse_gain, phrase("reverse")),
        ("if_symmetric", segment.both, segment.forward_gain, phrase("both ways together")),
    ):
        if span is None:
            if name == "reverse" and segment.both is None:
                said.append(phrase("reverse not identifiable: replies are of one length"))
            continue
        speed = rate(span)
        if speed is None:
            said.append(_unresolved(words, span))
            if verdict.kind not in NO_LINK and 0 < span.upper < np.inf:
                figures[name] = Quantity(value=_ways(name) * BITS / span.upper, unit="bit/s", bound="at least")
            continue
        figures[name] = _rate_figure(span, _ways(name), gain, noise)
        if name != "if_symmetric":
            figures |= {name: figure} if (figure := _bound(path, segment, name, figures.pop(name))) else {}
    if segment.both is not None:
        said.append(
            phrase("forward and reverse cannot be separated, as all replies grow: the figure holds if they are equal")
        )
    figures["latency"] = _quantity(segment.fixed, "ns", noise)
    if (train := path.trains.get(segment.last_hop)) is not None:
        spread = (train.upper - train.lower) / 2
        figures["train"] = Quantity(value=train.rate, unit="bit/s", uncertainty=spread if train.trains > 1 else None)
    if segment.has_silent_hops:
        said.append(
            phrase(
                "hops {first_hop} to {last_hop} together, as the hops between them never answered",
                first_hop=segment.first_hop,
                last_hop=segment.last_hop,
            )
        )
    if verdict.shared_rate is not None:
        said.append(
            phrase(
                "the way back is the faster one, unless the router takes longer above about {above} byte: then the "
                "link has {rate:.3g} Mb/s each way, and the rates of the next hop are wrong as well",
                above=SLOWER_ABOVE_BYTES,
                rate=verdict.shared_rate / 1e6,
            )
        )
    if verdict.kind == "not-checked" and verdict.why:
        said.append(phrase("hidden stages not checked: {why}", why=verdict.why))
    number = f"{segment.first_hop}–{segment.last_hop}" if segment.has_silent_hops else f"{segment.last_hop}"
    return Row(case=f"{number} {segment.far}", figures=figures, group=HOP, remark=join_texts("; ", said))


def _bound(path: PathFit, segment: Segment, name: str, figure: Quantity) -> Quantity | None:
    """What is known of a rate where this hop's router, or the one before, takes longer for longer packets: with that
    a link seems slower on the way out and faster on the way back, and the next one the other way round."""
    here, before = segment.last_hop in path.slower, segment.first_hop - 1 in path.slower
    if not (here or before):
        return figure
    if (here and before) or figure.bounds is None:
        return None
    bound: Literal["at least", "at most"] = "at least" if here == (name == "forward") else "at most"
    value = figure.bounds[0 if bound == "at least" else 1]
    return Quantity(value=value, unit=figure.unit, bound=bound)


def _ways(name: str) -> float:
    """How many times the span of a figure counts each byte."""
    return 2.0 if name == "if_symmetric" else 1.0


def _unresolved(words: str, span: Span) -> str:
    if not np.isfinite(span.upper):
        return phrase("{words}: too few repeats for an interval", words=words)
    if span.upper <= 0:
        return phrase("{words}: longer packets did not take longer, so its bandwidth is unknown", words=words)
    return phrase(
        "{words}: no serialisation seen; faster than {rate:.0f} Mb/s, or a token bucket",
        words=words,
        rate=BITS / span.upper / 1e6,
    )


def _rate_figure(span: Span, ways: float, gain: float, noise: float | None) -> Quantity:
    """A rate with its budget, and its interval where that is not symmetrical. `ways`: how many times a byte is sent."""
    value = ways * BITS / span.value
    sensitivity = value / span.value
    total = span.half_width / 2
    # The scatter of the round trips contains that of their stamps: it is told apart, and counted once.
    stamps = min(total, noise * gain) if noise is not None else 0.0
    parts: list[Contribution] = [
        budget.normal(phrase("repeats and sizes"), float(np.sqrt(total**2 - stamps**2)), sensitivity=sensitivity),
        budget.rectangular(phrase("rate of the system clock"), STEERED * value),
    ]
    if noise is not None:
        parts.append(budget.normal(phrase("noise of the stamps"), stamps, kind="A", sensitivity=sensitivity))
    quantity = budget.figure(value, "bit/s", parts)
    relative = (quantity.uncertainty or 0.0) / value
    if relative < WIDE or span.lower <= 0:
        return quantity
    lower = ways * BITS / (span.value * (1 + relative))
    upper = ways * BITS / (span.value * (1 - min(relative, span.half_width / span.value)))
    return quantity.model_copy(update={"interval": Interval(lower=lower, upper=upper)})


def _quantity(span: Span, unit: str, noise: float | None) -> Quantity:
    if not np.isfinite(span.half_width):
        return Quantity(value=span.value, unit=unit)
    return Quantity(value=span.value, unit=unit, uncertainty=float(np.hypot(span.half_width, 2 * (noise or 0.0))))


def _router_row(samples: HopSamples, quoting: Quoting, loss: HopLoss) -> Row:
    figures = {
        "probes": Quantity(value=samples.sent, unit="packets", uncertainty=0.0),
        "answered": Quantity(value=samples.answered, unit="packets", uncertainty=0.0),
        "repeats": Quantity(value=samples.repeats, unit="per size", uncertainty=0.0),
    }
    if loss.fair:
        interval = Interval(lower=100 * loss.lower, upper=100 * loss.upper)
        figures["lost"] = Quantity(value=100 * loss.ratio, unit="%", interval=interval)
    for name, count in (("refused", loss.refused), ("in_outages", loss.in_outages)):
        if count:
            figures[name] = Quantity(value=count, unit="packets", uncertainty=0.0)
    said = [
        phrase("quotes {text}", text=quoting.text)
        if quoting.style != "unknown"
        else phrase("quoting {text}", text=quoting.text)
    ]
    if quoting.kink_bytes is not None:
        said.append(
            phrase(
                "replies grow with probes up to {kink_bytes} byte, which the fit accounts for",
                kink_bytes=quoting.kink_bytes,
            )
        )
    limit = loss.limit
    if limit.interval_ns is not None:
        half = (limit.longest_ns - limit.shortest_ns) / 2
        figures["reply_interval"] = Quantity(value=limit.interval_ns, unit="ns", uncertainty=half)
        said.append(phrase("limits its replies after a burst of {burst}", burst=limit.burst))
    return Row(case=f"{samples.hop} {samples.replier}", figures=figures, group=ROUTER, remark=join_texts("; ", said))
