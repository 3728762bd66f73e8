"""The packet-pair measurement, stage by stage: long trains, pairs of least delay sum, jumbo frames or bulks, sizes.

Decides from the trains so far which ones are sent next; the session sends and keeps them. The result is computed by
`analysis` from all trains.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from keisoku.errors import EngineError
from keisoku.language import phrase, recorded
from keisoku.subjects.path.packet_pair.bucket import find_bucket
from keisoku.subjects.path.packet_pair.kind import USEFUL, TrainGroup, best_length, free_length, of_kind
from keisoku.subjects.path.packet_pair.minimum_sum import agree
from keisoku.subjects.path.packet_pair.settings import SWEEP_SIZES, PacketPairSettings
from keisoku.subjects.path.stamp_noise import stamp_noise
from keisoku.subjects.path.time_source import Source
from keisoku.subjects.path.train.log import Train, TrainLog
from keisoku.subjects.path.train.probe import Direction, TrainPlan
from keisoku.subjects.path.train.session import TrainSession

DIRECTIONS: tuple[Direction, ...] = ("forward", "reverse")
MTU_SIZES = (576, 1280, 1400, 1420, 1440, 1460, 1480, 1492, 1500, 2000, 4000, 4352, 6000, 8000, *SWEEP_SIZES)
ORDINARY_BYTES = 1500
BUCKET_PACKETS = 50
BUCKET_TRAINS = 6
COARSE_SHARE = 0.01
"""Trains that scatter by more than this are sent again with jumbo frames, if those pass: a disturbance matters
less with a longer dispersion."""
SMALL_SIZES = (200, 400, 600, 800, 1250)
"""For the growth of the least delay with size, where the path takes no jumbo frames."""
_LEAST_GAP_S, _MOST_GAP_S = 0.002, 0.05
_REST = 3.0
"""Pause between trains, in multiples of their duration, so that a token bucket fills again."""


class Trains(Protocol):
    """A session as far as stages need it."""

    def run(self, plans: Sequence[TrainPlan], gap_s: float, watch: bool = False) -> TrainLog:
        """As `TrainSession.run`."""


Told = Callable[[str], None]
Know = Callable[[Mapping[str, object]], None]
"""Given the facts as far as they are known, before the first train."""


def measure(
    session: TrainSession, settings: PacketPairSettings, told: Told = lambda _: None, know: Know = lambda _: None
) -> dict[str, object]:
    """Measures both directions; the trains are in `session.log`. Returns facts for the run's context.

    Raises EngineError if no probe passes.
    """
    started_s = time.monotonic()
    told(phrase("the path's MTU"))
    mtu = session.path_mtu(sorted(set(MTU_SIZES)))
    if mtu == 0:
        raise EngineError(f"no UDP probe passed to {settings.host} and back, although it answers TCP; let UDP pass")
    told(phrase("the stamps' own noise"))
    noise = larger_noise(stamp_noise(session.local, session.place.path), session.remote_noise())
    facts: dict[str, object] = {"path_mtu_bytes": mtu, "stamp_noise_ns": noise, "stamps": list(session.stamps)}
    know(facts)
    watch = settings.stamps.startswith("user")
    for direction in DIRECTIONS:
        told(phrase("trains, {direction}", direction=recorded(direction)))
        rough, bucket = _buckets(session, direction, min(mtu, ORDINARY_BYTES), settings.stamps, watch)
        if bucket:
            # Pairs would only show the rate before the bucket limits.
            session.run(
                [TrainPlan("pair", direction, min(mtu, ORDINARY_BYTES), 2)] * settings.pairs, _LEAST_GAP_S, watch
            )
            continue
        told(phrase("pairs, {direction}", direction=recorded(direction)))
        noise_ns = noise.get(settings.stamps, 0.0)
        best = pairs(session, settings, direction, mtu, rough, noise_ns, watch, told)
        told(phrase("packet sizes, {direction}", direction=recorded(direction)))
        bps = best.capacity.bps if best else rough
        count = best_length(best.capacity, mtu, noise_ns) if best else 2
        if best and best.kind[1] == 2:
            count = min(count, free_length(best, mtu, settings.sweep_pairs))
        session.run(_sweep(settings, direction, mtu, count), _gap(bps, mtu * count), watch)
    return {
        **facts,
        "dropped_by_sockets": session.dropped,
        "clock_steps": session.clock_steps(),
        "duration_s": round(time.monotonic() - started_s, 3),
    }


def larger_noise(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    """The larger noise of two ends in ns, by source of time; only sources of both."""
    return {source: max(one[source], other[source]) for source in one if source in other}


def _buckets(
    session: TrainSession, direction: Direction, ip_bytes: int, source: Source, watch: bool
) -> tuple[float, bool]:
    """Long trains: the rate of the slowest in bit/s, and whether there is a token bucket."""
    plan = TrainPlan("train", direction, ip_bytes, BUCKET_PACKETS)
    first = session.run([plan], 0.0, watch).trains(source)
    duration_s = _duration_s(first)
    rest_s = float(np.clip(_REST * duration_s, 0.05, 0.5))
    time.sleep(rest_s)
    more = session.run([plan] * (BUCKET_TRAINS - 1), rest_s, watch).trains(source)
    bucket = find_bucket([*first, *more])
    longest_s = max(_duration_s(first), _duration_s(more))
    if longest_s <= 0:
        raise EngineError(f"no train arrived complete {direction}; the path drops packets of a burst, or all packets")
    return 8 * ip_bytes * (BUCKET_PACKETS - 1) / longest_s, bucket is not None


def _duration_s(trains: Sequence[Train]) -> float:
    spans = [np.ptp(train.received_ns[train.received_ns > 0]) for train in trains if train.received > 1]
    return float(max(spans, default=0)) / 1e9


def pairs(
    session: Trains,
    settings: PacketPairSettings,
    direction: Direction,
    mtu: int,
    rough_bps: float,
    noise_ns: float,
    watch: bool,
    told: Told,
) -> TrainGroup | None:
    """Pairs; longer packets or trains where stamps or sender limit them. The kind whose capacity is known best.

    Under load trains get no longer than lets enough of them pass between other packets.
    """
    ip_bytes, count = min(mtu, ORDINARY_BYTES), 2
    best: TrainGroup | None = None
    pairs: TrainGroup | None = None
    tried: set[tuple[int, int]] = set()
    while (ip_bytes, count) not in tried:
        tried.add((ip_bytes, count))
        plan = TrainPlan("pair", direction, ip_bytes, count)
        found = _until_agreed(session, settings, plan, rough_bps, noise_ns, watch, told)
        if found is None:
            return best
        pairs = pairs or found
        if best is None or (found.capacity.limited_by_sender, found.uncertainty) < (
            best.capacity.limited_by_sender,
            best.uncertainty,
        ):
            best = found
        capacity = found.capacity
        needed = best_length(capacity, ip_bytes, noise_ns)
        coarse = capacity.error_bps > COARSE_SHARE * capacity.bps
        if (needed > count or capacity.limited_by_sender or coarse) and mtu > ip_bytes:
            ip_bytes, count = mtu, best_length(capacity, mtu, noise_ns)
        elif needed > count:
            count = needed
        if not capacity.limited_by_sender:
            count = min(count, free_length(pairs, ip_bytes, settings.most_pairs))
    return best


def _until_agreed(
    session: Trains,
    settings: PacketPairSettings,
    plan: TrainPlan,
    rough_bps: float,
    noise_ns: float,
    watch: bool,
    told: Told,
) -> TrainGroup | None:
    """Doubles the number of trains until two successive values agree, one train met no queue, and they are useful."""
    seen, wanted, before = TrainLog(), settings.pairs, None
    while True:
        part = session.run([plan] * (wanted - len(seen)), _gap(rough_bps, plan.ip_bytes * plan.count), watch)
        seen.extend(part)
        found = of_kind(seen.trains(settings.stamps), noise_ns)
        now = found.capacity if found else None
        if found:
            told(_said(plan, wanted, found))
        # Beyond what the stamps allow, more trains of a kind do not help.
        within = max(USEFUL, 3 * (found.clock_share or 0.0)) if found else USEFUL
        useful = found is not None and found.uncertainty <= within
        if (agree(before, now) and useful) or wanted >= settings.most_pairs:
            return found
        before, wanted = now, min(2 * wanted, settings.most_pairs)


def _said(plan: TrainPlan, trains: int, found: TrainGroup) -> str:
    what = phrase(
        "{trains} trains of {count} packets of {ip_bytes} byte, {direction}",
        trains=trains,
        count=plan.count,
        ip_bytes=plan.ip_bytes,
        direction=recorded(plan.direction),
    )
    queued = "" if found.capacity.passes_check else phrase(", all of them queued")
    return phrase(
        "{what}: {rate:.4g} Mb/s ± {percent:.2g} %{queued}",
        what=what,
        rate=found.capacity.bps / 1e6,
        percent=100 * found.uncertainty,
        queued=queued,
    )


def _sweep(settings: PacketPairSettings, direction: Direction, mtu: int, count: int) -> list[TrainPlan]:
    """Sizes up to the path's MTU, all of them again and again, so that what changes with time touches all alike."""
    sizes = sorted({size for size in (*SMALL_SIZES, *SWEEP_SIZES) if size <= mtu} | {mtu})
    if mtu > ORDINARY_BYTES:
        sizes = [size for size in SWEEP_SIZES if size <= mtu]
    return [TrainPlan("sweep", direction, size, count) for _ in range(settings.sweep_pairs) for size in sizes]


def _gap(bps: float, train_bytes: int) -> float:
    """From train to train in s: pairs take a fifth of the path, so that they hardly load it."""
    return float(np.clip(5 * 8 * train_bytes / bps, _LEAST_GAP_S, _MOST_GAP_S))
