"""Readings of a calibration reach the disk while it goes on, whatever ends it."""

from __future__ import annotations

from pathlib import Path

import pytest

from keisoku.errors import EngineError
from keisoku.ground.run.directory import RunDirectory
from keisoku.subjects.clock.calibration import table
from keisoku.subjects.clock.calibration.measurement import analyse, read_all
from keisoku.subjects.clock.host_clocks import HostClocks, Steering
from keisoku.subjects.clock.reading import Reading
from keisoku.subjects.clock.reference.kinds import Reference

HZ, EVERY_S = 2.0e9, 0.25


class Host:
    """Time that passes only when somebody sleeps, and a reference that falls silent."""

    def __init__(self, silent_after: int) -> None:
        self.now_s, self.reads, self.silent_after = 100.0, 0, silent_after

    def read(self) -> list[Reading]:
        self.reads += 1
        if self.reads > self.silent_after:
            raise EngineError("no answer")
        ticks = round(self.now_s * HZ)
        return [Reading(ticks - 40, round(self.now_s * 1e9), ticks + 40)]

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds

    def look(self) -> HostClocks:
        return HostClocks(round(self.now_s * 1e9), "tsc", Steering(0.0, 64, 0, 10_000), (0, 0), (0, 0))


def run(path: Path, host: Host) -> RunDirectory:
    context = {"counter": "TSC", "reference": "ntp", "reference_is_real": True, "said": []}
    directory = RunDirectory.create(path / "run", "clock calibrate", {"reference": "ntp:HOST"}, context)
    reference = Reference("ntp:HOST", "an NTP server", host.read, EVERY_S, is_real=True)
    read_all(
        reference,
        10.0,
        host.look,
        lambda: [Reading(0, 0, 1)],
        lambda part: table.keep(directory, part),
        lambda: host.now_s,
        host.sleep,
    )
    return directory


def test_every_second_of_a_calibration_is_a_part_and_none_is_lost(tmp_path: Path) -> None:
    directory = run(tmp_path, Host(silent_after=10**6))
    measured = table.calibration_rows(directory)
    assert [reading.reference_ns for reading in measured.readings] == [
        round((100 + EVERY_S * number) * 1e9) for number in range(41)
    ]
    assert len(directory.parts(table.READINGS)) >= 10
    assert len(measured.kernel) == 2
    (result,) = analyse(directory).results
    frequency = next(row for row in result.rows if row.case == "least squares").figures["frequency"]
    assert frequency.value == pytest.approx(HZ, rel=1e-9)


def test_what_was_read_before_the_reference_fell_silent_can_be_analysed(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="no answer"):
        run(tmp_path, Host(silent_after=30))
    directory = RunDirectory.open(tmp_path / "run")
    assert len(table.calibration_rows(directory).readings) == 30
    assert analyse(directory).results[0].rows


def test_a_reference_that_never_answers_leaves_no_rows(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="no answer"):
        run(tmp_path, Host(silent_after=0))
    assert not RunDirectory.open(tmp_path / "run").holds_rows
