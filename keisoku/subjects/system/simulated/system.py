"""Servers, clients and links in virtual time: the effect of a limit on a whole system, with its true state.

Closed-loop clients ask one server for files over a switch; one port leads to each client, and a limit may be set there.
In each step the equilibrium of that closed network is solved (approximate mean value analysis, Bard and Schweitzer
1979), so a virtual minute costs a fraction of a second whatever the rates; what is slower than a step is followed in
time: connections whose SYN found the accept queue full wait for its retransmission (RFC 6298: 1 s, then twice as long
each time). Seeded. It shows only `Observation` of itself, and `Truth` for scoring.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from keisoku.ground.statistics.seed import DEFAULT
from keisoku.subjects.system.observation import ClientView, Observation
from keisoku.subjects.system.simulated.equilibrium import Floats, Flow, solve
from keisoku.subjects.system.simulated.model import SystemModel
from keisoku.subjects.system.simulated.truth import ClientTruth, Truth

STEP_S = 0.1
"""Shorter than the first retransmission of a SYN, longer than the time in which queues settle."""
SYN_AGAIN_S = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Waits before a SYN is repeated, by how often it was sent before."""


class SimulatedSystem:
    """A system that runs interval by interval; loads and limits may change between them."""

    def __init__(self, model: SystemModel, seed: int = DEFAULT) -> None:
        self.model = model
        self.random = np.random.default_rng(seed)
        self.limits: dict[str, float | None] = {}
        self.truth: Truth | None = None
        """True state of the last interval; code that infers must not read it."""
        self._speed = 0.0
        self._start()

    def _start(self) -> None:
        clients = len(self.model.clients)
        steps = round(SYN_AGAIN_S[-1] / STEP_S) + 1
        # Waiting connections by when they return (a ring of steps), client, and how often their SYN was sent.
        self._waiting = np.zeros((steps, clients, len(SYN_AGAIN_S)))
        self._now = 0
        self._dropped = 0.0
        self._at_server = np.zeros(clients)
        self._at_uplink = np.zeros(clients)
        self._at_link = np.zeros(clients)
        self._fresh = np.asarray([float(client.connections) for client in self.model.clients])

    def change(self, model: SystemModel) -> None:
        """Another load from now on; connections that wait are given up."""
        self.model = model
        self._start()

    def limit(self, limits: Mapping[str, float | None]) -> None:
        """Limits of ports towards clients in bit/s from now on; clients that are not named have none."""
        self.limits = dict(limits)

    def run(self, seconds: float) -> Observation:
        """The next interval. `truth` then says what really went on in it."""
        steps = max(1, round(seconds / STEP_S))
        tally = _Tally(len(self.model.clients))
        for _ in range(steps):
            self._step(tally)
        self.truth = self._truth(tally, steps)
        views = tuple(self._view(i, tally, steps) for i in range(len(self.model.clients)))
        return Observation(steps * STEP_S, views, self.model.server.line_bps)

    def _truth(self, tally: _Tally, steps: int) -> Truth:
        clients = {}
        for i, client in enumerate(self.model.clients):
            rate = float(tally.completed[i]) / (steps * STEP_S)
            server, link = float(tally.at_server[i]) / steps, float(tally.at_link[i]) / steps
            uplink = float(tally.at_uplink[i]) / steps
            clients[client.name] = ClientTruth(
                at_server=server,
                at_uplink=uplink,
                at_link=link,
                at_client=client.connections - server - uplink - link,
                per_s=rate,
                link_busy=rate * client.answer_bits / client.capacity_bps(self.limits.get(client.name)),
                client_busy=rate * client.work_s,
            )
        dropped = float(tally.lost.sum()) / max(1.0, float((tally.opened + tally.reopened).sum()))
        return Truth(tally.server_busy / steps, tally.crowding / steps, dropped, clients)

    def _step(self, tally: _Tally) -> None:
        model = self.model
        server = model.server
        # The host's own unsteadiness: slow against a step, so that longer intervals do not average all of it out.
        self._speed = 0.9 * self._speed + math.sqrt(1 - 0.81) * server.unsteady * float(self.random.standard_normal())
        returned = self._waiting[self._now].copy()
        self._waiting[self._now] = 0
        present = np.asarray([c.connections for c in model.clients]) - self._waiting.sum(axis=(0, 2))
        before = (self._at_server, self._at_uplink, self._at_link)
        flow = solve(model, self.limits, present, before, self._speed, self._dropped / STEP_S)
        excess = max(0.0, float(flow.at_server.sum()) - server.places)
        new = flow.rates * STEP_S + self._fresh
        self._fresh = np.zeros(len(new))
        tries = np.column_stack([new, returned])[:, : len(SYN_AGAIN_S)]
        chance = min(1.0, excess / max(1e-9, float(tries.sum())))
        lost = tries * chance
        # No more connections are dropped than there are.
        lost *= np.minimum(1.0, flow.at_server / np.maximum(lost.sum(axis=1), 1e-12))[:, None]
        for sent, wait in enumerate(SYN_AGAIN_S):
            self._waiting[(self._now + round(wait / STEP_S)) % len(self._waiting), :, sent] += lost[:, sent]
        self._now = (self._now + 1) % len(self._waiting)
        flow = replace(flow, at_server=flow.at_server - lost.sum(axis=1))
        self._at_server, self._at_uplink, self._at_link = flow.at_server, flow.at_uplink, flow.at_link
        self._dropped = float(lost.sum())
        tally.add(flow, new, returned.sum(axis=1), lost.sum(axis=1), self._waiting.sum(axis=(0, 2)))

    def _view(self, i: int, tally: _Tally, steps: int) -> ClientView:
        """What the switch counts of a client: whole connections, as many as chance makes of the mean."""
        client, random = self.model.clients[i], self.random
        completed = int(random.poisson(tally.completed[i]))
        again = tally.lost[i] / max(1.0, tally.opened[i] + tally.reopened[i])
        answering_s, link_s = float(tally.answering_s[i]) / steps, float(tally.link_s[i]) / steps
        return ClientView(
            name=client.name,
            line_bps=client.line_bps,
            limit_bps=self.limits.get(client.name),
            sent_bytes=round(completed * client.answer_bits / 8),
            queued_bytes=float(tally.at_link[i]) / steps * client.answer_bits / 8,
            opened=int(random.poisson(tally.opened[i])),
            reopened=int(random.poisson(tally.reopened[i])),
            completed=completed,
            open_connections=float(tally.at_server[i] + tally.at_uplink[i] + tally.at_link[i]) / steps,
            answering_s=completed * answering_s * (1 + 0.01 * float(random.standard_normal())),
            p99_s=_p99(answering_s + link_s, float(again)) if completed >= 100 else None,
        )


