"""Runs of the sides of a comparison, in turn: each is complete, and has the command of its side carried out before.

Where the sides ask for the same ports and frames, their runs share one open engine.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from keisoku.errors import EngineError
from keisoku.ground.entry import Measurement, Work
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.figure_table import figures
from keisoku.ground.run.result import Result
from keisoku.ground.run.settings import RunSettings
from keisoku.running.measurement.part_run import again, carried_out, results_of
from keisoku.running.measurement.repetition import repeated

RUNS = "runs.jsonl"
"""A line for each finished run of a side."""
LATEST = 30
"""Runs of a side that the next one knows of: what was long ago says little of the host."""
_SIDES = ("a", "b")


class SideRuns:
    """Carries out the runs of all sides of a whole. What they have in common is opened when the first one begins."""

    def __init__(self, work: Work[Any], entry: Measurement[Any], sides: Sequence[RunSettings], seed: int) -> None:
        self._work, self._entry, self._sides, self._seed = work, entry, sides, seed
        self._stack = ExitStack()
        self._tried, self._bench = any(side.repeat for side in sides), None

    def run(self, of: RunSettings, pair: int, place: str, share: float, said: str) -> list[Result]:
        """The results of one run, in the directory `place` of the whole. Raises as measuring does.

        `share` is how much of the whole is done.
        """
        drawn = again(self._entry, of, pair, self._seed, repeat=of.repeat)
        part = partial(carried_out, self._work, repeated(self._entry, of.repeat), drawn, place, (share, share), said)
        bench = self._opened()
        try:
            return part(bench)[1]
        except EngineError:
            if bench is None:
                raise
            self._give_up()  # the command before a run may have made the ports anew
            return part()[1]

    def close(self) -> None:
        """Closes what is open."""
        self._stack.close()

    def _opened(self) -> Any:
        """None where each run opens what it needs."""
        if not self._tried:
            self._tried = True
            made = self._entry.bench(self._sides, self._work.observer)
            self._bench = None if made is None else self._stack.enter_context(made)
        return self._bench

    def _give_up(self) -> None:
        """From now on each run opens what it needs."""
        self._bench = None
        self._stack.close()


def prepare(option: str, command: str, folder: Path | None = None, **environment: str) -> None:
    """Carries out the command before a run, in `folder` (default: the working directory). Raises EngineError, naming
    the option, if it fails."""
    ended = subprocess.run(
        ["/bin/sh", "-c", command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        cwd=folder,
        env={**os.environ, **environment},
    )
    if ended.returncode:
        why = (ended.stderr or ended.stdout).strip().splitlines()[-1:] or ["it printed nothing"]
        raise EngineError(f"{option}: '{command}' ended with exit code {ended.returncode}: {why[0]}")


def order(seed: int, pair: int) -> tuple[str, ...]:
    """Which side is first: in two pairs that follow each other, each of them once."""
    first = Random(f"{seed} order {(pair - 1) // 2}").random() < 0.5
    return _SIDES if first == bool(pair % 2) else _SIDES[::-1]


def finished(directory: RunDirectory) -> list[dict[str, Any]]:
    """The lines of all finished runs, in the order of time."""
    return [json.loads(line) for line in directory.lines(RUNS)]


def table_of_pairs(
    entry: Measurement[Any], directory: RunDirectory, column: str, named: Callable[[Mapping[str, Any]], str]
) -> Any:
    """An Arrow table of the figures of every run, with its pair, and what `named` says of its line in `column`."""
    import pyarrow as pa

    parts = []
    for line in finished(directory):
        found = figures(results(entry, directory, line))
        with_pair = found.add_column(0, "pair", [[line["pair"]] * found.num_rows])
        parts.append(with_pair.add_column(1, column, [[named(line)] * found.num_rows]))
    return pa.concat_tables(parts)


def results(entry: Measurement[Any], directory: RunDirectory, line: Mapping[str, Any]) -> list[Result]:
    """The results of a finished run, by its line."""
    part = RunDirectory.open(directory.path / line["run"])
    return results_of(repeated(entry, part.plan.get("repeat")), part)


def used(done: Sequence[Mapping[str, Any]], sides: int, most: int | None, within_s: float | None) -> list[float]:
    """The share of the budget (`most` pairs, or a time) that was used up after each complete pair, never more than 1.

    The time is used up when less of it is left than half a pair takes.
    """
    found: list[float] = []
    elapsed_s = 0.0
    for place, line in enumerate(done, 1):
        elapsed_s += line["seconds"]
        if place % sides == 0:
            pairs = place // sides
            left = within_s is not None and within_s - elapsed_s < elapsed_s / pairs / 2
            of_time = 0.0 if within_s is None else 1.0 if left else elapsed_s / within_s
            found.append(min(1.0, max(of_time, 0.0 if most is None else pairs / most)))
    return found
