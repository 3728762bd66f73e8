"""An engine on the ports of a device, and one on a cable of the tester's own for the trials that ask for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from keisoku.subjects.device.engine.engine import Engine, FrameSink, Progress
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.record.gaps import Gap
from keisoku.subjects.device.record.trial import Facts, Trial


class BesideCable:
    """The engine of a device, but for trials `on_cable`. The cable is made when the first of them begins."""

    def __init__(self, device: Engine, cable: Callable[[], Engine]) -> None:
        """`cable` opens the engine on the cable; who gave it closes that."""
        self._device, self._open = device, cable
        self._cable: Engine | None = None
        self._running = device

    @property
    def capabilities(self) -> Capabilities:
        """Those at the device."""
        return self._device.capabilities

    def start(self, trial: Trial, stream: int, seed: int, frames: FrameSink | None = None) -> None:
        """As the engine does it on whose ports the trial is."""
        if trial.on_cable and self._cable is None:
            self._cable = self._open()
        self._running = self._cable if trial.on_cable and self._cable is not None else self._device
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
        """Closes the engine at the device."""
        self._device.close()

    def context(self) -> dict[str, object]:
        """Of the ports at the device."""
        return self._device.context()
