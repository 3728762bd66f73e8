"""The runs of a load: who runs with whom, at which concurrency, how often, in which order, with rests between.

It decides and waits; it computes nothing.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from keisoku.client_load import clients
from keisoku.client_load.client_load import ClientLoad
from keisoku.client_load.client_run import ClientRun
from keisoku.errors import PlanError


class Pattern(StrEnum):
    """Which clients load the servers at the same time."""

    ALONE = "alone"
    """Each client by itself, one after another: a pair of client and server."""
    TOGETHER = "together"
    """All clients, each its own server where there are enough."""


@dataclass(frozen=True)
class Trial:
    """One run to be: its place in the order, what it repeats, and its loads."""

    number: int
    pattern: Pattern
    concurrency: int
    """Connections of each client that was not given its own number."""
    repetition: int
    loads: tuple[ClientLoad, ...]


@dataclass(frozen=True)
class Campaign:
    """Every pattern at every concurrency, `repetitions` times, in random order, `rest_s` apart."""

    client: str
    loads: tuple[ClientLoad, ...]
    patterns: tuple[Pattern, ...]
    concurrencies: tuple[int, ...]
    fixed: frozenset[str] = frozenset()
    """Clients whose number of connections is their own."""
    repetitions: int = 3
    rest_s: float = 1.0
    seed: int = 1

    def __post_init__(self) -> None:
        clients.find_client(self.client)
        if self.repetitions < 1 or not self.patterns or not self.concurrencies:
            raise PlanError("repetitions", "there is nothing to run", "give one or more")
        for load in self.loads:
            load.check()

    def trials(self) -> list[Trial]:
        """All runs in their order: each repetition is complete, and shuffled by itself."""
        order = random.Random(self.seed)
        found: list[Trial] = []
        for repetition in range(self.repetitions):
            every = [
                (pattern, concurrency, loads)
                for pattern in self.patterns
                for concurrency in self.concurrencies
                for loads in self._groups(pattern, concurrency)
            ]
            order.shuffle(every)
            for pattern, concurrency, loads in every:
                seeded = tuple(replace(load, seed=self.seed + 1000 * repetition + at) for at, load in enumerate(loads))
                found.append(Trial(len(found), pattern, concurrency, repetition, seeded))
        return found

    def run(self, keep: Callable[[Trial, Sequence[ClientRun]], None], say: Callable[[str], None]) -> None:
        """Runs all; `keep` is told of each as soon as it has ended."""
        trials = self.trials()
        for trial in trials:
            if trial.number:
                time.sleep(self.rest_s)
            runs = clients.run(trial.loads, self.client)
            keep(trial, runs)
            names = ", ".join(f"{run.client} {run.completed / max(run.seconds, 1e-9):,.0f}/s" for run in runs)
            say(f"{trial.number + 1}/{len(trials)} {trial.pattern}, {trial.concurrency} connections: {names}")

    def _groups(self, pattern: Pattern, concurrency: int) -> list[tuple[ClientLoad, ...]]:
        loads = tuple(
            load if load.name in self.fixed else replace(load, connections=concurrency) for load in self.loads
        )
        return [loads] if pattern is Pattern.TOGETHER else [(load,) for load in loads]
