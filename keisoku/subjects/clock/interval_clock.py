"""The clock of every timestamp: at which rate it runs, by the newest calibration of this machine's counter.

Measures for 50 ms where there is a calibration; keeps nothing.
"""

from __future__ import annotations

import time
from pathlib import Path

from platformdirs import user_state_path

from keisoku.errors import EngineError
from keisoku.ground.host.context import host_context
from keisoku.subjects.clock import frequency, oscillator
from keisoku.subjects.clock.host_clocks import counter, host_clocks
from keisoku.subjects.clock.rate import Rate
from keisoku.subjects.clock.reference.local import brackets

_INTERVAL_CLOCK = "CLOCK_MONOTONIC"


def calibration_folder() -> Path:
    """Where calibrations of this machine are kept: `$XDG_STATE_HOME/keisoku/calibration`."""
    return user_state_path("keisoku") / "calibration"


def interval_rate() -> Rate:
    """Rate of CLOCK_MONOTONIC, the clock of every timestamp: by this machine's newest calibration, or as it is stated.

    Where there is a calibration, CLOCK_MONOTONIC is compared with the counter for 50 ms.
    """
    host = host_clocks()
    try:
        name, _ = counter(host)
    except EngineError:
        return oscillator.interval_rate(None, None, host.steering, _INTERVAL_CLOCK)
    calibration = oscillator.least_uncertain(oscillator_folder(), oscillator_valid_for(name))
    if calibration is None:
        return oscillator.interval_rate(None, None, host.steering, _INTERVAL_CLOCK)
    of_clock = frequency.estimate(brackets(time.CLOCK_MONOTONIC, 50, 0.001))
    return oscillator.interval_rate(calibration, of_clock, host.steering, _INTERVAL_CLOCK)


def oscillator_folder() -> Path:
    """Where `keisoku clock calibrate` keeps what it found."""
    return calibration_folder() / "clock"


def oscillator_valid_for(counter_name: str) -> dict[str, str]:
    """What must agree for a calibration to apply, because it holds for one oscillator only."""
    host = host_context()
    return {"host": str(host["host"]), "processor": str(host["cpu"]), "counter": counter_name}
