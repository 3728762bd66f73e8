"""Findings on a path that change the meaning of its capacity."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from keisoku.ground.run.result import Flag
from keisoku.ground.statistics import budget
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import phrase, recorded
from keisoku.subjects.path.packet_pair.direction import PairDirection
from keisoku.subjects.path.packet_pair.kind import USELESS, contributions
from keisoku.subjects.path.packet_pair.minimum_sum import CHECK
from keisoku.subjects.path.packet_pair.serialisation import MARGIN
from keisoku.subjects.path.packet_pair.settings import PacketPairSettings

WAITED, WAITED_NOISES = 0.05, 8.0
"""A first packet waited in a queue if its delay is above the least by more than this share of a dispersion, and by more
than so many standard deviations of a stamp."""
WAITING = 0.03
"""Share of the first packets that waited for more than twice as long: from here on the path is busy. Chosen on random
paths of even seeds (benchmarks/detection/busy_path.py)."""
MIXED = 0.95
"""Share of the capacity below which the rate of long trains shows that other packets come between theirs. If these are
short, some are in every train."""
UNDELAYED = 4.0
"""How many times more first packets did not wait than waited for a little: a queue lets some pass at once, but a host
or a card that gathers packets delays all of them, some longer than others."""
LOWEST = 0.05
"""Quantile of the delays of first packets that stands for the least; so many more must not have waited."""
EVERY_ERRORS = 3.0
"""Standard deviations of a rate by its stamps from which the least delay of all trains counts as a queue."""
STAMPS_MOST = 2.0
"""Standard deviations of a delay, which has two timestamps, that hidden stages must delay the longest packets by."""
COARSE = 20.0
"""A dispersion of fewer standard deviations of a timestamp shows the clock more than the path."""
SHORT_BYTES, SHORT_NOISES = 64, 2.0
"""Of a packet, and the standard deviations of a stamp below which its time on the narrow link stays unseen."""
TOO_LOW = phrase("the capacity may be 10 to 30 % too low")
"""Under a dense load of packets much shorter than those of a train; chosen on random paths
(benchmarks/accuracy/pair_intervals.py)."""
NEAR_WHOLE = 0.15
"""A ratio this close to a whole number may be a number of equal stages."""


def flags_of(way: PairDirection, settings: PacketPairSettings) -> list[Flag]:
    """All flags, the most important first."""
    found = [
        _bucket(way),
        _sender(way),
        _coalescence(way),
        _spread(way),
        _clock(way),
        _stages(way, settings),
        _busy(way),
        _hidden(way),
    ]
    return [flag for flag in found if flag is not None]


def too_coarse(way: PairDirection) -> bool:
    """Dispersions show the timestamps more than the path: neither the rate nor its limit can be determined."""
    # clock_share = √2·σ_t / Δ
    return way.clock_share is not None and way.clock_share > 2**0.5 / COARSE


def queued_throughout(way: PairDirection) -> bool:
    """Hardly any train met no queue, so that dispersions do not show the capacity."""
    found = way.capacity
    if found is None or found.limited_by_sender or too_coarse(way):
        return False
    uncertainty = 2 * budget.standard_uncertainty(contributions(found, way.clock_share))
    return uncertainty > USELESS * found.bps


def contradicted(way: PairDirection) -> bool:
    """Long trains passed faster than pairs say that any link lets them: something on the path gathers packets and lets
    go of them at times of its own, so that those pairs that seem undelayed are spread by it.

    Before a link of the capacity C no long train gets faster than C (Dovrolis et al., ToN 2004, section IV).
    """
    found = way.capacity
    if found is None or way.adr_bps is None or _limited(way):
        return False
    mean, error = way.adr_bps
    uncertainty = 2 * budget.standard_uncertainty(contributions(found, way.clock_share))
    return mean - error > found.bps + uncertainty


def _limited(way: PairDirection) -> bool:
    """A bucket, the sender or the timestamps decide what pairs show."""
    return way.bucket is not None or too_coarse(way) or (way.capacity is not None and way.capacity.limited_by_sender)


def _unusual(way: PairDirection) -> bool:
    """Pairs are not spread by the narrow link alone."""
    return _limited(way) or contradicted(way)


def _bucket(way: PairDirection) -> Flag | None:
    bucket = way.bucket
    if bucket is None:
        return None
    figures = {
        "sustained_rate": Quantity(
            value=bucket.sustained_bps, unit="bit/s", uncertainty=2 * bucket.sustained_error_bps
        ),
        "burst": Quantity(value=bucket.burst_bytes, unit="byte", uncertainty=2 * bucket.burst_error_bytes),
        "peak_rate": Quantity(value=bucket.peak_bps, unit="bit/s"),
    }
    where = phrase(" at the sending host itself") if bucket.at_sender else ""
    text = phrase(
        "{direction}: a token bucket{where} lets a burst pass at once and then sustains less; pairs see its peak",
        direction=recorded(way.direction),
        where=where,
    )
    return Flag(name="token-bucket", text=text, figures=figures)


def _sender(way: PairDirection) -> Flag | None:
    # By coarse stamps trains seem to arrive faster than they left, whatever the path does.
    if way.capacity is None or not way.capacity.limited_by_sender or too_coarse(way):
        return None
    text = phrase(
        "{direction}: most trains were sent more slowly than the path allows: the capacity is a lower bound",
        direction=recorded(way.direction),
    )
    return Flag(name="sender-limited", text=text)


def _coalescence(way: PairDirection) -> Flag | None:
    found = way.coalescence
    if found is None or way.bucket is not None:
        return None
    figures = {
        "equal_stamps": Quantity(value=100 * found.equal_share, unit="%"),
        "in_clusters": Quantity(value=100 * found.clustered_share, unit="%"),
        "period": Quantity(value=found.period_ns, unit="ns"),
    }
    text = phrase(
        "{direction}: timestamps come in clusters, as with interrupt coalescing or receive offload of a NIC",
        direction=recorded(way.direction),
    )
    return Flag(name="interrupt-coalescence", text=text, figures=figures)


def _spread(way: PairDirection) -> Flag | None:
    if not contradicted(way) or way.capacity is None or way.adr_bps is None:
        return None
    figures = {
        "pairs": Quantity(value=way.capacity.bps, unit="bit/s"),
        "average_dispersion_rate": Quantity(value=way.adr_bps[0], unit="bit/s", uncertainty=way.adr_bps[1]),
    }
    text = phrase(
        "{direction}: long trains arrived faster than the pairs: something on the path gathers packets, and spreads"
        " pairs; the capacity is not measured",
        direction=recorded(way.direction),
    )
    return Flag(name="spread-pairs", text=text, figures=figures)


def _clock(way: PairDirection) -> Flag | None:
    if way.capacity is None or way.clock_share is None:
        return None
    coarse = too_coarse(way)
    if not coarse and way.clock_share * way.capacity.bps <= way.capacity.error_bps * 2:
        return None
    if not coarse and way.clock_share < 0.01:
        return None
    figures = {"of_stamps": Quantity(value=100 * way.clock_share, unit="%")}
    text = phrase(
        "{direction}: timestamp noise is most of a rate's scatter: use longer packets or better timestamps",
        direction=recorded(way.direction),
    )
    return Flag(name="clock-limited", text=text, figures=figures)


def _stages(way: PairDirection, settings: PacketPairSettings) -> Flag | None:
    """Packets are stored more often than there are IP links, or our rate is a multiple of the one-packet rate."""
    if way.capacity is None or _unusual(way):
        return None
    if settings.one_packet_bps is not None and way.direction == "forward":
        ratio = way.capacity.bps / settings.one_packet_bps
        if ratio >= 2 - NEAR_WHOLE:
            whole = abs(ratio - round(ratio)) <= NEAR_WHOLE * round(ratio) / 2
            like = phrase(" like {count} equal stages in a row", count=round(ratio)) if whole else ""
            text = phrase(
                "{direction}: one packet is delayed longer than the narrow link explains,{like} of layer 2",
                direction=recorded(way.direction),
                like=like,
            )
            figures = {"ratio": Quantity(value=ratio, unit="")}
            return Flag(name="hidden-l2-stage", text=text.replace(",  ", ", "), figures=figures)
    found = way.serialisation
    if found is None or way.ip_links is None:
        return None
    links = found.links(way.capacity.bps)
    error = found.links_error(way.capacity.bps, way.capacity.error_bps)
    if links - 2 * error < way.ip_links + MARGIN:
        return None
    # A program that is woken late finds several packets: they seem to come faster than the link carries them, and one
    # byte of a lone packet to cost more than that. No number of packets averages this.
    if found.excess_ns(way.ip_links, way.capacity.bps) < STAMPS_MOST * math.sqrt(2) * (way.stamp_ns or 0.0):
        return None
    text = phrase(
        "{direction}: packets are stored more often than there are IP links: stages of layer 2 are hidden",
        direction=recorded(way.direction),
    )
    figures = {
        "like_links": Quantity(value=links, unit="", uncertainty=2 * error),
        "ip_links": Quantity(value=way.ip_links, unit="", uncertainty=0.0),
    }
    return Flag(name="hidden-l2-stage", text=text, figures=figures)


def _busy(way: PairDirection) -> Flag | None:
    """First packets show a queue, whatever they are followed by; trains that leave no room between their packets do
    not: nothing can come between them."""
    found = way.capacity
    if found is None or _unusual(way):
        return None
    waiting = _waiting(way, found.bps)
    delayed = found.check_excess > CHECK + EVERY_ERRORS * (way.clock_share or 0.0)
    if waiting is None or not (delayed or waiting > WAITING):
        return None
    figures = {
        "waited": Quantity(value=100 * waiting, unit="%"),
        "queued": Quantity(value=100 * found.queued_share, unit="%"),
    }
    if way.adr_bps:
        figures["average_dispersion_rate"] = Quantity(value=way.adr_bps[0], unit="bit/s", uncertainty=way.adr_bps[1])
    check = "" if not delayed else phrase(", and every train met one")
    text = phrase(
        "{direction}: trains met queues{check}: other traffic uses the path",
        direction=recorded(way.direction),
        check=check,
    )
    if way.adr_bps and way.adr_bps[0] < MIXED * found.bps:
        text += phrase("; if its packets are much shorter than those of the trains, {too_low}", too_low=TOO_LOW)
    return Flag(name="busy-path", text=text, figures=figures)


def _hidden(way: PairDirection) -> Flag | None:
    """Packets of others that are so short that no stamp shows a wait for them: some of them may be in every train."""
    found = way.capacity
    if found is None or _unusual(way) or way.stamp_ns is None:
        return None
    short_ns = 8e9 * SHORT_BYTES / found.bps
    if short_ns > SHORT_NOISES * way.stamp_ns:
        return None
    text = phrase(
        "{direction}: these timestamps do not show waiting for packets of {size} byte: if such packets of others fill "
        "half of the link or more, {too_low}",
        direction=recorded(way.direction),
        size=SHORT_BYTES,
        too_low=TOO_LOW,
    )
    figures = {
        "short_packet": Quantity(value=short_ns, unit="ns"),
        "stamp_noise": Quantity(value=way.stamp_ns, unit="ns"),
    }
    return Flag(name="hidden-load", text=text, figures=figures)


def _waiting(way: PairDirection, bps: float) -> float | None:
    """Share of the first packets that waited in a queue; None where delays vary as those of gathered packets do.

    Waits for packets that are much shorter than those of trains are short: half as long ones are looked at as well.
    """
    gap_ns = way.pairs.bits / bps * 1e9
    # Of √2·σ_t/Δ, which the clock's share is.
    noise_ns = (way.clock_share or 0.0) * gap_ns / math.sqrt(2)
    above_ns = way.pairs.first_ns - np.quantile(way.pairs.first_ns, LOWEST)
    share = None
    for waited_ns in (WAITED * gap_ns, WAITED * gap_ns / 2):
        least_ns = max(waited_ns, WAITED_NOISES * noise_ns)
        # A queue of short packets fills the range of `least_ns`; by what stamps can tell, some still passed at once.
        if not all(_gathers(above_ns, within_ns) for within_ns in (least_ns, WAITED_NOISES * noise_ns)):
            share = max(share or 0.0, float((above_ns > 2 * least_ns).mean()))
    return share


def _gathers(above_ns: NDArray[np.float64], within_ns: float) -> bool:
    at_once = (above_ns <= within_ns).mean() - LOWEST
    little = ((above_ns > within_ns) & (above_ns <= 2 * within_ns)).mean()
    return bool(at_once < max(UNDELAYED * little, LOWEST))
