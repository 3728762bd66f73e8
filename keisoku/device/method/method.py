"""What a method is, and how the method of a procedure begins. A method proposes trials and is told what came of each.

A method is a generator: it yields a `Trial`, is sent the `TrialRecord`, and returns a `Result`. It does no I/O and
reads no clock, so it can be replayed from records, resumed after a crash and tested in virtual time.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from pkgutil import resolve_name

from keisoku.device.calibration.bias import Bias
from keisoku.device.method.setting import Setting
from keisoku.device.plan.plan import Plan
from keisoku.device.plan.procedure import PROCEDURES
from keisoku.device.record.capabilities import Capabilities
from keisoku.device.record.trial import Trial, TrialRecord
from keisoku.run.result import Result

Method = Generator[Trial, TrialRecord, Result]


def begin(name: str, plan: Plan, capabilities: Capabilities, bias: Bias, earlier: Mapping[str, Result]) -> Method:
    """The method of the procedure `name`, ready to propose its first trial."""
    where = PROCEDURES[name].method or f"keisoku.device.method.{name}:{name}"
    found: Method = resolve_name(where)(Setting(plan, capabilities, bias, earlier))
    return found
