"""Device procedures in virtual time: this whole tester and the laboratory's device, in one virtual kernel.

The run directory is the same as of any other run. The kernel's own randomness, and so that of its daemons, is that of
the plan's seed: a plan with its seed is one run, which can be repeated.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

from keisoku.errors import EngineError, PlanError
from keisoku.ground.entry import Work
from keisoku.ground.virtual_kernel.build import built
from keisoku.ground.virtual_kernel.inside import TIME
from keisoku.ground.virtual_kernel.machine import run
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.table import PROCEDURES

_INSIDE = Path(__file__).parent / "inside_virtual_kernel.py"
WITHIN_S = 3600.0
"""Time of this host in which a run has to end, if the plan says none."""
_REFUSED = {
    "capture": "frames of a virtual kernel are not captured",
    "why_lost": "places of drops are read by BPF programs, which a virtual kernel has not",
    "why_late": "places of waiting are read by BPF programs, which a virtual kernel has not",
    "receiver": "a virtual kernel is one host",
}


def check(plan: Plan) -> None:
    """Raises PlanError for what virtual time cannot measure, and where this host has no virtual kernel."""
    for field, problem in _REFUSED.items():
        if getattr(plan, field):
            raise PlanError(field, problem, "leave it out, or use a lab: device")
    if plan.engine not in (None, "packet"):
        raise PlanError("engine", f"a virtual kernel has no {plan.engine}", "leave it out")
    for name in plan.methods:
        if PROCEDURES[name].of_cpu:
            problem = f"in virtual time work takes none, and {PROCEDURES[name].command} shows how fast a device works"
            raise PlanError("dut", problem, "use a lab: device")
    built()


def measure(work: Work[Plan]) -> None:
    """Carries the procedures out in a virtual kernel. Raises PlanError and EngineError as it does by itself, and
    EngineError if the kernel does not end in time."""
    plan = work.settings
    check(plan)
    path = work.begin_elsewhere()
    work.observer.tell(TIME)
    with tempfile.TemporaryDirectory(prefix="keisoku-vlab-") as made:
        order, answer = Path(made) / "order.json", Path(made) / "answer.json"
        order.write_text(json.dumps({"plan": plan.plain(), "path": str(path), "resumed": work.resumed is not None}))
        command = [sys.executable, "-P", str(_INSIDE), str(order), str(answer)]
        code = run(
            command,
            plan.seed,
            [Path(made), path.parent],
            plan.within_s or WITHIN_S,
            {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        if path.exists():
            work.made_elsewhere()
        if not answer.exists():
            raise EngineError(f"the tester in the virtual kernel ended with exit code {code}")
        said = json.loads(answer.read_text())
    if said["plan"]:
        raise PlanError(*said["plan"])
    if said["engine"]:
        raise EngineError(said["engine"])


def possible(plan: Plan) -> bool:
    """What virtual time cannot measure, `check` refuses."""
    return True


def seconds(plan: Plan) -> float | None:
    """Not known: it depends on what the daemons do."""
    return None


def outlined(plan: Plan) -> list[str]:
    """What a run in virtual time is. Raises PlanError as `check`."""
    check(plan)
    return [TIME]
