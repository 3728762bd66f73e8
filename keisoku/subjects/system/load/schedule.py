"""The runs of a load: which clients run together, at which concurrency, how often, in which order, with pauses.

It decides and waits; it computes nothing.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from keisoku.errors import PlanError
from keisoku.ground.host.activity import ActivityInterval, ActivityWatch
from keisoku.ground.statistics.seed import DEFAULT, mixed
from keisoku.subjects.system.load import clients
from keisoku.subjects.system.load.client_load import ClientLoad
from keisoku.subjects.system.load.client_run import ClientRun
from keisoku.subjects.system.load.ssh_hosts import SshHosts

ALONE, TOGETHER = "alone", "together"
"""Patterns: each client by itself, one after another; or all at once, each its own server where there are enough."""


def groups(pattern: str, names: Sequence[str]) -> list[tuple[str, ...]]:
    """The clients that load at the same time; 'client1+client2' are these two. Raises PlanError for an unknown name."""
    if pattern == ALONE:
        return [(name,) for name in names]
    if pattern == TOGETHER:
        return [tuple(names)]
    some = pattern.split("+")
    if len(set(some)) < len(some) or not set(some) <= set(names):
        remedy = f"choose {ALONE}, {TOGETHER}, or some of the clients as {'+'.join(names[:2])}"
        raise PlanError("pattern", f"there is no '{pattern}'", remedy)
    return [tuple(name for name in names if name in some)]


@dataclass(frozen=True)
class LoadTrial:
    """A planned run: its place in the order, what it repeats, and its loads."""

    number: int
    pattern: str
    concurrency: int
    """Connections of each client that was not given its own number."""
    repetition: int
    loads: tuple[ClientLoad, ...]
    file: str = ""
    """Which file is asked for; empty: all of a load's files, by weight."""


@dataclass(frozen=True)
class LoadSchedule:
    """Every pattern at every concurrency, for every file of `each_file` (if none: all by weight).

    Each is repeated `repetitions` times, in random order, `rest_s` apart.
    """

    client: str
    loads: tuple[ClientLoad, ...]
    patterns: tuple[str, ...]
    concurrencies: tuple[int, ...]
    fixed: frozenset[str] = frozenset()
    """Clients whose number of connections is their own."""
    repetitions: int = 3
    rest_s: float = 1.0
    seed: int = DEFAULT
    each_file: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        clients.find_client(self.client)
        if self.repetitions < 1 or not self.patterns or not self.concurrencies:
            raise PlanError("repetitions", "there is nothing to run", "give one or more")
        for load in self.loads:
            load.check()
        for pattern in self.patterns:
            groups(pattern, [load.name for load in self.loads])

    def trials(self) -> list[LoadTrial]:
        """All runs in their order: each repetition is complete, and shuffled by itself."""
        order = random.Random(self.seed)
        found: list[LoadTrial] = []
        for repetition in range(self.repetitions):
            every = [
                (pattern, concurrency, file, loads)
                for pattern in self.patterns
                for concurrency in self.concurrencies
                for file in self.each_file or ("",)
                for loads in self._groups(pattern, concurrency)
            ]
            order.shuffle(every)
            own = mixed(self.seed, repetition)
            for pattern, concurrency, file, group in every:
                loads = [replace(load, paths=((file, 1.0),)) if file else load for load in group]
                seeded = tuple(replace(load, seed=mixed(own, at)) for at, load in enumerate(loads))
                found.append(LoadTrial(len(found), pattern, concurrency, repetition, seeded, file))
        return found

    def run(
        self,
        keep: Callable[[LoadTrial, Sequence[ClientRun], Sequence[ActivityInterval]], None],
        say: Callable[[str], None],
        hosts: SshHosts | None = None,
        servers: Sequence[str] = (),
    ) -> None:
        """Runs all; `keep` is told of each as soon as it has ended, with what this host did meanwhile.

        `hosts` reaches clients that are on others; `servers` are namespaces of servers on this host.
        """
        trials = self.trials()
        for trial in trials:
            if trial.number:
                time.sleep(self.rest_s)
            with ActivityWatch([*(load.namespace for load in trial.loads), *servers]) as watch:
                runs = clients.run(trial.loads, self.client, hosts)
            keep(trial, runs, watch.intervals)
            names = ", ".join(f"{run.client} {self._rate(run)}" for run in runs)
            of = f", {trial.file}" if trial.file else ""
            what = "streams" if self.client in clients.BULK else "connections"
            say(f"{trial.number + 1}/{len(trials)} {trial.pattern}, {trial.concurrency} {what}{of}: {names}")

    def _rate(self, run: ClientRun) -> str:
        seconds = max(run.seconds, 1e-9)
        if self.client in clients.BULK:
            return f"{8e-6 * run.received_bytes / seconds:,.1f} Mb/s"
        return f"{run.completed / seconds:,.0f}/s"

    def _groups(self, pattern: str, concurrency: int) -> list[tuple[ClientLoad, ...]]:
        loads = {
            load.name: load if load.name in self.fixed else replace(load, connections=concurrency)
            for load in self.loads
        }
        return [tuple(loads[name] for name in group) for group in groups(pattern, list(loads))]
