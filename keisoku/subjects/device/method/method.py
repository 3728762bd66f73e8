"""What a method is, and how the method of a procedure begins. A method proposes trials and is told what came of each.

A method is a generator: it yields a `Trial`, is sent the `TrialRecord`, and returns a `Result`. It does no I/O and
reads no clock, so it can be replayed from records, resumed after a crash and tested in virtual time. It is never told
of a trial in which a port sent nothing, unless that happens again and again.

Where there are no more trials, `NoMoreTrials` is thrown into it: a method whose rows stand alone returns those it has.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import closing

from keisoku.ground.run.result import Result
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.method.method_input import MethodInput, Spent
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.record.trial import NoMoreTrials, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.table import PROCEDURES

Method = Generator[Trial, TrialRecord, Result]


_SILENT_TRIES = 4
"""How often a trial is tried in which a port sent no frame."""


def begin(
    name: str,
    plan: Plan,
    capabilities: Capabilities,
    bias: Bias,
    earlier: Mapping[str, Result],
    sizes: int | None = None,
) -> Method:
    """The method of the procedure `name`, ready to propose its first trial. `within_s` of the plan is this method's own
    time, which `sizes` share: the plan's, if it is not given."""
    inputs = MethodInput(plan, capabilities, bias, earlier, sizes or len(plan.frame_bytes))
    return _heard(PROCEDURES[name].generator(inputs), inputs.spent)


def _heard(method: Method, spent: Spent) -> Method:
    """The method, with what its trials took added up, and each trial tried again in which a port sent no frame: the
    host stopped its sender from the first to the last one, so that nothing is known, neither of the device nor of what
    the tester can offer."""
    reply: TrialRecord | None = None
    with closing(method):
        while True:
            try:
                trial = method.send(reply)  # type: ignore[arg-type]  # a fresh generator takes None
            except StopIteration as stop:
                result: Result = stop.value
                return result
            for _ in range(_SILENT_TRIES):
                try:
                    reply = yield trial
                except NoMoreTrials as over:
                    return so_far(method, over)
                spent.seconds += reply.engine_seconds
                if all(sender.sent.offered_frames for sender in reply.senders):
                    break


def so_far(method: Method, over: NoMoreTrials) -> Result:
    """What a method has that waits for a record. Raises NoMoreTrials if that is nothing without its end."""
    try:
        method.throw(over)
    except StopIteration as stop:
        result: Result = stop.value
        return result
    raise over
