"""Opens the engine that a plan names, and closes it on every exit. Decides nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from keisoku.engine import Engine
from keisoku.engine.simulated import SimulatedEngine
from keisoku.engine.wired import open_lab, open_ports
from keisoku.errors import PlanError
from keisoku.frame.template import least_frame_bytes
from keisoku.plan.device import find_device
from keisoku.plan.plan import Plan


@contextmanager
def open_engine(plan: Plan) -> Iterator[Engine]:
    """The engine for `plan.dut`, or for `plan.tx` and `plan.rx`.

    Raises PlanError for a DUT or port that does not exist or cannot be used, EngineError if opening fails.
    """
    least = least_frame_bytes(plan.headers)
    if min(plan.frame_bytes) < least:
        raise PlanError("frame size", f"{min(plan.frame_bytes)} byte cannot hold {plan.headers} headers and the signature",
                        f"use at least {least} byte")  # fmt: skip
    kind, _, name = (plan.dut or "").partition(":")
    with ExitStack() as stack:
        if kind == "sim":
            engine: Engine = SimulatedEngine(find_device(name), _number("tx", plan.tx, 1), _number("rx", plan.rx, 2))
            stack.callback(engine.close)
        elif kind == "lab":
            ports = (_number("tx", plan.tx, 1), _number("rx", plan.rx, 2))
            engine = stack.enter_context(open_lab(plan, name, *ports))
        elif plan.dut is None:
            engine = stack.enter_context(open_ports(plan))
        else:
            raise PlanError("dut", f"'{plan.dut}' names no device", "use lab:bridge, lab:router, sim:NAME or sim:FILE.toml")
        yield engine


def _number(field: str, text: str | None, default: int) -> int:
    if text is None:
        return default
    if not text.isdecimal() or int(text) < 1:
        raise PlanError(field, f"'{text}' is not a port number", "with --dut give the number of the device's port, from 1")
    return int(text)
