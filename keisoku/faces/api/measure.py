"""Measuring and reading results from Python. Returns `Measured`; prints nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from keisoku.errors import PlanError
from keisoku.faces.api.measured import Measured
from keisoku.ground.entry import Work
from keisoku.ground.observer import Observer
from keisoku.ground.run.settings import RunSettings, parsed
from keisoku.running.measurement import carry_out
from keisoku.running.measurement.bisection_settings import BisectionSettings
from keisoku.running.measurement.paired_settings import PairedSettings
from keisoku.running.measurement.plan_values import DEVICE
from keisoku.running.measurement.table import MODULES, find
from keisoku.subjects.device.plan.plan import Plan, plan_of
from keisoku.subjects.device.table import PROCEDURES

_OF_BISECTIONS = set(BisectionSettings.model_fields) - {"of", "plan", "seed", "repeat"}
_OF_PAIRS = set(PairedSettings.model_fields) - {"of", "a", "b", "seed", "repeat"}


class _OfTrials(Observer):
    """Gives the details to an observer of trials, which is told nothing else."""

    def __init__(self, trials: Any) -> None:
        self._trials = trials

    @property
    def details(self) -> Any:
        return self._trials


def measure(*what: str | Plan, out: Path | str | None = None, observer: Any = None, **settings: Any) -> Measured:
    """Measures and returns the results: `ks.measure("throughput", dut="sim:gs908e", frame_bytes=64)`.

    `what` is a name of the table of measurements ("path packet-pair", "clock cost", "system limit"), one or
    several procedures of a device (names of docs/procedures.md), or a `Plan`. `settings` are those of the measurement.
    Of procedures they are the keys of a plan: `dut` ("lab:bridge", "sim:gs908e") or the ports `tx` and `rx`
    ("xdp:eth1", "packet:eth1@NAMESPACE", "fpga:/dev/ttyUSB0#0"), `frame_bytes` (a size, sizes, "64-1518:64", "imix"),
    and of a single procedure its own settings, such as `trial_s` and `rate_fps`. `out` is the directory of the run, by
    default a new one in `runs`; `observer` sees each trial of a device as it begins, goes on and ends
    (`keisoku/subjects/device/runner.py`).

    Raises PlanError, naming the setting, if the settings cannot be carried out, and EngineError if a port or a far end
    fails.
    """
    name, asked = _asked(what, settings)
    path = None if out is None else Path(out)
    return Measured(carry_out.carry_out(Work(find(name), asked, path, observer=_OfTrials(observer))))


def ab(
    *what: str,
    a: Mapping[str, Any] | None = None,
    b: Mapping[str, Any] | None = None,
    out: Path | str | None = None,
    **settings: Any,
) -> Measured:
    """Compares two sides of a measurement by pairs of runs:
    `ks.ab("throughput", frame_bytes=64, a={"dut": "lab:bridge"}, b={"dut": "lab:router"}, margin_percent=5)`.

    `what` and `settings` are those of `measure`, for both sides; `a` and `b` hold what is different. Settings of the
    comparison are `before_a`, `before_b`, `against`, `figure`, `margin_percent`, `precision_percent`, `within_s` and
    `pairs` (docs/compare-two-sides.md). The result has the figures `change` (B against A, in %), `a`, `b` and
    `worse_by`; `met` is whether B is not worse by more than the margin. Raises as `measure` does.
    """
    own = {key: settings.pop(key) for key in _OF_PAIRS if key in settings}
    name, side_b = _asked(what, {**settings, **(b or {})})
    entry = find(name)
    sides = {"b": entry.in_pairs(side_b).plain()}
    if "against" not in own:
        sides["a"] = entry.in_pairs(_asked(what, {**settings, **(a or {})})[1]).plain()
    elif a:
        raise PlanError("a", "side A is the run of `against`", "leave out a")
    asked = parsed(PairedSettings, {"of": name, "seed": getattr(side_b, "seed", 1), **sides, **own})
    return Measured(carry_out.carry_out(Work(find("ab"), asked, None if out is None else Path(out))))


def bisect(*what: str, out: Path | str | None = None, **settings: Any) -> Measured:
    """Finds the commit that changed a figure: `ks.bisect("cost", good="v1.4", bad="HEAD", tx="veth0", rx="veth1",
    build="make O=$KEISOKU_BUILD", load="./load.sh $KEISOKU_BUILD")`.

    `what` and `settings` are those of `measure`. Settings of the bisection are `good`, `bad`, `build`, `load`, `folder`
    (in the repository; default: the working directory), `figure`, `margin_percent`, `error_percent`, `within_s` and
    `pairs` (docs/bisect.md). The first row of the result is the answer, with `change` (of BAD against GOOD, in %) and
    `probability` (in %); the others are commits. Raises as `measure` does.
    """
    own = {key: settings.pop(key) for key in _OF_BISECTIONS if key in settings}
    name, of = _asked(what, settings)
    plan = find(name).in_pairs(of).plain()
    asked = parsed(BisectionSettings, {"of": name, "plan": plan, "seed": getattr(of, "seed", 1), **own})
    return Measured(carry_out.carry_out(Work(find("bisect"), asked, None if out is None else Path(out))))


def resume(run: Path | str, observer: Any = None, **changes: Any) -> Measured:
    """Finishes an interrupted run: data that it holds are not measured again. Raises as `measure` does.

    `changes` are settings that may differ now, such as the `duration_s` of a log that is continued.
    """
    return Measured(carry_out.resume(Path(run), changes, observer=_OfTrials(observer)))


def load(run: Path | str) -> Measured:
    """The results of a finished run, by its directory. Raises PlanError if there are none."""
    return Measured(carry_out.load(Path(run)))


def _asked(what: Sequence[str | Plan], settings: dict[str, Any]) -> tuple[str, RunSettings]:
    plans = [each for each in what if isinstance(each, Plan)]
    names = tuple(each for each in what if isinstance(each, str))
    if plans:
        if names or settings or len(plans) > 1:
            raise PlanError("plan", "is given together with settings", "give either a plan, or names and settings")
        return DEVICE, plans[0]
    if len(names) == 1 and names[0].split(" ")[0] in {name.split(" ")[0] for name in (*MODULES, *PROCEDURES)}:
        entry = find(names[0])
        return entry.name, entry.settings_of(settings)
    return DEVICE, plan_of(names, settings)
