"""Replies that a router's limit refused, told from losses once all probes are known.

While probing, a limit is learnt from silences (`icmp_limit`). One whose interval is about as long as the time between
two probes makes no silences: single probes are lost, as by chance. But a limit never answers more often than it allows.
So limits of all intervals and bursts are tried as token buckets: those whose bucket was empty whenever a probe was
lost, and hardly ever when one was answered, explain the losses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from keisoku.subjects.path.one_packet.probe import HopProbe
from keisoku.subjects.path.one_packet.probing.icmp_limit import CHANCE, SURE, Fate, IcmpLimit

NS_PER_S = 1_000_000_000
INTERVALS_S = np.geomspace(0.03, 8.0, 280)
BURSTS = np.array([1, 2, 3, 4, 5, 6, 8, 10, 15, 20])
LEAST_SILENCES = 4
OF_SILENCE = 3
"""Losses of one silence that count at most: an outage has many, and is no limit."""
EMPTY = 0.95
"""Tokens below which a bucket is surely empty, whatever the way of a probe to its router varies by."""
UNLIKELY = 0.02
"""Chance of an answer from an empty bucket."""
WITHIN = 4.0
"""Intervals less likely than the best by a factor of e to this are ruled out."""
MOST = 4000
"""Probes that are looked at."""


def hidden_limit(probes: Sequence[HopProbe]) -> IcmpLimit | None:
    """The limit that explains the losses among the probes to one hop, in the order of sending; None if none does."""
    seen = probes[:MOST]
    if sum(not probe.answered for probe in seen) < LEAST_SILENCES:
        return None
    interval_ns, burst = (INTERVALS_S * NS_PER_S)[:, None], BURSTS[None, :]
    shape = (INTERVALS_S.size, BURSTS.size)
    # At most so many: what was used before the first probe is not known.
    tokens = np.broadcast_to(burst.astype(np.float64), shape)
    refused, silences, beyond, of_this = (np.zeros(shape) for _ in range(4))
    before_ns = seen[0].sent_ns
    for probe in seen:
        tokens = np.minimum(burst, tokens + (probe.sent_ns - before_ns) / interval_ns)
        before_ns = probe.sent_ns
        empty = tokens < EMPTY
        if probe.answered:
            beyond += empty
            tokens = np.maximum(tokens - 1, 0)
            of_this = np.zeros(shape)
        else:
            silences += empty & (of_this == 0)
            refused += empty & (of_this < OF_SILENCE)
            of_this += empty
    evidence = -math.log(CHANCE) * refused + math.log(UNLIKELY) * beyond
    evidence[silences < LEAST_SILENCES] = -math.inf
    best = float(evidence.max())
    if best <= SURE + math.log(evidence.size):
        return None
    column = int(evidence.argmax()) % BURSTS.size
    alike = np.flatnonzero(evidence[:, column] > best - WITHIN)
    half_step = float(np.sqrt(INTERVALS_S[1] / INTERVALS_S[0]))
    return IcmpLimit(
        burst=int(BURSTS[column]),
        since_ns=seen[0].sent_ns,
        shortest_ns=float(INTERVALS_S[alike.min()]) * NS_PER_S / half_step,
        longest_ns=float(INTERVALS_S[alike.max()]) * NS_PER_S * half_step,
    )


def fates_of(probes: Sequence[HopProbe], limit: IcmpLimit) -> list[Fate]:
    """What became of the probes to a hop that limits its replies: one was lost by chance if a token was surely there.

    That is so if the last one was used an interval ago, whatever the burst is. The search for the hops used some before
    the first probe.
    """
    found: list[Fate] = []
    used_ns = probes[0].sent_ns if probes else 0
    for probe in probes:
        fair = probe.sent_ns - used_ns >= limit.longest_ns
        if probe.answered:
            found.append("answered" if fair else "early")
        else:
            found.append("lost" if fair else "refused")
        if fair or probe.answered:
            used_ns = probe.sent_ns  # the answer of one that was lost may have been lost on the way back
    return found
