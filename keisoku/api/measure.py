"""Measuring and reading results from Python. Returns `Measured`; prints nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from keisoku.api.asking import plan_of
from keisoku.api.measured import Measured
from keisoku.device.plan.plan import Plan
from keisoku.device.plan.procedure import PROCEDURES
from keisoku.errors import PlanError
from keisoku.measurement import carry_out
from keisoku.measurement.table import DEVICE, MODULES, find
from keisoku.run.settings import RunSettings, parsed


def measure(*what: str | Plan, out: Path | str | None = None, observer: Any = None, **settings: Any) -> Measured:
    """Measures and returns the results: `ks.measure("throughput", dut="sim:gs908e", frame_bytes=64)`.

    `what` is a name of the table of measurements ("path packet-pair", "clock cost", "stream tcp", "app limit"), one or
    several procedures of a device (names of docs/procedures.md), or a `Plan`. `settings` are those of the measurement.
    Of procedures they are the keys of a plan: `dut` ("lab:bridge", "sim:gs908e") or the ports `tx` and `rx`
    ("xdp:eth1", "packet:eth1@NAMESPACE", "fpga:/dev/ttyUSB0#0"), `frame_bytes` (a size, sizes, "64-1518:64", "imix"),
    and of a single procedure its own settings, such as `trial_s` and `rate_fps`. `out` is the directory of the run, by
    default a new one in `runs`; `observer` sees each trial of a device as it begins, goes on and ends
    (`keisoku/device/runner.py`).

    Raises PlanError, naming the setting, if the settings cannot be carried out, and EngineError if a port or a far end
    fails.
    """
    name, asked = _asked(what, settings)
    path = None if out is None else Path(out)
    return Measured(carry_out.carry_out(find(name), asked, path, observer=observer))


def resume(run: Path | str, observer: Any = None, **changes: Any) -> Measured:
    """Finishes an interrupted run: data that it holds are not measured again. Raises as `measure` does.

    `changes` are settings that may differ now, such as the `duration_s` of a log that is continued.
    """
    return Measured(carry_out.resume(Path(run), changes, observer=observer))


def load(run: Path | str) -> Measured:
    """The results of a finished run, by its directory. Raises PlanError if there are none."""
    return Measured(carry_out.load(Path(run)))


def _asked(what: tuple[str | Plan, ...], settings: dict[str, Any]) -> tuple[str, RunSettings]:
    plans = [each for each in what if isinstance(each, Plan)]
    names = tuple(each for each in what if isinstance(each, str))
    if plans:
        if names or settings or len(plans) > 1:
            raise PlanError("plan", "is given together with settings", "give either a plan, or names and settings")
        return DEVICE, plans[0]
    if (
        len(names) == 1
        and names[0] not in PROCEDURES
        and names[0].split(" ")[0] in {name.split(" ")[0] for name in MODULES}
    ):
        entry = find(names[0])
        return entry.name, parsed(entry.settings, settings)
    return DEVICE, plan_of(names, settings)
