"""A complete run that is a part of another one: a repetition, one side of a pair, a run of a campaign. It has a
directory in the other's.

It is begun with the other, continued with it, and can be analysed and loaded by itself. The other begins when its first
part does, so that what cannot be measured leaves no directory.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from keisoku.errors import EngineError, Occupied, PlanError
from keisoku.ground.entry import Measurement, Work
from keisoku.ground.observer import Observer, PartObserver
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.result import Result
from keisoku.ground.run.settings import RunSettings, parsed
from keisoku.ground.statistics.seed import mixed


class _PartWork(Work[RunSettings]):
    """The work of a part, which begins the whole first."""

    def __init__(
        self,
        whole: Work[Any],
        measurement: Measurement[Any],
        settings: RunSettings,
        path: Path,
        resumed: RunDirectory | None,
        observer: Observer,
        bench: Any,
    ) -> None:
        super().__init__(measurement, settings, path, resumed, observer)
        self._whole, self.bench = whole, bench

    def begin_elsewhere(self) -> Path:
        if self._whole.directory is None:
            self._whole.begin({})
        return super().begin_elsewhere()

    def begin(self, context: Mapping[str, Any], settings: RunSettings | None = None) -> RunDirectory:
        if self._whole.directory is None:
            alike = self._whole.measurement.name == self.measurement.name
            self._whole.begin(context if alike else {})  # parts that are not alike have contexts of their own
        return super().begin(context, settings)


class _OneOfMany(PartObserver):
    """Observes a part. What the first part says of the host and of its plan, all others would say again."""

    def __init__(self, whole: Work[Any], share: tuple[float, float], said: str) -> None:
        super().__init__(whole.observer, *share, 1.0, said)
        self._first, self._part = whole.directory is None, said

    def tell(self, line: str) -> None:
        if self._first:
            super().tell(line)

    def warn(self, line: str) -> None:
        super().warn(f"{self._part}: {line}")

    def begun(self, directory: RunDirectory) -> None:
        """The whole has begun by itself."""


def again(measurement: Measurement[Any], settings: RunSettings, number: int, seed: int, **changes: Any) -> RunSettings:
    """The settings of the n-th part: the order of what it measures is drawn, and it has a seed of its own.

    Two parts with the same number have the same order and seed. The whole alone has criteria.
    """
    update = {"repeat": None, "require": (), **changes}
    if settings.within_s is not None and settings.repeat:
        update["within_s"] = settings.within_s / settings.repeat
    if "seed" in type(settings).model_fields:
        update["seed"] = mixed(getattr(settings, "seed"), number)  # noqa: B009
    drawn: RunSettings = measurement.again(settings.model_copy(update=update), number, Random(f"{seed} {number}"))
    return drawn


def carried_out(
    whole: Work[Any],
    measurement: Measurement[Any],
    settings: RunSettings,
    name: str,
    share: tuple[float, float],
    said: str,
    bench: Any = None,
) -> tuple[RunDirectory, list[Result]]:
    """Measures the part in the directory `name` of the whole, or continues it there, and analyses it.

    `bench` is what stays open from part to part. `share` is how much of the whole is done before and after it. Raises
    as measuring does.
    """
    path = whole.path / name
    begun = _begun(path) if whole.directory is not None else None
    if begun is not None and measurement.resumes:
        settings = parsed(measurement.settings, begun.plan)
    elif whole.directory is not None and path.exists():
        shutil.rmtree(path)  # it was interrupted, and is no result
        begun = None
    return completed(_PartWork(whole, measurement, settings, path, begun, _OneOfMany(whole, share, said), bench))


def completed(work: Work[Any]) -> tuple[RunDirectory, list[Result]]:
    """Measures what was asked for, and analyses it; without results if it measured too little for any.

    Raises as measuring does.
    """
    work.measurement.measure(work)
    assert work.directory is not None, "a measurement that ends without an error has called begin"
    try:
        results = work.measurement.findings(work.directory).results
    except PlanError as error:
        work.observer.warn(f"it gives no result: {error}")
        return work.directory, []
    work.directory.finish(results)  # its page is made when it is asked for: a hundred of them would fill the disk
    if kept := work.measurement.keep(work.directory, results):
        work.observer.warn(kept)
    return work.directory, results


def may_do_better(error: Exception) -> bool:
    """Whether another attempt at a part may not meet this error: a port fails or is in use, a plan stays impossible."""
    return isinstance(error, EngineError | Occupied)


def results_of(measurement: Measurement[Any], part: RunDirectory) -> list[Result]:
    """The results of a part; none if what it measured is too little for any."""
    with suppress(PlanError):
        return measurement.analyse(part).results
    return []


def _begun(path: Path) -> RunDirectory | None:
    """The part that was interrupted there; None if none was."""
    with suppress(PlanError):
        return RunDirectory.open(path)
    return None
