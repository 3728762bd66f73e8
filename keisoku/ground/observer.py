"""Who watches a measurement: an observer is told what it does, how far it has come, and what must not be missed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keisoku.ground.run.directory import RunDirectory


class Observer:
    """Does nothing with what it is told; those that do something replace some of these."""

    note: str = ""
    """What the user should know of the choices that were made, once measuring begins."""

    def tell(self, line: str) -> None:
        """A line for the user: until the run has begun of the plan, then what is done now, until the next line."""

    def warn(self, line: str) -> None:
        """A line that the user must not miss, such as a fault that was met or a file that is kept: it stays."""

    def begun(self, directory: RunDirectory) -> None:
        """The plan is told, the run has its directory, and measuring begins."""

    def came_to(self, done: float, whole: float, said: str) -> None:
        """How much is done, of how much, both in any one unit, and the same in words."""

    def saw(
        self,
        of: str = "",
        *,
        bits_per_second: float | None = None,
        loss_percent: float | None = None,
        latency_ns: float | None = None,
    ) -> None:
        """What was seen since the last time, for whoever draws it while it goes: no figures of the result. `of` names
        what alone it is of."""

    @property
    def details(self) -> Any:
        """Who receives further details of the progress, such as trials; its type depends on the measurement."""
        return self


class PartObserver(Observer):
    """Observes a part for the observer of the whole: after it, `after` of `of` are done, and `before` before it."""

    def __init__(self, whole: Observer, before: float, after: float, of: float, said: str) -> None:
        self._whole, self._before, self._after, self._of, self._said = whole, before, after, of, said
        self.came_to(0.0, 1.0, "")

    def tell(self, line: str) -> None:
        """Passed on."""
        self._whole.tell(line)

    def warn(self, line: str) -> None:
        """Passed on."""
        self._whole.warn(line)

    def begun(self, directory: RunDirectory) -> None:
        """Passed on."""
        self._whole.begun(directory)

    def came_to(self, done: float, whole: float, said: str) -> None:
        """Passed on as the progress of the whole, in its unit, with the part in words."""
        share = done / whole if whole else 0.0
        words = f"{self._said}: {said}" if said else self._said
        self._whole.came_to(self._before + (self._after - self._before) * share, self._of, words)

    def saw(
        self,
        of: str = "",
        *,
        bits_per_second: float | None = None,
        loss_percent: float | None = None,
        latency_ns: float | None = None,
    ) -> None:
        """Passed on."""
        self._whole.saw(of, bits_per_second=bits_per_second, loss_percent=loss_percent, latency_ns=latency_ns)

    @property
    def details(self) -> Any:
        """Those of the whole."""
        return self._whole.details
