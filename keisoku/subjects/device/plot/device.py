"""The device of a run, its name in the report, and its result of one method.

Names are unique: two runs of one device get different ones. It computes no figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from keisoku.ground.frame.rates import OVERHEAD_BYTES
from keisoku.ground.run.names import distinct
from keisoku.ground.run.result import Result, Row
from keisoku.language import phrase

if TYPE_CHECKING:
    from keisoku.subjects.device.record.run import DeviceRun
    from keisoku.subjects.device.record.trial_record import TrialRecord


@dataclass(frozen=True, eq=False)
class Device:
    """A run under the name it has in a report; `index` chooses its colour."""

    index: int
    name: str
    run: DeviceRun

    def result(self, method: str) -> Result | None:
        """The result of `method`, with the rows of several results together; None if it was not run."""
        found = [result for result in self.run.results if result.measurement == method]
        if not found:
            return None
        return Result(
            measurement=method,
            rows=[row for result in found for row in result.rows],
            line=next((result.line for result in found if result.line), None),
            deviations=list(dict.fromkeys(text for result in found for text in result.deviations)),
            remarks=list(dict.fromkeys(text for result in found for text in result.remarks)),
        )

    def record(self, row: Row) -> TrialRecord | None:
        """The trial that shows a row's behaviour over time."""
        return next((record for record in self.run.records if record.index == row.trial), None)

    @property
    def link_bits_per_second(self) -> float | None:
        """Speed of the link from the context (None: it has no rate of its own), or else from the results."""
        if "link_bits_per_second" in self.run.context:
            named = self.run.context["link_bits_per_second"]
            return None if named is None else float(named)
        for result in self.run.results:
            for row in result.rows:
                rate = row.figures.get("throughput", row.figures.get("offered"))
                share = row.figures.get("line_share", row.figures.get("load"))
                if rate and share and rate.value > 0 and share.value > 0:
                    slot_bits = (row.frame_bytes + OVERHEAD_BYTES) * 8
                    return rate.value / (share.value / 100) * slot_bits
        return None


def devices(runs: Sequence[DeviceRun]) -> list[Device]:
    """Every run with a name of its own: the device's, and the engine's or a number where two are alike."""
    names = distinct(
        [
            str(
                (run.plan.get("about") or {}).get("device")
                or run.context.get("device")
                or run.plan.get("dut")
                or phrase("device")
            )
            for run in runs
        ],
        [str(run.context.get("engine") or "") for run in runs],
    )
    return [Device(index, name, run) for index, (name, run) in enumerate(zip(names, runs, strict=True))]


def frame_sizes(found: Sequence[Device], method: str) -> list[int]:
    """Every frame size in bytes that `method` was run with on any of the devices, ascending."""
    results = [device.result(method) for device in found]
    return sorted({row.frame_bytes for result in results if result for row in result.rows})


def rows_of_curves(found: Sequence[Device], method: str) -> list[tuple[Device, Row]]:
    """The rows of `method` that are points of a curve, each with its device."""
    return [
        (device, row)
        for device in found
        if (result := device.result(method))
        for row in result.rows
        if row.at is not None
    ]
