"""Readings and states of the kernel's clocks as rows of a run directory, and back."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from keisoku.ground.run.directory import RunDirectory
from keisoku.subjects.clock.calibration.analysis import Measured
from keisoku.subjects.clock.host_clocks import HostClocks, Steering
from keisoku.subjects.clock.reading import Reading

READINGS, KERNEL, LOOKS = "readings", "kernel", "looks"


def keep(directory: RunDirectory, measured: Measured) -> None:
    """Appends rows; returns when they are on the disk."""
    directory.append(READINGS, _readings(measured.readings))
    directory.append(KERNEL, _readings(measured.kernel))
    directory.append(LOOKS, _looks(measured.looks))


def calibration_rows(directory: RunDirectory) -> Measured:
    """What was measured. Raises PlanError if rows are missing."""
    return Measured(
        readings=_of_rows(directory.rows(READINGS)),
        kernel=_of_rows(directory.rows(KERNEL)),
        looks=tuple(_look(row) for row in directory.rows(LOOKS).to_pylist()),
    )


def _readings(readings: Sequence[Reading]) -> pa.Table:
    return pa.table(
        {
            "before": pa.array([reading.before for reading in readings], pa.int64()),
            "reference_ns": pa.array([reading.reference_ns for reading in readings], pa.int64()),
            "after": pa.array([reading.after for reading in readings], pa.int64()),
        }
    )


def _of_rows(table: pa.Table) -> tuple[Reading, ...]:
    columns = (table[name].to_pylist() for name in ("before", "reference_ns", "after"))
    return tuple(Reading(*values) for values in zip(*columns, strict=True))


def _looks(looks: Sequence[HostClocks]) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                "at_ns": look.at_ns,
                "clock_source": look.clock_source,
                "frequency_ppb": look.steering.frequency_ppb,
                "status": look.steering.status,
                "maximum_error_us": look.steering.maximum_error_us,
                "tick_us": look.steering.tick_us,
                "suspended_least_ns": look.suspended_ns[0],
                "suspended_most_ns": look.suspended_ns[1],
                "realtime_least_ns": look.realtime_ns[0],
                "realtime_most_ns": look.realtime_ns[1],
            }
            for look in looks
        ]
    )


def _look(row: dict[str, object]) -> HostClocks:
    def whole(name: str) -> int:
        return int(str(row[name]))

    return HostClocks(
        at_ns=whole("at_ns"),
        clock_source=str(row["clock_source"]),
        steering=Steering(
            float(str(row["frequency_ppb"])), whole("status"), whole("maximum_error_us"), whole("tick_us")
        ),
        suspended_ns=(whole("suspended_least_ns"), whole("suspended_most_ns")),
        realtime_ns=(whole("realtime_least_ns"), whole("realtime_most_ns")),
    )
