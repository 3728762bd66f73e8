"""What one condition of one round says, from its raw rows: round trips, one-way times, rates. It does no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from keisoku.subjects.line.responsiveness.condition import DIRECTIONS, LOADED, WAYS, Condition, Way
from keisoku.subjects.path.stamp.exchanges import Exchanges, exchanges

Times = NDArray[np.float64]
TCP_BYTES, UDP_BYTES = 52, 28
"""Of headers in an IPv4 packet: with TCP's option of timestamps, and of UDP. The 20 more of IPv6 are 1.4 %."""
SHORT_BYTES = 72
"""IP bytes of a short STAMP packet of IPv4; one of IPv6 has 20 more, which no verdict depends on."""
TRANSACTION_BYTES, HOP_BYTES = 400, 340
"""IP bytes that pass in one direction at most: of a transaction on a connection of its own, and, on average, of a
packet that expires or of the answer to it."""
FULL_BYTES = 1500
"""Of a packet of the TCP flows that load the path."""


@dataclass(frozen=True)
class Datagrams:
    """Counts of both ends."""

    offered: int
    lost: int
    reordered: int
    dropped_by_hosts: int
    """Of those lost, at most so many had arrived at the far host."""


@dataclass
class Outcome:
    """One condition of one round; times are ns, rates are of IP packets that arrived."""

    number: int
    condition: Condition
    from_ns: int
    """When figures begin: after the ramp of the load. By CLOCK_REALTIME."""
    at_ns: Times
    """When each answered STAMP packet left, in the ramp too."""
    one_way_ns: dict[Way, Times]
    """Of each, by both clocks: the offset between them is in it."""
    sent: int = 0
    answered: int = 0
    long_more_ns: dict[Way, float] = field(default_factory=dict)
    """How much longer the fastest long packet took than the fastest short one."""
    long_more_bytes: int = 0
    """And how much longer it is."""
    connect_ns: Times = field(default_factory=lambda: np.empty(0))
    answer_ns: Times = field(default_factory=lambda: np.empty(0))
    """Of transactions on connections of their own; infinite for those that failed."""
    own_ns: dict[Way, Times] = field(default_factory=dict)
    """Round trips of the flows that load this direction, as their kernel smooths them."""
    rates_bps: dict[Way, float] = field(default_factory=dict)
    parts_bps: dict[Way, list[float]] = field(default_factory=dict)
    """The same rate in equal parts of its time."""
    edge_bps: dict[Way, float] = field(default_factory=dict)
    """By how much such a rate may be off, as a packet at either end of the time counts or does not."""
    beside_bps: dict[Way, float] = field(default_factory=dict)
    """What passed at most besides what that rate counts: probes, segments that were sent again, and datagrams that the
    far host itself lost."""
    retransmitted: dict[Way, int] = field(default_factory=dict)
    offered_bps: float | None = None
    """What UDP really offered, which on a busy host is less than was intended."""
    congestion: str | None = None
    datagrams: dict[Way, Datagrams] = field(default_factory=dict)
    """What became of UDP in this direction."""
    hops_ns: dict[int, Times] = field(default_factory=dict)
    """Round trips to each hop."""
    set_clocks: int = 0
    """How often a clock was set meanwhile."""

    @property
    def settled(self) -> NDArray[np.bool_]:
        """Which STAMP packets left after the ramp."""
        return np.asarray(self.at_ns >= self.from_ns)

    @property
    def round_trips_ns(self) -> Times:
        """Of the packets that left after the ramp, without the time in the reflector."""
        both = self.one_way_ns["up"] + self.one_way_ns["down"]
        return np.asarray(both[self.settled])


def outcome(
    row: Mapping[str, Any], delays: pa.Table, flows: Sequence[Mapping[str, Any]], foreign: pa.Table, hops: pa.Table
) -> Outcome:
    """From the rows of one condition: those of `phases`, `delays`, `flows`, `transactions` and `hops`."""
    short = delays.filter(pc.equal(delays["size_bytes"], 0))
    used = exchanges(short)
    from_ns = int(row["from_ns"])
    found = Outcome(
        number=int(row["number"]),
        condition=row["condition"],
        from_ns=from_ns,
        at_ns=used.t1_ns.astype(float),
        one_way_ns=_one_way(used),
        congestion=row["congestion"],
        set_clocks=used.jumps,
    )
    window = short.filter(pc.greater_equal(short["t1_ns"], from_ns))
    found.sent, found.answered = window.num_rows, int((window["answers"].to_numpy() > 0).sum())
    _compare_sizes(found, delays, used)
    failed = foreign["failure"].to_numpy() > 0
    setup, sent, ended = (
        foreign[name].to_numpy(zero_copy_only=False).astype(float) for name in ("setup_ns", "sent_ns", "ended_ns")
    )
    found.connect_ns = np.where(failed, np.inf, setup)
    found.answer_ns = np.where(failed, np.inf, ended - sent)
    _of_flows(found, row, flows)
    probes = SHORT_BYTES * short.num_rows + TRANSACTION_BYTES * foreign.num_rows + HOP_BYTES * hops.num_rows
    for way in found.beside_bps:
        found.beside_bps[way] += 8e9 * probes / max(row["to_ns"] - row["begun_ns"], 1)
    for ttl in sorted({one for one in hops["hop"].to_pylist()}):
        mine = hops.filter(pc.and_(pc.equal(hops["hop"], ttl), pc.greater_equal(hops["sent_ns"], from_ns)))
        times = mine["rtt_ns"].drop_null().to_numpy().astype(float)
        if len(times):
            found.hops_ns[int(ttl)] = times
    return found


