"""An engine on the ports of a device, and one on a cable of the tester's own for the trials that ask for it; each is
closed and opened again where a trial asks for that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from keisoku.subjects.device.engine.engine import Engine, FrameSink, Progress
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.gaps import Gap
from keisoku.subjects.device.record.trial import Trial


class BesideCable:
    """The engine of a device, but for trials `on_cable`. The cable is used when the first of them begins."""

    def __init__(self, device: Callable[[], Engine], cable: Callable[[], Engine]) -> None:
        """Both open an engine; that on the device at once."""
        self._opens = {False: device, True: cable}
        self._opened = {False: device()}
        self._running = self._opened[False]

    @property
    def capabilities(self) -> Capabilities:
        """Those at the device; beside a cable it can tell its own part of a time."""
        own = self._opened[False].capabilities
        return own.model_copy(update={"abilities": own.abilities | {"cost"}}) if "batches" in own.abilities else own

    def start(self, trial: Trial, stream: int, seed: int, frames: FrameSink | None = None) -> None:
        """As the engine does it on whose ports the trial is."""
        if trial.reopens and trial.on_cable in self._opened:
            self._opened.pop(trial.on_cable).close()
        if trial.on_cable not in self._opened:
            self._opened[trial.on_cable] = self._opens[trial.on_cable]()
        self._running = self._opened[trial.on_cable]
        self._running.start(trial, stream, seed, frames)

    def wait(self, seconds: float) -> Progress:
        """Of the trial that runs."""
        return self._running.wait(seconds)

    def switch(self, flows: Sequence[int], state: Literal["going", "paused", "ended"]) -> bool:
        """In the trial that runs."""
        return self._running.switch(flows, state)

    def load_begun_ns(self) -> int | None:
        """Of the trial that runs."""
        return self._running.load_begun_ns()

    def longest_gaps(self) -> Sequence[Gap | None]:
        """Of the trial that runs."""
        return self._running.longest_gaps()

    def stop(self) -> None:
        """Ends the trial that runs."""
        self._running.stop()

    def finish(self) -> tuple[Facts, float]:
        """Of the trial that ran, and how many seconds it took."""
        return self._running.finish()

    def close(self) -> None:
        """Closes both engines."""
        for engine in self._opened.values():
            engine.close()

    def context(self) -> dict[str, object]:
        """Of the ports at the device."""
        return self._opened[False].context()