def _p99(mean_s: float, repeated: float) -> float:
    """Of connections whose SYN is repeated with that chance; the rest taken as exponential, as in a queue."""
    wait, chance = 0.0, repeated
    for again in SYN_AGAIN_S:
        if chance < 0.01:
            break
        wait, chance = wait + again, chance * repeated
    return wait + mean_s * math.log(100)


class _Tally:
    """Sums over the steps of an interval, by client."""

    def __init__(self, clients: int) -> None:
        self.completed, self.opened, self.reopened, self.lost = np.zeros((4, clients))
        self.at_server, self.at_uplink, self.at_link = np.zeros((3, clients))
        self.answering_s, self.link_s = np.zeros((2, clients))
        self.server_busy = self.crowding = 0.0

    def add(self, flow: Flow, new: Floats, returned: Floats, lost: Floats, waiting: Floats) -> None:
        self.completed += flow.rates * STEP_S
        self.opened += new
        self.reopened += returned
        self.lost += lost
        # A client that waits to repeat its SYN waits for the server.
        self.at_server += flow.at_server + waiting
        self.at_uplink += flow.at_uplink
        self.at_link += flow.at_link
        self.answering_s += flow.answering_s
        self.link_s += flow.link_s
        self.server_busy += flow.server_busy
        self.crowding += flow.crowding
