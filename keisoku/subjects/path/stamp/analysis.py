"""One-way and two-way delay from the rows of a STAMP session.

Two-way delay is free of the clocks' difference; one-way delay is not. Where the clocks are not both synchronised, it is
only known that no delay is below zero: the least one-way delay lies between 0 and the least two-way delay.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from keisoku.ground.run.result import Flag, Result, Row
from keisoku.ground.statistics.line_fit import POINTS_MIN, fit_line
from keisoku.ground.statistics.quantity import Quantity
from keisoku.ground.statistics.uncertainty import student
from keisoku.language import phrase
from keisoku.subjects.path.stamp.exchanges import Exchanges, exchanges
from keisoku.subjects.path.stamp.pace import not_offered
from keisoku.subjects.path.stamp.settings import DelaySettings
from keisoku.subjects.path.train.skew import MOST, skew
from keisoku.subjects.path.unfinished import unfinished

NAME = "path delay"
_BLOCKS, _BLOCK_PACKETS = 16, 4
"""Blocks of time, and the fewest packets of one: its least delay is close to the path's."""
QUANTILES = {"median": 0.5, "p99": 0.99}


@dataclass(frozen=True)
class Delays:
    """Of the packets that were answered and stamped, in order; ns."""

    time_ns: NDArray[np.float64]
    """Since the first was sent."""
    forward_ns: NDArray[np.float64]
    """By both clocks, so the offset between them is included."""
    reverse_ns: NDArray[np.float64]
    two_way_ns: NDArray[np.float64]
    """Without the time in the reflector."""
    offset_ns: float
    """Far clock minus near one, if both ways are equally long at their least."""
    skew: float
    """Rate of the far clock minus that of the near one; 0 where it is not known to be another."""
    skew_half: float
    """Half the width of its interval of 95 %."""


def delays_of(rows: pa.Table) -> Delays | None:
    """None if no packet has all stamps, or none has stamps that can be true together."""
    return _delays(exchanges(rows))


def _delays(of: Exchanges) -> Delays | None:
    t1, t2, t3, t4 = of.t1_ns, of.t2_ns, of.t3_ns, of.t4_ns
    if not len(t1):
        return None
    time_ns = (t1 - t1[0]).astype(float)
    forward, reverse = (t2 - t1).astype(float), (t4 - t3).astype(float)
    rate, half = _rate(time_ns, forward, reverse)
    two_way = forward + reverse
    least = int(np.argmin(two_way))
    return Delays(time_ns, forward, reverse, two_way, float(forward[least] - reverse[least]) / 2, rate, half)


