"""The table of measurements: every name, and the module that has its entry, loaded when it is first used."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from keisoku.errors import PlanError
from keisoku.running.measurement.plan_values import DEVICE
from keisoku.subjects.device.table import PROCEDURES, suites

if TYPE_CHECKING:
    from keisoku.ground.entry import Measurement
    from keisoku.ground.run.directory import RunDirectory

MODULES = {
    "clock cost": "keisoku.subjects.clock.cost.measurement",
    "clock calibrate": "keisoku.subjects.clock.calibration.measurement",
    "clock stability": "keisoku.subjects.clock.stability.measurement",
    "clock phase": "keisoku.subjects.clock.stability.phase_measurement",
    "path one-packet": "keisoku.subjects.path.one_packet.measurement",
    "path packet-pair": "keisoku.subjects.path.packet_pair.measurement",
    "path delay": "keisoku.subjects.path.stamp.measurement",
    "path clocks": "keisoku.subjects.path.clocks.measurement",
    "line responsiveness": "keisoku.subjects.line.responsiveness.measurement",
    "stream tcp": "keisoku.subjects.stream.tcp",
    "stream udp": "keisoku.subjects.stream.udp",
    "stream file": "keisoku.subjects.stream.file.measurement",
    "stream rr": "keisoku.subjects.stream.transaction.rr",
    "stream crr": "keisoku.subjects.stream.transaction.crr",
    "stream udp-rr": "keisoku.subjects.stream.transaction.udp_rr",
    "stream capacity": "keisoku.subjects.stream.capacity.measurement",
    "outage udp": "keisoku.subjects.stream.outage.udp",
    "outage tcp": "keisoku.subjects.stream.outage.tcp",
    "outage service": "keisoku.subjects.stream.outage.service",
    "outage mesh": "keisoku.subjects.stream.outage.mesh.measurement",
    "line survey": "keisoku.subjects.line.survey.measurement",
    "system load": "keisoku.subjects.system.load.measurement",
    "system limit": "keisoku.subjects.system.search.measurement",
    "system govern": "keisoku.subjects.system.govern.measurement",
    DEVICE: "keisoku.subjects.device.measurement",
    "runs import": "keisoku.ground.exchange.measurement",
    "ab": "keisoku.running.measurement.paired",
    "bisect": "keisoku.running.measurement.bisection",
    "campaign": "keisoku.running.campaign.measurement",
}
"""'device' stands for several procedures of the table of procedures (`device/table.py`), each of which is also an entry
by itself."""

OF_RUNS = ("ab", "bisect", "campaign")
"""Entries that measure by runs of the others, each with a command of its own form. Their modules make them of what
finds the others."""


def find(name: str) -> Measurement[Any]:
    """The entry of a name; words may be joined by '-' or '_' as well. Raises PlanError if there is none."""
    plain, names = _plain(name), {_plain(known): known for known in (*MODULES, *PROCEDURES, *suites())}
    if (known := names.get(plain)) is not None:
        home = import_module(MODULES.get(known, MODULES[DEVICE]))
        if known in OF_RUNS:
            return cast("Measurement[Any]", home.of_runs(find))
        if known in suites():
            return cast("Measurement[Any]", home.suite(known))
        return cast("Measurement[Any]", home.MEASUREMENT if known in MODULES else home.alone(known))
    close = get_close_matches(plain, list(names), n=1)
    remedy = f"did you mean '{names[close[0]]}'?" if close else f"use one of {', '.join(MODULES)}"
    raise PlanError("measurement", f"there is no '{name}'", remedy)


def with_repetition(measurement: Measurement[Any], repeat: int | None) -> Measurement[Any]:
    """The entry, or what repeats it as a whole."""
    if repeat is None:
        return measurement
    from keisoku.running.measurement.repetition import repeated  # few runs are repeated

    return repeated(measurement, repeat)


def of_run(directory: RunDirectory) -> Measurement[Any]:
    """The entry that a run was made by. Raises PlanError if there is none."""
    return with_repetition(find(directory.measurement), directory.plan.get("repeat"))


def _plain(name: str) -> str:
    return name.replace("-", " ").replace("_", " ")
