"""Rounds of a responsiveness measurement over queues of known kinds in virtual time, as `Outcome`s."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keisoku.subjects.line.responsiveness.condition import (
    HALVES,
    INTERVAL_S,
    LONG_BYTES,
    OVERLOAD,
    OVERLOADS,
    WAYS,
    Condition,
    Way,
    conditions,
)
from keisoku.subjects.line.responsiveness.outcome import Outcome
from keisoku.subjects.line.responsiveness.settings import ResponsivenessSettings
from support.virtual_queue import BYTES, PARTS, PROBE_BYTES, Discipline, Queue, Seen, VirtualPath, arrived_bps

SECOND = 1e9
STREAMS = 4


@dataclass(frozen=True)
class Line:
    """A path whose two directions have a queue each, both in front of the same hop of `hops`."""

    queues: dict[Way, Queue]
    round_trip_s: float
    hop: int = 2
    hops: int = 4


def random_line(chance: random.Random, discipline: Discipline, shaper: bool) -> Line:
    """Of this kind in both directions; all else by chance."""

    def queue() -> Queue:
        rate = 10 ** chance.uniform(6.3, 7.3)
        limit = max(rate / 8 * chance.uniform(0.03, 0.4), 15_000)
        if discipline in ("codel", "fq-codel"):
            # Their limit is far away, as that of 1000 and 10 240 packets is.
            limit = max(limit, rate / 8 * 0.2)
        return Queue(rate, limit, discipline, 10 ** chance.uniform(3.3, 4.5) if shaper else 0.0)

    hops = chance.randint(1, 6)
    return Line({"up": queue(), "down": queue()}, chance.uniform(0.005, 0.06), chance.randint(1, hops), hops)


def measured(line: Line, settings: ResponsivenessSettings, seed: int) -> list[Outcome]:
    """All conditions of all rounds; clocks of both ends differ, and drift apart."""
    return measured_as(line, settings, [*conditions(settings) * settings.repetitions, "idle"], seed)


def measured_as(
    line: Line, settings: ResponsivenessSettings, plan: Sequence[Condition], seed: int, drift: float | None = None
) -> list[Outcome]:
    """The conditions of `plan`; `drift` is by how much the far clock runs fast, by chance if not given."""
    chance = random.Random(seed)
    found: list[Outcome] = []
    rates: dict[Way, float] = {}
    offset_ns = chance.uniform(-1e9, 1e9)
    drift = chance.uniform(-2e-5, 2e-5) if drift is None else drift
    begun_s = 0.0
    for number, condition in enumerate(plan):
        ramp_s = 0.0 if condition == "idle" else settings.ramp_s
        whole_s = ramp_s + settings.duration_s
        seen = {way: _direction(line, way, condition, rates, settings, whole_s, chance.getrandbits(32)) for way in WAYS}
        one = _outcome(number, condition, line, seen, settings, begun_s, chance)
        ahead_ns = offset_ns + drift * one.at_ns
        one.one_way_ns = {"up": one.one_way_ns["up"] + ahead_ns, "down": one.one_way_ns["down"] - ahead_ns}
        if condition in WAYS:
            rates[condition] = one.rates_bps[condition]
        if condition in OVERLOADS.values():
            one.offered_bps = OVERLOAD * rates["up" if condition == "up-overload" else "down"]
        found.append(one)
        begun_s += whole_s + 0.5
    return found


def _direction(
    line: Line,
    way: Way,
    condition: Condition,
    rates: dict[Way, float],
    settings: ResponsivenessSettings,
    whole_s: float,
    seed: int,
) -> Seen:
    streams = STREAMS if condition in (way, "both") else 0
    udp = {OVERLOADS[way]: OVERLOAD, HALVES[way]: 0.5}.get(condition, 0.0) * rates.get(way, 0.0)
    return VirtualPath(line.queues[way], line.round_trip_s, seed, streams, udp).run(
        whole_s, whole_s - settings.duration_s
    )


def _outcome(
    number: int,
    condition: Condition,
    line: Line,
    seen: dict[Way, Seen],
    settings: ResponsivenessSettings,
    begun_s: float,
    chance: random.Random,
) -> Outcome:
    waits = {way: {round(at / INTERVAL_S): wait for at, wait in one.probes} for way, one in seen.items()}
    # A probe that came through both ways; that it meets the queue of the way back a little later is left out.
    both = sorted(waits["up"].keys() & waits["down"].keys())
    ramp_s = 0.0 if condition == "idle" else settings.ramp_s
    half_ns = line.round_trip_s / 2 * SECOND

    def noise(count: int) -> np.ndarray:
        return np.array([chance.expovariate(1 / 3e4) for _ in range(count)])

    one = Outcome(
        number=number,
        condition=condition,
        from_ns=round((begun_s + ramp_s) * SECOND),
        at_ns=np.array([(begun_s + place * INTERVAL_S) * SECOND for place in both]),
        one_way_ns={
            way: half_ns + SECOND * np.array([waits[way][at] for at in both]) + noise(len(both)) for way in WAYS
        },
        sent=round(settings.duration_s / INTERVAL_S),
        congestion="cubic",
    )
    one.answered = int(one.settled.sum())
    if condition == "idle":
        one.long_more_bytes = LONG_BYTES - PROBE_BYTES
        one.long_more_ns = {
            way: 0.0 if queue.bucket_bytes else 8 * SECOND * one.long_more_bytes / queue.rate_bps
            for way, queue in line.queues.items()
        }
    for way in WAYS:
        if condition in (way, "both"):
            trips = [trip for at, trip in seen[way].round_trips if at >= ramp_s]
            one.own_ns[way] = SECOND * np.array(trips)
            one.retransmitted[way] = seen[way].retransmitted
        if condition in (way, "both", OVERLOADS[way]):
            one.rates_bps[way] = arrived_bps(seen[way], settings.duration_s)
            one.parts_bps[way] = [8 * part * PARTS / settings.duration_s for part in seen[way].arrived_parts]
            one.edge_bps[way] = 2 * 8 * BYTES / settings.duration_s
            one.beside_bps[way] = 8 * PROBE_BYTES / INTERVAL_S
    settled = one.settled
    extra = sum(SECOND * np.array([waits[way][at] for at in both])[settled] for way in WAYS)
    for ttl in range(1, line.hops + 1):
        base = line.round_trip_s * SECOND * ttl / line.hops
        one.hops_ns[ttl] = base + (extra if ttl >= line.hop else 0.0) + noise(int(settled.sum()))
    one.connect_ns = one.answer_ns = one.round_trips_ns
    return one
