"""keisoku measures what a network device does to every frame, and states how sure it is.

`import keisoku as ks` offers the names below; each is loaded when it is first used (docs/python.md).
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    __version__: str
    from keisoku.errors import EngineError, KeisokuError, PlanError
    from keisoku.faces.api.measure import ab, bisect, load, measure, resume
    from keisoku.faces.api.measured import Measured
    from keisoku.ground.run.result import Result
    from keisoku.ground.statistics.quantity import Quantity
    from keisoku.subjects.device.plan.plan import Plan

_HOMES = {
    "ab": "keisoku.faces.api.measure",
    "bisect": "keisoku.faces.api.measure",
    "measure": "keisoku.faces.api.measure",
    "resume": "keisoku.faces.api.measure",
    "load": "keisoku.faces.api.measure",
    "Measured": "keisoku.faces.api.measured",
    "Plan": "keisoku.subjects.device.plan.plan",
    "Quantity": "keisoku.ground.run.result",
    "Result": "keisoku.ground.run.result",
    "EngineError": "keisoku.errors",
    "KeisokuError": "keisoku.errors",
    "PlanError": "keisoku.errors",
}
"""Importing all of them takes a second, which a command such as `keisoku devices` must not cost."""

__all__ = [
    "EngineError",
    "KeisokuError",
    "Measured",
    "Plan",
    "PlanError",
    "Quantity",
    "Result",
    "__version__",
    "ab",
    "bisect",
    "load",
    "measure",
    "resume",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version  # with fifty modules more, and few commands say it

        return version("keisoku")
    if name not in _HOMES:
        raise AttributeError(f"module 'keisoku' has no attribute {name!r}")
    found: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
