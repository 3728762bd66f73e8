"""keisoku measures what a network device does to every frame, and states how sure it is.

`import keisoku as ks` offers the names below; each is loaded when it is first used (docs/python.md).
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    __version__: str
    from keisoku.analysis.quantity import Quantity
    from keisoku.api.measure import ab, load, measure, resume
    from keisoku.api.measured import Measured
    from keisoku.device.plan.plan import Plan
    from keisoku.errors import EngineError, KeisokuError, PlanError
    from keisoku.run.result import Result

_HOMES = {
    "ab": "keisoku.api.measure",
    "measure": "keisoku.api.measure",
    "resume": "keisoku.api.measure",
    "load": "keisoku.api.measure",
    "Measured": "keisoku.api.measured",
    "Plan": "keisoku.device.plan.plan",
    "Quantity": "keisoku.run.result",
    "Result": "keisoku.run.result",
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
