"""The thread on which an engine carries out one trial, and the trial's outcome. Knows no engine, and no phase."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod

from keisoku.errors import EngineError
from keisoku.subjects.device.record.facts import Facts


class TrialThread(threading.Thread, ABC):
    """Started once. `stopped` tells every phase to end early."""

    def __init__(self) -> None:
        super().__init__(name="keisoku-trial", daemon=True)
        self.stopped = threading.Event()
        self._facts: Facts | None = None
        self._error: Exception | None = None

    @abstractmethod
    def carry_out(self) -> None:
        """All phases of the trial (RFC 2544 §23 b to e); leaves `_facts` if its load began."""

    def run(self) -> None:
        """An exception is raised again where the outcome is read."""
        try:
            self.carry_out()
        except Exception as error:  # an exception that ended the thread would leave the trial without an outcome
            self._error = error

    def outcome(self) -> Facts:
        """Facts of a trial that has ended. Raises EngineError for one that failed or was stopped before its load."""
        if self._error is not None:
            raise self._error
        if self._facts is None:
            raise EngineError("the trial was stopped before its load began")
        return self._facts
