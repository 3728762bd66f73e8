"""What a plan would do, in sentences: each procedure with its trials, its time, and its deviations from its standard.

The procedures are thought through on imagined devices, as for a forecast; it measures nothing.
"""

from __future__ import annotations

from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.forecast.announcement import announcement
from keisoku.subjects.device.forecast.forecast import Forecast, OnDevice, on_each_device
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.table import PROCEDURES
from keisoku.units import time_text


def outline(plan: Plan, capabilities: Capabilities, bias: Bias) -> list[str]:
    """A sentence for each procedure and each of its deviations, and one for all together."""
    devices = on_each_device(plan, capabilities, bias)
    said = [
        line
        for name in plan.methods
        for line in (*_procedure(name, plan, devices), *PROCEDURES[name].foretells(plan, capabilities))
    ]
    if whole := announcement(plan, capabilities, bias):
        return [*said, whole]
    times = [sum(one.seconds.values()) for one in devices]
    if not times:
        return said
    took = time_text(max(times))
    return [*said, phrase("a simulated device: {time} of its own time, for which nobody waits", time=took)]


def _procedure(name: str, plan: Plan, devices: list[OnDevice]) -> list[str]:
    """Deviations are those that it has on every device: they are of the plan."""
    procedure = PROCEDURES[name]
    sizes = ", ".join(map(str, plan.frame_bytes))
    what = phrase("{title} ({standard}), {sizes} byte", title=procedure.title, standard=procedure.standard, sizes=sizes)
    if not devices:
        return [phrase("{what}: how long it takes is not known beforehand", what=what)]
    counts, times = ([one.trials.get(name, 0) for one in devices], [one.seconds.get(name, 0.0) for one in devices])
    trials: str = plural("{count} trial", "{count} trials", count=max(counts))
    if min(counts) != max(counts):
        trials = phrase("{least} to {most}", least=str(min(counts)), most=trials)
    found = [result for one in devices for result in one.results if result.measurement == name]
    always = [text for text in found[0].deviations if all(text in one.deviations for one in found)] if found else []
    return [
        join_texts(": ", [what, join_texts(", ", [trials, str(Forecast(min(times), max(times)))])]),
        *(phrase("deviation: {text}", text=text) for text in always),
    ]
