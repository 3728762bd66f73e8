"""Where calibrations are kept, and which one a run uses. Measures nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from keisoku.errors import PlanError
from keisoku.ground.host.context import host_context
from keisoku.ground.host.state_file import written
from keisoku.ground.run.result import Result
from keisoku.language import phrase
from keisoku.subjects.clock.interval_clock import calibration_folder, interval_rate
from keisoku.subjects.clock.rate import Rate, nominal_rate
from keisoku.subjects.clock.reference.phc import readings
from keisoku.subjects.clock.relation import SAME_CLOCK, Relation, relate
from keisoku.subjects.device.calibration.bias import Bias, Calibration, Point, newest, read
from keisoku.subjects.device.engine.engine import Engine
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.table import PROCEDURES

_INSTRUMENT = "fpga"


def bias_for(plan: Plan, engine: Engine) -> Bias:
    """The correction that fits this host and these ports; none if there is no such calibration.

    Raises PlanError if the plan names a file that is unreadable or was made for something else.
    """
    return bias(
        engine,
        "none" if any(PROCEDURES[name].is_of_tester for name in plan.methods) else plan.calibration,
        plan.cable_tolerance_m,
    )


def bias(engine: Engine, calibration: str = "auto", cable_tolerance_m: float = 0.0) -> Bias:
    """The same for an engine: with the newest calibration that fits ('auto'), with 'none', or with that of a file.

    Raises PlanError for another calibration than none where latencies are exact.
    """
    if engine.capabilities.exact:
        if calibration not in ("auto", "none"):
            raise PlanError("calibration", "latencies are exact here, so none is subtracted", "leave it out")
        return Bias(exact=True, resolution_ns=engine.capabilities.resolution_ns)
    error_ns = engine.capabilities.mean_error_ns
    if calibration == "none":
        return Bias(clocks=_clocks(engine), mean_error_ns=error_ns)
    rate, clocks = _rate(engine), _clocks(engine)
    found = (
        newest(calibration_folder(), valid_for(engine.capabilities))
        if calibration == "auto"
        else _of_file(calibration, engine)
    )
    return Bias(found, clocks=clocks, cable_tolerance_m=cable_tolerance_m, mean_error_ns=error_ns, rate=rate)


def _of_file(name: str, engine: Engine) -> Calibration:
    found = read(Path(name))
    fitting = valid_for(engine.capabilities)
    different = [key for key, value in fitting.items() if found.valid_for.get(key) != value]
    if found.valid_for != fitting:
        raise PlanError(
            "calibration", f"{name} was made with another {', '.join(different)}", "run 'keisoku calibrate' here"
        )
    return found


def _rate(engine: Engine) -> Rate:
    if engine.capabilities.engine == _INSTRUMENT:
        return nominal_rate(phrase("the instrument's oscillator"))
    return interval_rate()


def _clocks(engine: Engine) -> Relation:
    """Relation of the receive timestamps' clock to CLOCK_MONOTONIC; of several hardware clocks the least certain one.

    The core converts hardware timestamps to CLOCK_MONOTONIC by such readings, repeated every few ms: no drift remains,
    but the uncertainty of the readings does. Raises EngineError if a clock cannot be read.
    """
    if isinstance(hosts := engine.context().get("hosts_related"), dict):
        return Relation(**hosts)
    ports = cast(Sequence[Mapping[str, object]], engine.context()["ports"])
    indices = {port["phc"] for port in ports} - {None}
    relations = [relate(readings(cast(int, index))) for index in indices]
    return max(relations, key=Relation.uncertainty_ns, default=SAME_CLOCK)


def valid_for(capabilities: Capabilities) -> dict[str, str]:
    """What must agree for a calibration to apply: the host, and how frames are sent and stamped."""
    host = host_context()
    return {
        "host": str(host["host"]),
        "kernel": str(host["kernel"]),
        "clock source": str(host["clock_source"]),
        "engine": capabilities.engine,
        "transmit stamp": capabilities.transmit_stamp,
        "receive stamp": capabilities.receive_stamp,
    }


def keep(result: Result, capabilities: Capabilities, length_m: float | None) -> Path:
    """Stores the result of `calibrate`, on a cable of `length_m` if that is known; returns the file."""
    made_at = datetime.now(UTC).isoformat(timespec="seconds")
    points = tuple(_points(result))
    calibration = Calibration(made_at=made_at, valid_for=valid_for(capabilities), points=points, length_m=length_m)
    path = calibration_folder() / f"{made_at.replace(':', '')}-{capabilities.engine}.json"
    return written(path, calibration)


def _points(result: Result) -> Sequence[Point]:
    return [
        Point(
            frame_bytes=row.frame_bytes,
            frames_per_second=row.figures["offered"].value,
            bias_ns=row.figures["bias"].value,
            repeat_ns=row.figures["repeat"].value,
            spread_ns=row.figures["spread"].value,
        )
        for row in result.rows
    ]