def _rate(
    time_ns: NDArray[np.float64], forward: NDArray[np.float64], reverse: NDArray[np.float64]
) -> tuple[float, float]:
    """Rate of the far clock minus that of the near one, and half the width of its interval of 95 % (dimensionless).

    Either way's floor shows the rate, and both together cancel what a queue left of it. How sure it is, the least
    delays of blocks of time say, by their scatter and by how slopes between blocks differ that are half of the time
    apart: where the host stalls for a while, blocks beside each other are late together.
    """
    blocks = min(_BLOCKS, len(time_ns) // _BLOCK_PACKETS)
    if blocks < POINTS_MIN + 1:
        return 0.0, MOST
    found = (skew(time_ns, forward) - skew(time_ns, reverse)) / 2
    parts = np.array_split(np.arange(len(time_ns)), blocks)
    leads = np.array([(forward[part].min() - reverse[part].min()) / 2 for part in parts])
    at_ns = np.array([time_ns[part].mean() for part in parts])
    line, apart = fit_line(at_ns.tolist(), leads.tolist()), blocks // 2
    slopes = (leads[apart:] - leads[:-apart]) / (at_ns[apart:] - at_ns[:-apart])
    half = max(student(blocks - 2) * line.slope_error, float(np.ptp(slopes)) / 2) + abs(found - line.slope)
    # A rate that no two clocks have, as a late block makes it of a few packets, says nothing.
    if abs(found) > max(half, MOST):
        return 0.0, MOST
    return (found, half) if abs(found) > half else (0.0, min(MOST, abs(found) + half))


def analyse(rows: pa.Table, settings: DelaySettings) -> Result:
    """Raises nothing: packets without stamps are said."""
    used = exchanges(rows)
    found = _delays(used)
    sent, answers = rows.num_rows, rows["answers"].to_numpy()
    answered, doubled = int((answers > 0).sum()), int(np.maximum(answers - 1, 0).sum())
    lost = Quantity(value=100 * (sent - answered) / max(sent, 1), unit="%")
    counts = {
        "sent": Quantity(value=sent, unit="", uncertainty=0.0),
        "answered": Quantity(value=answered, unit="", uncertainty=0.0),
        "doubled": Quantity(value=doubled, unit="", uncertainty=0.0),
        "lost": lost,
    }
    table = [Row(case=phrase("packets"), figures=counts, group=phrase("Packets"))]
    flags = used.flags()
    if sent < settings.packets:
        flags.append(
            unfinished([], [phrase("{lost} of {sent} packets", lost=settings.packets - sent, sent=settings.packets)])
        )
    if found is not None:
        known_ns = _clock_error_ns(rows)
        least = float(found.two_way_ns.min())
        table.append(_row(phrase("two-way"), found.two_way_ns, None))
        if known_ns is None:
            since_ns = _since_least(found)
            offset, drift_ns = found.offset_ns, found.skew * since_ns
            bound = abs(least) / 2 + found.skew_half * float(np.abs(since_ns).max())
            flags.append(_not_synchronised(found, least))
        else:
            offset, drift_ns, bound = 0.0, np.zeros_like(found.time_ns), known_ns
        table.append(_row("forward", found.forward_ns - offset - drift_ns, bound))
        table.append(_row("reverse", found.reverse_ns + offset + drift_ns, bound))
        if least < 0:
            text = phrase("a two-way delay is below zero: the timestamps of the reflector or of this host are wrong")
            flags.append(Flag(name="stamps-disagree", text=text))
        if known_ns is not None and min(found.forward_ns.min(), found.reverse_ns.min()) < 0:
            text = phrase("a packet arrived before it was sent: the clocks differ by more than they report")
            flags.append(Flag(name="clocks-disagree", text=text))
    if slow := not_offered(rows, settings.interval_s):
        flags.append(slow)
    if answered and not (rows["t1_ns"].to_numpy() > 0).all():
        flags.append(Flag(name="stamps-missing", text=phrase("packets without a kernel timestamp are left out")))
    return Result(
        measurement=NAME,
        title=phrase("delay to {host} (STAMP)", host=settings.host),
        rows=table,
        flags=flags,
        remarks=[
            phrase("framing of RFC 8762") + (phrase(", authenticated") if settings.key_file else ""),
            phrase(
                "near end: kernel timestamps; far end: the reflector's own, the transmit one written before sending"
            ),
            phrase("a stateless reflector cannot show in which direction a packet was lost"),
        ],
    )


def _since_least(found: Delays) -> NDArray[np.float64]:
    return np.asarray(found.time_ns - found.time_ns[int(np.argmin(found.two_way_ns))])


def _clock_error_ns(rows: pa.Table) -> float | None:
    """By how much the clocks may differ, as both ends estimate it; None if either is not synchronised."""
    answered = rows["answers"].to_numpy() > 0
    far, near = (rows[f"{end}_synchronised"].to_numpy()[answered] for end in ("far", "near"))
    if not (far.all() and near.all()):
        return None
    return float(max(rows[f"{end}_error_ns"].to_numpy()[answered].max() for end in ("far", "near")) * 2)


def _row(name: str, values_ns: NDArray[np.float64], bound_ns: float | None) -> Row:
    """`bound_ns`: half the width of the uncertainty of the clocks, in every figure of the row but its variation.

    None where it is not known: two-way delay includes the time in the reflector after it wrote its transmit time.
    """
    clock = None if bound_ns is None else float(2 * bound_ns / np.sqrt(3))
    figures = {
        "least": Quantity(value=float(values_ns.min()), unit="ns", uncertainty=clock),
        **{
            title: Quantity(value=float(np.quantile(values_ns, share)), unit="ns", uncertainty=clock)
            for title, share in QUANTILES.items()
        },
        "largest": Quantity(value=float(values_ns.max()), unit="ns", uncertainty=clock),
        # RFC 5481 §4.2: PDV, delays above the least one; its clocks cancel.
        "variation_p99": Quantity(value=float(np.quantile(values_ns, 0.99) - values_ns.min()), unit="ns"),
    }
    return Row(case=name, figures=figures, group=phrase("Delay"))


def _not_synchronised(found: Delays, least_ns: float) -> Flag:
    text = phrase(
        "the clocks are not both synchronised: one-way delays assume equal least delays in "
        "both directions, which no measurement between two unsynchronised clocks can verify"
    )
    figures = {
        "far_clock_leads_by": Quantity(value=found.offset_ns, unit="ns", uncertainty=float(abs(least_ns) / np.sqrt(3))),
        "rate_difference": Quantity(value=found.skew * 1e6, unit="ppm", uncertainty=found.skew_half * 1e6),
    }
    return Flag(name="clocks-not-synchronised", text=text, figures=figures)
