"""Methods: one procedure a file. A method proposes trials and is told what came of each.

A method is a generator: it yields a `Trial`, is sent the `TrialRecord`, and returns a `Result`. It
does no I/O and reads no clock, so it can be replayed from records, resumed after a crash and tested
in virtual time.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping

from keisoku.calibration.bias import Bias
from keisoku.engine import Capabilities
from keisoku.method.buffer_over_time import buffer_over_time
from keisoku.method.calibrate import calibrate
from keisoku.method.clock_mismatch import clock_mismatch
from keisoku.method.latency import latency
from keisoku.method.loss import loss
from keisoku.method.port_map import port_map
from keisoku.method.setting import Setting
from keisoku.method.sweep import sweep
from keisoku.method.throughput import throughput
from keisoku.plan.plan import Plan
from keisoku.record.result import Result
from keisoku.record.trial import Trial, TrialRecord

Method = Generator[Trial, TrialRecord, Result]

METHODS: dict[str, Callable[[Setting], Method]] = {
    "throughput": throughput,
    "latency": latency,
    "loss": loss,
    "sweep": sweep,
    "buffer_over_time": buffer_over_time,
    "clock_mismatch": clock_mismatch,
    "calibrate": calibrate,
    "port_map": port_map,
}


def begin(name: str, plan: Plan, capabilities: Capabilities, bias: Bias, earlier: Mapping[str, Result]) -> Method:
    """The named method, ready to propose its first trial."""
    return METHODS[name](Setting(plan, capabilities, bias, earlier))


__all__ = ["METHODS", "Method", "Setting", "begin"]
