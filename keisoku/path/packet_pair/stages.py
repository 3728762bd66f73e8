"""The packet-pair measurement, stage by stage: long trains, pairs of least delay sum, jumbo frames or bulks, sizes.

Decides from the trains so far which ones are sent next; the session sends and keeps them. The result is computed by
`analysis` from all trains.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from keisoku.errors import EngineError
from keisoku.path.packet_pair.bucket import find_bucket
from keisoku.path.packet_pair.minimum_sum import Capacity, agree, capacity
from keisoku.path.packet_pair.settings import SWEEP_SIZES, PacketPairSettings
from keisoku.path.stamp_noise import stamp_noise
from keisoku.path.time_source import Source
from keisoku.path.train.dispersion import dispersions
from keisoku.path.train.log import Train, TrainLog
from keisoku.path.train.probe import Direction, TrainPlan
from keisoku.path.train.session import TrainSession

DIRECTIONS: tuple[Direction, ...] = ("forward", "reverse")
MTU_SIZES = (576, 1280, 1400, 1420, 1440, 1460, 1480, 1492, 1500, 2000, 4000, 4352, 6000, 8000, *SWEEP_SIZES)
ORDINARY_BYTES = 1500
BUCKET_PACKETS = 50
BUCKET_TRAINS = 6
NOISE_SHARE = 0.005
"""Relative standard deviation of a rate that timestamps may cause; above it packets or trains get longer."""
COARSE_SHARE = 0.01
"""Trains that scatter by more than this are sent again with jumbo frames, if those pass: a disturbance matters
less with a longer dispersion."""
MOST_BULK = 17
SMALL_SIZES = (200, 400, 600, 800, 1250)
"""For the growth of the least delay with size, where the path takes no jumbo frames."""
_LEAST_GAP_S, _MOST_GAP_S = 0.002, 0.05
_REST = 3.0
"""Pause between trains, in multiples of their duration, so that a token bucket fills again."""

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
    told("the path's MTU")
    mtu = session.path_mtu(sorted(set(MTU_SIZES)))
    if mtu == 0:
        raise EngineError(f"no UDP probe passed to {settings.host} and back, although it answers TCP; let UDP pass")
    told("the stamps' own noise")
    noise = larger_noise(stamp_noise(session.local, session.place.path), session.remote_noise())
    facts: dict[str, object] = {"path_mtu_bytes": mtu, "stamp_noise_ns": noise, "stamps": list(session.stamps)}
    know(facts)
    watch = settings.stamps.startswith("user")
    for direction in DIRECTIONS:
        told(f"trains, {direction}")
        rough, bucket = _buckets(session, direction, min(mtu, ORDINARY_BYTES), settings.stamps, watch)
        if bucket:
            # Pairs would only show the rate before the bucket limits.
            session.run(
                [TrainPlan("pair", direction, min(mtu, ORDINARY_BYTES), 2)] * settings.pairs, _LEAST_GAP_S, watch
            )
            continue
        told(f"pairs, {direction}")
        best = _pairs(session, settings, direction, mtu, rough, noise.get(settings.stamps, 0.0), watch)
        told(f"packet sizes, {direction}")
        count = best_length(best, mtu, noise.get(settings.stamps, 0.0)) if best else 2
        session.run(_sweep(settings, direction, mtu, count), _gap(best.bps if best else rough, mtu * count), watch)
    return {
        **facts,
        "dropped_by_sockets": session.dropped,
        "clock_steps": session.clock_steps(),
        "duration_s": round(time.monotonic() - started_s, 3),
    }


def larger_noise(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    """Noise of two ends by source of time; only sources of both."""
    return {source: max(one[source], other[source]) for source in one if source in other}


def clock_share(bps: float, bits: float, noise_ns: float) -> float:
    """Relative standard deviation of a rate from its stamps: √2·σ_t·C/bits."""
    return float(np.sqrt(2) * noise_ns * 1e-9 * bps / bits)


def best_length(found: Capacity, ip_bytes: int, noise_ns: float) -> int:
    """Packets of a train that keeps the stamps' share of a rate small enough."""
    needed = np.sqrt(2) * noise_ns * 1e-9 * found.bps / (8 * ip_bytes * NOISE_SHARE)
    return int(np.clip(np.ceil(needed), 1, MOST_BULK - 1)) + 1


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


def _pairs(
    session: TrainSession,
    settings: PacketPairSettings,
    direction: Direction,
    mtu: int,
    rough_bps: float,
    noise_ns: float,
    watch: bool,
) -> Capacity | None:
    """Pairs; longer packets where stamps or sender limit them; then longer trains. The last value found."""
    ip_bytes, count, found = min(mtu, ORDINARY_BYTES), 2, None
    while True:
        found = _until_agreed(session, settings, TrainPlan("pair", direction, ip_bytes, count), rough_bps, watch)
        if found is None:
            return None
        needed = best_length(found, ip_bytes, noise_ns)
        coarse = found.error_bps > COARSE_SHARE * found.bps
        if (needed > count or found.limited_by_sender or coarse) and mtu > ip_bytes:
            ip_bytes, count = mtu, best_length(found, mtu, noise_ns)
        elif needed > count:
            count = needed
        else:
            return found


def _until_agreed(
    session: TrainSession, settings: PacketPairSettings, plan: TrainPlan, rough_bps: float, watch: bool
) -> Capacity | None:
    """Doubles the number of trains until two successive values agree and one train met no queue."""
    seen, wanted, before = TrainLog(), settings.pairs, None
    while True:
        part = session.run([plan] * (wanted - len(seen)), _gap(rough_bps, plan.ip_bytes * plan.count), watch)
        seen.extend(part)
        now = capacity(dispersions(seen.trains(settings.stamps)))
        if agree(before, now) or wanted >= settings.most_pairs:
            return now
        before, wanted = now, min(2 * wanted, settings.most_pairs)


def _sweep(settings: PacketPairSettings, direction: Direction, mtu: int, count: int) -> list[TrainPlan]:
    """Sizes up to the path's MTU, all of them again and again, so that what changes with time touches all alike."""
    sizes = sorted({size for size in (*SMALL_SIZES, *SWEEP_SIZES) if size <= mtu} | {mtu})
    if mtu > ORDINARY_BYTES:
        sizes = [size for size in SWEEP_SIZES if size <= mtu]
    return [TrainPlan("sweep", direction, size, count) for _ in range(settings.sweep_pairs) for size in sizes]


def _gap(bps: float, train_bytes: int) -> float:
    """From train to train in s: pairs take a fifth of the path, so that they hardly load it."""
    return float(np.clip(5 * 8 * train_bytes / bps, _LEAST_GAP_S, _MOST_GAP_S))
