"""How long `keisoku system govern` takes, on a system that takes time between intervals, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from keisoku.ground.entry import Work
from keisoku.ground.observer import Observer
from keisoku.ground.run.settings import parsed
from keisoku.running.measurement.carry_out import carry_out
from keisoku.running.measurement.table import find
from keisoku.subjects.system import set_up
from keisoku.subjects.system.opening import open_system
from keisoku.subjects.system.simulated.virtual import VirtualSystem

PAUSE_S = 0.7


def test_a_busy_host_no_longer_makes_governing_longer_than_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """11 minutes took more than 13 on one: what passed between intervals of 1 s was not counted."""
    ended: list[float] = []

    class Slow(VirtualSystem):
        """Between two intervals, reading takes time of its own."""

        def now_s(self) -> float:
            return super().now_s() * (1 + PAUSE_S)

        def __exit__(self, *told: object) -> None:
            ended.append(self.now_s())
            super().__exit__(*told)

    def slow(name: str, seed: int) -> Any:
        system = open_system(name, seed)
        assert isinstance(system, VirtualSystem)
        return Slow(system.name, system.timetable, system.seed)

    monkeypatch.setattr(set_up, "open_system", slow)
    entry = find("system govern")
    carry_out(Work(entry, parsed(entry.settings, {"system": "sim:e4", "duration_s": 60.0}), tmp_path / "run"))
    assert 60 <= ended[0] < 60 + 2 * (1 + PAUSE_S)


class _Ended(Exception):
    pass


class _Ending(Observer):
    """Ends a run after so many intervals, as a server does when a client asks for it."""

    left = 400

    def saw(self, of: str = "", **seen: float | None) -> None:
        assert seen["bits_per_second"] is not None
        self.left -= 1
        if not self.left:
            raise _Ended


def test_a_governor_that_has_nothing_more_to_tell_can_be_ended_after_each_interval(tmp_path: Path) -> None:
    """A server that was to end such a run waited for it without an end."""
    entry, observer = find("system govern"), _Ending()
    with pytest.raises(_Ended):
        carry_out(Work(entry, parsed(entry.settings, {"system": "sim:e4"}), tmp_path / "run", observer=observer))
    assert observer.left == 0
