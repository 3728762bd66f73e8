"""An engine that stays open for many runs in turn, and the look at the host that holds for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace

from keisoku.ground.host.look import HostLook, look_at_host
from keisoku.ground.observer import Observer
from keisoku.subjects.device.engine.engine import Engine
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.plan.uri import is_simulated, is_virtual_lab
from keisoku.subjects.device.plan_testbed import open_engine, wanted_testbed, wanted_traffic


@dataclass(frozen=True)
class Bench:
    """What runs of one testbed and one traffic have in common."""

    engine: Engine
    look: HostLook | None


def in_common(plans: Sequence[Plan], observer: Observer) -> AbstractContextManager[Bench] | None:
    """Opens the engine of these plans; None if they do not ask for the same ports and frames, keep captures, or are of
    devices that cost nothing to open."""
    first, *others = plans
    elsewhere = is_simulated(first.dut) or is_virtual_lab(first.dut)
    if first.capture is not None or elsewhere or any(_asks(first) != _asks(plan) for plan in others):
        return None
    return _opened(first, observer)


def _asks(plan: Plan) -> object:
    """Seeds are apart: they are those of the runs, and the frames of all runs are the same then."""
    return replace(wanted_testbed(plan), seed=0), replace(wanted_traffic(plan), seed=0), plan.methods, plan.capture


@contextmanager
def _opened(plan: Plan, observer: Observer) -> Iterator[Bench]:
    with open_engine(plan, observer.tell, observer.warn) as engine:
        yield Bench(engine, look_at_host() if engine.capabilities.on_host else None)
