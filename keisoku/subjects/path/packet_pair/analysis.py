"""The answer of a packet-pair measurement, from all its trains alone.

It sends nothing and formats no figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from keisoku.ground.run.result import Flag, Result, Row
from keisoku.ground.statistics import budget
from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.ground.statistics.uncertainty import half_width
from keisoku.language import join_texts, phrase, plural, recorded
from keisoku.subjects.path.packet_pair.bucket import find_bucket
from keisoku.subjects.path.packet_pair.coalescence import find_coalescence
from keisoku.subjects.path.packet_pair.direction import PairDirection
from keisoku.subjects.path.packet_pair.flags import contradicted, flags_of, queued_throughout, too_coarse
from keisoku.subjects.path.packet_pair.kind import best_kind, contributions
from keisoku.subjects.path.packet_pair.minimum_sum import LinkCapacity, link_capacity
from keisoku.subjects.path.packet_pair.modes import Mode, local_modes
from keisoku.subjects.path.packet_pair.serialisation import ip_links, serialisation, taken_alone
from keisoku.subjects.path.packet_pair.settings import PacketPairSettings
from keisoku.subjects.path.packet_pair.stages import DIRECTIONS
from keisoku.subjects.path.train.dispersion import NONE_SENT, dispersions
from keisoku.subjects.path.train.log import Train
from keisoku.subjects.path.train.probe import Direction
from keisoku.subjects.path.train.run import ENDED
from keisoku.subjects.path.unfinished import unfinished

NAME = "path packet-pair"
_STAGES = {"train": phrase("long trains"), "pair": phrase("pairs"), "sweep": phrase("packet sizes")}
"""In the order of sending, in each direction."""


def analyse(
    trains: Sequence[Train], settings: PacketPairSettings, noise_ns: Mapping[str, float], facts: Mapping[str, object]
) -> Result:
    """`trains` by the source of `settings`; `noise_ns`: standard deviation of one stamp by source."""
    noise = noise_ns.get(settings.stamps)
    ways = [way for direction in DIRECTIONS if (way := way_of(direction, trains, noise)) is not None]
    rows = [_row(way) for way in ways if way.capacity or way.adr_bps]
    # Where pairs do not show the capacity, those of no size do.
    rows += [_size_row(way, size, found) for way in ways if not contradicted(way) for size, found in way.sweep.items()]
    rows += [_mode_row(way, mode) for way in ways for mode in way.modes]
    return Result(
        measurement=NAME,
        title=phrase("packet pairs to {host}", host=settings.host),
        rows=rows,
        flags=[*_unfinished(ways, facts), *(flag for way in ways for flag in flags_of(way, settings))],
        remarks=_remarks(settings, facts, noise),
    )


def way_of(direction: Direction, trains: Sequence[Train], noise_ns: float | None) -> PairDirection | None:
    """None if nothing was sent in that direction. A stopped run may hold only long trains, without a capacity."""
    mine = [train for train in trains if train.direction == direction]
    if not mine:
        return None
    pairs = [train for train in mine if train.stage == "pair"]
    best = best_kind(pairs, noise_ns)
    last = mine[-1]
    ip_bytes, count = best.kind if best else (last.ip_bytes, last.count)
    spread = best.spread if best else NONE_SENT
    found = best.capacity if best else None
    long = [train for train in mine if train.stage == "train"]
    sweep = [train for train in mine if train.stage == "sweep"]
    gathered = find_coalescence(long)
    sizes = sorted({train.ip_bytes for train in sweep})
    by_size = {size: link_capacity(dispersions([train for train in sweep if train.ip_bytes == size])) for size in sizes}
    return PairDirection(
        direction=direction,
        trains=mine,
        ip_bytes=ip_bytes,
        count=count,
        pairs=spread,
        capacity=found,
        clock_share=best.clock_share if best else None,
        bucket=find_bucket(long) if long else None,
        coalescence=gathered,
        adr_bps=_adr(long, gathered.period_ns if gathered else 0.0),
        modes=local_modes(spread.rates_bps),
        sweep={size: one for size, one in by_size.items() if one is not None},
        serialisation=serialisation(taken_alone(sweep, found.bps)) if found else None,
        ip_links=ip_links(mine),
        stamp_ns=noise_ns,
    )


def _adr(trains: Sequence[Train], gathered_ns: float) -> tuple[float, float] | None:
    """The mean rate of long trains and its 95 % half width; a train whose packets are stamped together may have been
    longer or shorter by `gathered_ns`."""
    spans = [
        (train, float(np.ptp(arrived)))
        for train in trains
        if train.received > 1 and np.ptp(arrived := train.received_ns[train.received_ns > 0]) > 0
    ]
    if len(spans) < 2:
        return None
    rates = [8e9 * train.ip_bytes * (train.received - 1) / span for train, span in spans]
    mean = float(np.mean(rates))
    return mean, half_width(rates) + mean * gathered_ns / min(span for _, span in spans)


def _unfinished(ways: Sequence[PairDirection], facts: Mapping[str, object]) -> list[Flag]:
    """The parts that are missing in a run that was stopped before its end."""
    if facts.get(ENDED, True):
        return []
    by_direction = {way.direction: way for way in ways}
    present: list[str] = []
    missing: list[str] = []
    for direction in DIRECTIONS:
        way = by_direction.get(direction)
        for stage, name in _STAGES.items():
            if way and way.bucket and stage == "sweep":
                continue  # It is not measured behind a token bucket.
            sent = way is not None and any(train.stage == stage for train in way.trains)
            (present if sent else missing).append(f"{name} {direction}")
    return [unfinished(present, missing)]


def _row(way: PairDirection) -> Row:
    found = way.capacity
    figures = {}
    if found:
        figures = {
            "capacity": _capacity(way, found),
            "trains_used": Quantity(value=found.trains, unit="", uncertainty=0.0),
            "queued": Quantity(value=100 * found.queued_share, unit="%"),
        }
    if way.adr_bps:
        figures["average_dispersion_rate"] = Quantity(value=way.adr_bps[0], unit="bit/s", uncertainty=way.adr_bps[1])
    if way.bucket:
        figures["sustained_rate"] = Quantity(
            value=way.bucket.sustained_bps, unit="bit/s", uncertainty=2 * way.bucket.sustained_error_bps
        )
        figures["burst"] = Quantity(
            value=way.bucket.burst_bytes, unit="byte", uncertainty=2 * way.bucket.burst_error_bytes
        )
    if way.clock_share is not None:
        figures["of_stamps"] = Quantity(value=100 * way.clock_share, unit="%")
    if way.serialisation and found and not _limit(way, found):
        figures["like_links"] = Quantity(
            value=way.serialisation.links(found.bps),
            unit="",
            uncertainty=2 * way.serialisation.links_error(found.bps, found.error_bps),
        )
    remark = phrase("trains of {count} packets of {ip_bytes} byte", count=way.count, ip_bytes=way.ip_bytes)
    if not found:
        remark = phrase("no pair arrived complete: only the long trains give figures")
    else:
        remark = join_texts("; ", [part for part in (remark, _limit(way, found)) if part])
    return Row(case=recorded(way.direction), figures=figures, group=phrase("Direction"), remark=remark)


def _capacity(way: PairDirection, found: LinkCapacity) -> Quantity:
    """The figure; only a bound where trains met queues that are about as long as their dispersion, and where long
    trains are faster."""
    if not (queued_throughout(way) or contradicted(way)):
        return budget.figure(found.bps, "bit/s", contributions(found, way.clock_share))
    # Other traffic spreads a long train: it is never faster than the narrow link for long.
    mean, error = way.adr_bps or (0.0, 0.0)
    return Quantity(value=max(mean - error, 0.0), unit="bit/s", bound="at least")


def _limit(way: PairDirection, found: LinkCapacity) -> str:
    """Why the capacity of a row is not that of the path; empty if it is."""
    if too_coarse(way):
        return phrase("the timestamps are too coarse for these trains: the capacity shows mostly their error")
    if queued_throughout(way):
        return phrase(
            "hardly a train met no queue: the capacity is not known, only that it is at least the rate of long trains"
        )
    if contradicted(way):
        return phrase(
            "long trains arrived faster than the pairs: the capacity is not known, only that it is at least their rate"
        )
    return phrase("the sender was slower than the path: a lower bound") if found.limited_by_sender else ""


def _size_row(way: PairDirection, size: int, found: LinkCapacity) -> Row:
    interval = Interval(lower=found.lower_bps, upper=found.upper_bps)
    figure = Quantity(value=found.bps, unit="bit/s", uncertainty=2 * found.error_bps, interval=interval)
    return Row(
        case=phrase("{size} byte, {direction}", size=size, direction=recorded(way.direction)),
        figures={"capacity": figure, "trains_used": Quantity(value=found.trains, unit="", uncertainty=0.0)},
        at=Quantity(value=size, unit="byte", uncertainty=0.0),
        group=phrase("Packet size"),
        remark=_limit(way, found),
    )


def _mode_row(way: PairDirection, mode: Mode) -> Row:
    figures = {
        "rate": Quantity(value=mode.centre_bps, unit="bit/s", uncertainty=(mode.high_bps - mode.low_bps) / 2),
        "pairs": Quantity(value=mode.pairs, unit="", uncertainty=0.0),
        "share": Quantity(value=100 * mode.share, unit="%"),
    }
    return Row(case=recorded(way.direction), figures=figures, group=phrase("Mode of dispersion rates"))


def _remarks(settings: PacketPairSettings, facts: Mapping[str, object], noise_ns: float | None) -> list[str]:
    remarks = [
        phrase("rates are of IP packets with their headers; Ethernet adds 38 byte to each (42 with a VLAN tag)"),
        phrase("a token bucket whose burst is longer than 50 packets is not detected"),
        phrase("time: {stamps} stamps", stamps=settings.stamps),
    ]
    if "path_mtu_bytes" in facts:
        remarks.append(
            phrase("path MTU {path_mtu_bytes} byte, which no packet exceeded", path_mtu_bytes=facts["path_mtu_bytes"])
        )
    if noise_ns is None:
        remarks.append(phrase("the stamps' own noise could not be measured: its part of the uncertainty is missing"))
    if facts.get("dropped_by_sockets"):
        remarks.append(
            plural(
                "{count} probe found no room in a receiving socket",
                "{count} probes found no room in a receiving socket",
                count=facts["dropped_by_sockets"],
            )
        )
    if facts.get("clock_steps"):
        remarks.append(phrase("the time of day was stepped during the measurement: measure again"))
    if "duration_s" in facts:
        remarks.append(phrase("measured in {duration_s} s", duration_s=facts["duration_s"]))
    return remarks
