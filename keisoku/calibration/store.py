"""Where calibrations are kept, and which one a run uses. Measures nothing."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from platformdirs import user_state_path

from keisoku.calibration import oscillator
from keisoku.calibration.bias import Bias, Calibration, Point, newest, read
from keisoku.calibration.clocks import SAME_CLOCK, Relation, relate
from keisoku.calibration.file import written
from keisoku.calibration.phc import readings
from keisoku.clock import frequency
from keisoku.clock.difference_clock import DifferenceClock
from keisoku.clock.host_clocks import host_clocks
from keisoku.clock.opening import counter
from keisoku.clock.rate import Rate, stated
from keisoku.clock.reference_local import brackets
from keisoku.engine import Engine
from keisoku.errors import EngineError, PlanError
from keisoku.plan.plan import Plan
from keisoku.record.context import host_context
from keisoku.record.result import Result

_INTERVAL_CLOCK = "CLOCK_MONOTONIC"
_INSTRUMENT = "fpga"


def folder() -> Path:
    """`$XDG_STATE_HOME/keisoku/calibration`."""
    return user_state_path("keisoku") / "calibration"


def bias_for(plan: Plan, engine: Engine) -> Bias:
    """The correction that fits this host and these ports; none if there is no such calibration.

    Raises PlanError if the plan names a file that is unreadable or was made for something else.
    """
    if engine.capabilities.exact:
        return Bias(exact=True, resolution_ns=engine.capabilities.resolution_ns)
    error_ns = engine.capabilities.mean_error_ns
    if plan.calibration == "none" or "calibrate" in plan.methods:
        return Bias(clocks=_clocks(engine), mean_error_ns=error_ns)
    rate = _rate(engine)
    clocks, tolerance_m = _clocks(engine), plan.cable_tolerance_m
    if plan.calibration == "auto":
        calibration = newest(folder(), valid_for(engine))
        return Bias(calibration, clocks=clocks, cable_tolerance_m=tolerance_m, mean_error_ns=error_ns, rate=rate)
    calibration = read(Path(plan.calibration))
    if calibration.valid_for != valid_for(engine):
        different = [key for key, value in valid_for(engine).items() if calibration.valid_for.get(key) != value]
        raise PlanError(
            "calibration",
            f"{plan.calibration} was made with another {', '.join(different)}",
            "run 'keisoku calibrate' here",
        )
    return Bias(calibration, clocks=clocks, cable_tolerance_m=tolerance_m, mean_error_ns=error_ns, rate=rate)


def interval_rate() -> Rate:
    """Of CLOCK_MONOTONIC, the clock of every stamp: by the newest `keisoku clock calibrate` of this machine, or stated.

    Where there is one, CLOCK_MONOTONIC is held against the counter for 50 ms.
    """
    host = host_clocks()
    try:
        name, _ = counter(host)
    except EngineError:
        return oscillator.interval_rate(None, None, host.steering, _INTERVAL_CLOCK)
    calibration = oscillator.best(oscillator_folder(), oscillator_valid_for(name))
    if calibration is None:
        return oscillator.interval_rate(None, None, host.steering, _INTERVAL_CLOCK)
    of_clock = frequency.best(brackets(time.CLOCK_MONOTONIC, 50, 0.001))
    return oscillator.interval_rate(calibration, of_clock, host.steering, _INTERVAL_CLOCK)


def difference_clock() -> DifferenceClock:
    """The counter as a clock for intervals that is never stepped, at the rate of this machine's newest calibration.

    Without one it runs at CLOCK_MONOTONIC's rate of this moment and says so by its uncertainty. Raises EngineError if
    this processor has no counter.
    """
    name, _ = counter(host_clocks())
    calibration = oscillator.best(oscillator_folder(), oscillator_valid_for(name))
    readings = brackets(time.CLOCK_MONOTONIC, 50, 0.001)
    if calibration is None:
        return DifferenceClock(readings[-1], 1e9 / frequency.best(readings).hz)
    relative = calibration.standard_ticks_per_s / calibration.ticks_per_s
    return DifferenceClock(readings[-1], 1e9 / calibration.ticks_per_s, relative)


def oscillator_folder() -> Path:
    """Where `keisoku clock calibrate` keeps what it found."""
    return folder() / "clock"


def oscillator_valid_for(counter_name: str) -> dict[str, str]:
    """What must agree for a counter's calibration to apply: it is one oscillator's."""
    host = host_context()
    return {"host": str(host["host"]), "processor": str(host["cpu"]), "counter": counter_name}


def _rate(engine: Engine) -> Rate:
    if engine.capabilities.engine == _INSTRUMENT:
        return stated("the instrument's oscillator")
    return interval_rate()


def _clocks(engine: Engine) -> Relation:
    """Of the stamps of what is received to CLOCK_MONOTONIC; of several hardware clocks the least certain.

    The core brings hardware stamps to CLOCK_MONOTONIC by readings like these, and does so again every few ms: no
    drift is left, but the readings' own uncertainty is. Raises EngineError if a clock cannot be read.
    """
    ports = cast(Sequence[Mapping[str, object]], engine.context()["ports"])
    indices = {port["phc"] for port in ports} - {None}
    relations = [relate(readings(cast(int, index))) for index in indices]
    return max(relations, key=Relation.uncertainty_ns, default=SAME_CLOCK)


def valid_for(engine: Engine) -> dict[str, str]:
    """What must agree for a calibration to apply: the host, and how frames are sent and stamped."""
    host = host_context()
    capabilities = engine.capabilities
    return {
        "host": str(host["host"]),
        "kernel": str(host["kernel"]),
        "clock source": str(host["clock_source"]),
        "engine": capabilities.engine,
        "transmit stamp": capabilities.transmit_stamp,
        "receive stamp": capabilities.receive_stamp,
    }


def keep(result: Result, engine: Engine, length_m: float | None) -> Path:
    """Stores the result of `calibrate`, on a cable of `length_m` if that is known; where it was stored."""
    made_at = datetime.now(UTC).isoformat(timespec="seconds")
    points = tuple(_points(result))
    calibration = Calibration(made_at=made_at, valid_for=valid_for(engine), points=points, length_m=length_m)
    path = folder() / f"{made_at.replace(':', '')}-{engine.capabilities.engine}.json"
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
