"""What became of probes without an answer: lost by chance, lost in an outage, or refused by a limit on replies.

Each leaves a pattern of its own. A limit concerns one router and makes silences of one length (`icmp_limit`). An outage
is one run of losses, longer than chance makes them, to all hops behind it at the same time. What is left is random: its
ratio is stated with an interval. A loss concerns the round trip, so that of a hop includes all links before it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from keisoku.ground.statistics.share import clopper_pearson
from keisoku.ground.statistics.uncertainty import half_width
from keisoku.subjects.path.one_packet.judgement.refusal import fates_of, hidden_limit
from keisoku.subjects.path.one_packet.probe import HopProbe
from keisoku.subjects.path.one_packet.probing.icmp_limit import Fate, IcmpLimit

BY_CHANCE = 0.01
"""A run of losses that comes in a whole measurement with at most this probability is taken for an outage."""
LEAST_RUN = 4
OF_NEAREST = 2
LEAST_RATIO = 0.02
"""Losses are taken to be at least so frequent when a run of them is judged: few probes show no ratio."""
SOON = 0.015
"""Chance below which losses come so soon after an answer that a limit on replies may be their cause."""
BATCHES = 10
"""Parts of a measurement whose ratios show how much it varies with time."""


@dataclass(frozen=True)
class Outage:
    """A time in which nothing came back from a hop, nor from any behind it."""

    hop: int
    """The nearest hop that was silent."""
    begin_ns: int
    """The first probe that was lost."""
    end_ns: int
    """The first that was answered again, of a silent hop."""
    probes: int

    @property
    def seconds(self) -> float:
        """How long it was seen, at most."""
        return (self.end_ns - self.begin_ns) / 1e9


@dataclass(frozen=True)
class HopLoss:
    """The account of the single probes to a hop: sent = answered + lost + in outages + refused."""

    sent: int
    answered: int
    lost: int
    """By chance."""
    in_outages: int
    refused: int
    lower: float
    """Of the ratio lost by chance, 95 %; 0 where a limit on replies may have refused them."""
    upper: float
    fair: int
    """Probes that the ratio is of: not refused, not in outages, and not early for a limit."""
    limit: IcmpLimit

    @property
    def ratio(self) -> float:
        """Lost by chance, of those that could be."""
        return self.lost / self.fair if self.fair else 0.0


@dataclass(frozen=True)
class PathLoss:
    """Of a whole path."""

    hops: dict[int, HopLoss]
    outages: tuple[Outage, ...]


def path_loss(probes: Sequence[HopProbe]) -> PathLoss:
    """From all probes in the order of sending. Trains, hops that never answered and sizes that never got through are
    left out."""
    single = [probe for probe in probes if probe.train is None]
    passed = Counter((probe.hop, probe.size_bytes) for probe in single if probe.answered)
    single = [probe for probe in single if passed[probe.hop, probe.size_bytes]]
    hops = sorted({probe.hop for probe in single})
    fates: list[Fate] = ["answered"] * len(single)
    limits = {hop: _replayed(single, hop, fates) for hop in hops}
    outages: list[Outage] = []
    gone = [False] * len(single)
    for hop in hops:
        beyond = [place for place, probe in enumerate(single) if probe.hop >= hop and not gone[place]]
        outages += _outages(single, fates, beyond, hop, gone)
    accounts = {hop: _account(hop, single, fates, gone, limits[hop]) for hop in hops}
    most = 1.0
    for hop in reversed(hops):
        # What is lost on the way to a hop is lost on the way to those behind it: what they do not miss, it refused.
        most = min(most, accounts[hop].upper)
        accounts[hop] = replace(accounts[hop], lower=min(accounts[hop].lower, most))
    return PathLoss(accounts, tuple(sorted(outages, key=lambda outage: outage.begin_ns)))


def _replayed(probes: Sequence[HopProbe], hop: int, fates: list[Fate]) -> IcmpLimit:
    """The limit of a hop as it was learnt while probing, or else as all its probes show; writes their fates."""
    limit = IcmpLimit()
    places = [place for place, probe in enumerate(probes) if probe.hop == hop]
    mine = [probes[place] for place in places]
    found = []
    for probe in mine:
        before = limit.limited
        found.append(limit.observe(probe.sent_ns, probe.answered))
        if limit.limited and not before:
            found = [
                "refused" if fate == "lost" and earlier.sent_ns > limit.since_ns else fate
                for fate, earlier in zip(found, mine, strict=False)
            ]
    if not limit.limited and (hidden := hidden_limit(mine)) is not None:
        limit, found = hidden, fates_of(mine, hidden)
    for place, fate in zip(places, found, strict=True):
        fates[place] = fate
    return limit


def _outages(
    probes: Sequence[HopProbe], fates: Sequence[Fate], beyond: Sequence[int], hop: int, gone: list[bool]
) -> list[Outage]:
    """Runs of losses to a hop and those behind it that chance does not explain; marks them in `gone`."""
    told = [place for place in beyond if fates[place] in ("answered", "lost", "early")]
    lost = np.array([not probes[place].answered for place in told], dtype=np.bool_)
    if not lost.any():
        return []
    # After an answer the next loss is by chance or the first of an outage: outages hardly raise this ratio.
    after_answer = lost[1:][~lost[:-1]]
    ratio = max(LEAST_RATIO, (int(after_answer.sum()) + 1) / (after_answer.size + 2))
    least = max(LEAST_RUN, math.ceil(math.log(BY_CHANCE / lost.size) / math.log(min(ratio, 0.9))))
    found = []
    edges = np.flatnonzero(np.diff(np.concatenate(([0], lost.astype(np.int8), [0]))))
    for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        places = told[begin:end]
        # One probe of the nearest hop may have been lost by chance in an outage that begins behind it.
        if end - begin < least or sum(probes[place].hop == hop for place in places) < OF_NEAREST:
            continue
        for place in places:
            gone[place] = True
        ended = probes[told[end]].sent_ns if end < len(told) else probes[places[-1]].sent_ns
        found.append(Outage(hop, probes[places[0]].sent_ns, ended, len(places)))
    return found


def _account(
    hop: int, probes: Sequence[HopProbe], fates: Sequence[Fate], gone: Sequence[bool], limit: IcmpLimit
) -> HopLoss:
    places = [place for place, probe in enumerate(probes) if probe.hop == hop]
    fair = [place for place in places if fates[place] in ("answered", "lost") and not gone[place]]
    lost = np.array([fates[place] == "lost" for place in fair], dtype=np.bool_)
    lower, upper = ratio_interval(lost)
    refused = sum(fates[place] == "refused" for place in places)
    if refused > lost.sum() or _come_soon([probes[place] for place in places if not gone[place]]):
        # Any of them may have been refused: of a limit that was learnt inexactly or not at all, nothing tells more.
        lower = 0.0
    return HopLoss(
        sent=len(places),
        answered=sum(probes[place].answered for place in places),
        lost=int(lost.sum()),
        in_outages=sum(gone[place] for place in places),
        refused=sum(fates[place] == "refused" and not gone[place] for place in places),
        lower=lower,
        upper=upper,
        fair=len(fair),
        limit=limit,
    )


def _come_soon(probes: Sequence[HopProbe]) -> bool:
    """Whether lost probes followed the last answer of their hop sooner than others did, as refused ones do, and chance
    would have it in 1 of 67 cases only (rank sum of Wilcoxon, Mann and Whitney 1947)."""
    gaps: dict[bool, list[int]] = {True: [], False: []}
    before_ns = None
    for probe in probes:
        if before_ns is not None:
            gaps[probe.answered].append(probe.sent_ns - before_ns)
        if probe.answered:
            before_ns = probe.sent_ns
    if not gaps[False] or not gaps[True]:
        return False
    from scipy import stats  # takes a while to load, and not every command needs it

    return bool(stats.mannwhitneyu(gaps[False], gaps[True], alternative="less").pvalue < SOON)


def ratio_interval(lost: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> tuple[float, float]:
    """95 % interval of a loss ratio from the losses in the order of sending; (0, 1) of none.

    That of independent losses (Clopper and Pearson 1934), or of the ratios of batches by Student's factor where that is
    wider.
    """
    if lost.size == 0:
        return 0.0, 1.0
    ratio = float(lost.mean())
    lower, upper = clopper_pearson(int(lost.sum()), lost.size)
    own = 0.0
    if lost.size >= 10 * BATCHES:
        batches = [float(part.mean()) for part in np.array_split(lost, BATCHES)]
        own = half_width(batches)
    return max(0.0, min(lower, ratio - own)), min(1.0, max(upper, ratio + own))