def _one_way(used: Exchanges) -> dict[Way, Times]:
    return {"up": (used.t2_ns - used.t1_ns).astype(float), "down": (used.t4_ns - used.t3_ns).astype(float)}


def _compare_sizes(found: Outcome, delays: pa.Table, short: Exchanges) -> None:
    sizes = [size for size in pc.unique(delays["size_bytes"]).to_pylist() if size]
    if not sizes or not len(short.t1_ns):
        return
    long = _one_way(exchanges(delays.filter(pc.equal(delays["size_bytes"], sizes[0]))))
    if not len(long["up"]):
        return
    least = {way: float(found.one_way_ns[way].min()) for way in WAYS}
    found.long_more_ns = {way: float(long[way].min()) - least[way] for way in WAYS}
    found.long_more_bytes = int(sizes[0]) - SHORT_BYTES


def _of_flows(found: Outcome, row: Mapping[str, Any], flows: Sequence[Mapping[str, Any]]) -> None:
    whole_ns = row["to_ns"] - row["begun_ns"]
    ramp = (found.from_ns - row["begun_ns"]) / max(whole_ns, 1)
    for way in WAYS:
        mine = [one for one in flows if one["direction"] == DIRECTIONS[way]]
        if not mine:
            continue
        is_udp = found.condition not in LOADED
        found.rates_bps[way] = sum(_ip_bps(one, is_udp) for one in mine)
        parts = zip(*(_parts_bps(one, is_udp) for one in mine), strict=True)
        found.parts_bps[way] = [sum(part) for part in parts]
        settled_ns = max(mine[0]["settled_ns"], 1)
        found.edge_bps[way] = 2 * 8e9 * FULL_BYTES * len(mine) / settled_ns
        if is_udp:
            names = ("offered", "lost", "reordered", "socket_drops", "host_drops")
            offered, lost, late, *dropped = (sum(one[name] or 0 for one in mine) for name in names)
            found.offered_bps = sum(8e9 * one["sent_bytes"] / one["sent_ns"] for one in mine if one["sent_ns"])
            found.datagrams[way] = Datagrams(offered, lost, late, sum(dropped))
            found.beside_bps[way] = 8e9 * FULL_BYTES * min(sum(dropped), lost) / max(whole_ns, 1)
            continue
        trips = [one["round_trips_us"] or [] for one in mine]
        found.own_ns[way] = 1e3 * np.array([us for times in trips for us in times[round(ramp * len(times)) :]], float)
        found.retransmitted[way] = sum(one["retransmissions"] or 0 for one in mine)
        found.beside_bps[way] = 8e9 * FULL_BYTES * found.retransmitted[way] / max(whole_ns, 1)


def _ip_bps(flow: Mapping[str, Any], is_udp: bool) -> float:
    """Of one flow's IP packets that arrived."""
    if not flow["settled_ns"]:
        return 0.0
    payload = float(flow["message_bytes"] if is_udp else flow["segment_bytes"] or 1448)
    more = UDP_BYTES if is_udp else TCP_BYTES
    return float(flow["settled_bytes"]) * 8e9 / float(flow["settled_ns"]) * (payload + more) / payload


def _parts_bps(flow: Mapping[str, Any], is_udp: bool) -> list[float]:
    """The same in equal parts of its time."""
    whole, parts = flow["settled_bytes"], flow["settled_parts"]
    return [_ip_bps(flow, is_udp) * len(parts) * one / max(whole, 1) for one in parts]


def by_condition(outcomes: Iterable[Outcome]) -> dict[Condition, list[Outcome]]:
    """In the order of rounds."""
    found: dict[Condition, list[Outcome]] = {}
    for one in outcomes:
        found.setdefault(one.condition, []).append(one)
    return found
