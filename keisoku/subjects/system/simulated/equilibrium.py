"""The equilibrium of a closed network: how fast connections go round between clients, a server and links.

Approximate mean value analysis (Bard 1979, Schweitzer 1979). It follows nothing in time, and knows no accept queue.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keisoku.subjects.system.simulated.model import SystemModel

Floats = NDArray[np.float64]
_ROUNDS, _ENOUGH = 200, 1e-4
_LEFT = 0.05
"""Least share of the server's processor that dropped SYNs leave to requests."""


@dataclass(frozen=True)
class Flow:
    """An equilibrium: per client, requests/s, connections at each place, and times there."""

    rates: Floats
    at_server: Floats
    at_uplink: Floats
    """The server's own link, which all share."""
    at_link: Floats
    """The port towards the client."""
    at_client: Floats
    answering_s: Floats
    """Until the answer has left the server."""
    link_s: Floats
    server_busy: float
    crowding: float


def solve(
    model: SystemModel,
    limits: Mapping[str, float | None],
    present: Floats,
    before: tuple[Floats, Floats, Floats],
    speed: float,
    dropped_per_s: float,
) -> Flow:
    """The rates at which `present` connections of each client go round, starting from how many were where before.

    `before` is at server, at its link, at ports. Stations: the client's processor, the server and its link (shared by
    all), the port towards the client; a pause and the round
    trip delay all alike. `speed` is the natural logarithm of the server's speed.
    """
    server = model.server
    clients = model.clients
    own_s = np.asarray([client.work_s for client in clients])
    pause_s = np.asarray([client.pause_s + client.round_trip_s * client.round_trips for client in clients])
    link_s = np.asarray([c.answer_bits / c.capacity_bps(limits.get(c.name)) for c in clients])
    up_s = np.asarray([client.answer_bits / server.line_bps for client in clients])
    alone_s = np.asarray([server.request_s + server.byte_s * c.file_bytes for c in clients])
    # A request that is being served when another comes lasts longer, the more its cost varies (Pollaczek, Khinchine).
    # Fixed sizes have an exponential cost; what sizes add to that is half their squared variation.
    varies = np.asarray([server.byte_s**2 * c.size_variance for c in clients]) / (2 * alone_s**2)
    shrink = np.divide(present - 1, present, out=np.zeros_like(present), where=present > 1)
    # Rows are the places in that order; the first two are shared. All at once, because this is what takes the time.
    here = np.vstack([*before, np.maximum(0.0, present - sum(before))])
    demands = np.vstack([alone_s, up_s, link_s, own_s])
    left = max(_LEFT, 1 - server.syn_s * dropped_per_s)
    for _ in range(_ROUNDS):
        crowding = server.crowding(float(here[0].sum()))
        demands[0] = alone_s * (crowding * math.exp(-speed) / left)
        # An arriving connection finds the others but not itself (Bard and Schweitzer).
        own = demands * here
        found = own.copy()
        found[:2] = own[:2].sum(axis=1, keepdims=True)
        times = demands + found - own * (1 - shrink)
        if varies.any():
            # Utilisation by each client times what is left of its request, more than of an exponential one.
            busy = here[0] / np.maximum(times[0], 1e-12) * demands[0]
            times[0] += float(np.sum(np.minimum(busy, 1.0) * demands[0] * varies))
        rates = present / (pause_s + times.sum(axis=0))
        moved = rates * times - here
        here += 0.5 * moved
        if float(np.abs(moved[:3]).sum()) < _ENOUGH * max(1.0, float(present.sum())):
            break
    busy = float(rates @ demands[0])
    return Flow(rates, here[0], here[1], here[2], here[3], times[0] + times[1], times[2], busy, crowding)
