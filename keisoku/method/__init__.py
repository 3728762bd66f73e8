"""Methods: one procedure a file. A method proposes trials and is told what came of each.

A method is a generator: it yields a `Trial`, is sent the `TrialRecord`, and returns a `Result`. It
does no I/O and reads no clock, so it can be replayed from records, resumed after a crash and tested
in virtual time.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping

from keisoku.calibration.bias import Bias
from keisoku.engine import Capabilities
from keisoku.method.address_caching import address_caching
from keisoku.method.address_learning import address_learning
from keisoku.method.back_to_back import back_to_back
from keisoku.method.broadcast import broadcast
from keisoku.method.buffer_over_time import buffer_over_time
from keisoku.method.buffering import buffering
from keisoku.method.calibrate import calibrate
from keisoku.method.clock_mismatch import clock_mismatch
from keisoku.method.congestion import congestion
from keisoku.method.delay import delay
from keisoku.method.delay_variation import delay_variation
from keisoku.method.errored_frames import errored_frames
from keisoku.method.forward_pressure import forward_pressure
from keisoku.method.forwarding import forwarding
from keisoku.method.head_of_line import head_of_line
from keisoku.method.incast import incast
from keisoku.method.latency import latency
from keisoku.method.line_rate import line_rate
from keisoku.method.loss import loss
from keisoku.method.microburst import microburst
from keisoku.method.mlr import mlr
from keisoku.method.port_map import port_map
from keisoku.method.recovery import recovery
from keisoku.method.reordering import reordering
from keisoku.method.reset import reset
from keisoku.method.setting import Setting
from keisoku.method.sweep import sweep
from keisoku.method.throughput import throughput
from keisoku.method.trial import trial
from keisoku.plan.plan import Plan
from keisoku.record.result import Result
from keisoku.record.trial import Trial, TrialRecord

Method = Generator[Trial, TrialRecord, Result]

METHODS: dict[str, Callable[[Setting], Method]] = {
    "trial": trial,
    "throughput": throughput,
    "latency": latency,
    "loss": loss,
    "delay": delay,
    "delay_variation": delay_variation,
    "reordering": reordering,
    "back_to_back": back_to_back,
    "recovery": recovery,
    "reset": reset,
    "sweep": sweep,
    "line_rate": line_rate,
    "buffering": buffering,
    "microburst": microburst,
    "head_of_line": head_of_line,
    "incast": incast,
    "forwarding": forwarding,
    "congestion": congestion,
    "forward_pressure": forward_pressure,
    "address_caching": address_caching,
    "address_learning": address_learning,
    "errored_frames": errored_frames,
    "broadcast": broadcast,
    "buffer_over_time": buffer_over_time,
    "clock_mismatch": clock_mismatch,
    "calibrate": calibrate,
    "port_map": port_map,
    "mlr": mlr,
}


def begin(name: str, plan: Plan, capabilities: Capabilities, bias: Bias, earlier: Mapping[str, Result]) -> Method:
    """The named method, ready to propose its first trial."""
    return METHODS[name](Setting(plan, capabilities, bias, earlier))


__all__ = ["METHODS", "Method", "Setting", "begin"]
