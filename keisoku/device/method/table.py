"""The methods by name. A method proposes trials and receives the record of each.

A method is a generator: it yields a `Trial`, is sent the `TrialRecord`, and returns a `Result`. It
does no I/O and reads no clock, so it can be replayed from records, resumed after a crash and tested
in virtual time.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping

from keisoku.device.calibration.bias import Bias
from keisoku.device.method.address_caching import address_caching
from keisoku.device.method.address_learning import address_learning
from keisoku.device.method.back_to_back import back_to_back
from keisoku.device.method.broadcast import broadcast
from keisoku.device.method.buffer_over_time import buffer_over_time
from keisoku.device.method.buffering import buffering
from keisoku.device.method.calibrate import calibrate
from keisoku.device.method.clock_mismatch import clock_mismatch
from keisoku.device.method.congestion import congestion
from keisoku.device.method.delay import delay
from keisoku.device.method.delay_variation import delay_variation
from keisoku.device.method.errored_frames import errored_frames
from keisoku.device.method.forward_pressure import forward_pressure
from keisoku.device.method.forwarding import forwarding
from keisoku.device.method.head_of_line import head_of_line
from keisoku.device.method.incast import incast
from keisoku.device.method.latency import latency
from keisoku.device.method.line_rate import line_rate
from keisoku.device.method.loss import loss
from keisoku.device.method.microburst import microburst
from keisoku.device.method.mlr import mlr
from keisoku.device.method.port_map import port_map
from keisoku.device.method.recovery import recovery
from keisoku.device.method.reordering import reordering
from keisoku.device.method.reset import reset
from keisoku.device.method.setting import Setting
from keisoku.device.method.sweep import sweep
from keisoku.device.method.throughput import throughput
from keisoku.device.method.trial import trial
from keisoku.device.plan.plan import Plan
from keisoku.device.record.capabilities import Capabilities
from keisoku.device.record.trial import Trial, TrialRecord
from keisoku.run.result import Result

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
