"""Opens the testbed that a plan asks for, and the engine that carries the plan out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from itertools import zip_longest

from keisoku.errors import PlanError
from keisoku.subjects.device.engine.beside_cable import BesideCable
from keisoku.subjects.device.engine.engine import Engine
from keisoku.subjects.device.engine.port_capture import PortCapture, Tell
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.table import PROCEDURES
from keisoku.subjects.device.testbed.opening import open_testbed, port_named
from keisoku.subjects.device.testbed.requirements import OpenedPort, WantedPort, WantedTestbed, WantedTraffic
from keisoku.subjects.device.testbed.testbed import Testbed

_CABLE = "lab:cable"


@contextmanager
def open_engine(
    plan: Plan,
    tell: Tell = lambda line: None,
    warn: Tell = lambda line: None,
    opened: Sequence[OpenedPort] = (),
) -> Iterator[Engine]:
    """The engine for the plan's ports, closed on every exit; `tell` receives lines for the user when it is opened, and
    `warn` one about the capture when it is closed.

    `opened` are the ports of the run that is resumed: nothing is chosen again for them. Raises PlanError for a DUT or
    port that does not exist or cannot be used, EngineError if opening fails.
    """
    with ExitStack() as stack:
        testbed = stack.enter_context(closing(open_testbed(wanted_testbed(plan, opened))))
        capture = None
        if plan.capture is not None:
            if not testbed.captures:
                raise PlanError("capture", "the frames of these ports do not pass this host", "leave it out")
            if any("cost" in PROCEDURES[method].needs for method in plan.methods):
                problem = "batches of frames are timed without one, which would slow them"
                raise PlanError("capture", problem, "leave it out")
            capture = PortCapture(plan.capture, plan.snap_bytes, warn)
            stack.callback(capture.close)  # the engine closes it first, if there is an engine
        traffic = wanted_traffic(plan)
        engine: Engine
        if any(PROCEDURES[method].times_batches for method in plan.methods) and capture is None:
            cable = stack.enter_context(_Cable(plan))
            engine = BesideCable(lambda: testbed.engine(traffic), cable.engine)
        else:
            engine = testbed.engine(traffic, capture)
        stack.enter_context(closing(engine))
        for remark in testbed.remarks:
            tell(remark)
        plan.check(engine.capabilities)
        yield engine


class _Cable(ExitStack):
    """A cable of this host for the plan's traffic, made when it is first used."""

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self._plan = plan
        self._testbed: Testbed | None = None

    def engine(self) -> Engine:
        """An engine on it; the one before must be closed."""
        if self._testbed is None:
            ports = tuple(WantedPort(f"{_CABLE}#{number}", "dut") for number in (1, 2))
            sizes = tuple(self._plan.all_frame_bytes)
            wanted = WantedTestbed(ports, _CABLE, frame_bytes=sizes, seed=self._plan.seed)
            self._testbed = self.enter_context(closing(open_testbed(wanted)))
        return self._testbed.engine(wanted_traffic(self._plan))


def wanted_testbed(plan: Plan, opened: Sequence[OpenedPort] = ()) -> WantedTestbed:
    """What the plan asks of a testbed, with what was chosen for its ports before.

    Raises PlanError for invalid names of ports or devices.
    """
    receiving = {receive for _, receive in plan.pairs()}
    fields = enumerate(plan.port_fields())
    ports = [port_named(text, field, plan.dut, place in receiving) for place, (field, text) in fields]
    return WantedTestbed(
        tuple(port.as_opened(before) for port, before in zip_longest(ports, opened[: len(ports)])),
        plan.dut,
        plan.engine,
        tuple(plan.all_frame_bytes),
        plan.force,
        plan.stamps,
        plan.address,
        plan.gateway,
        plan.filters,
        _cable_m(plan),
        plan.seed,
        plan.receiver,
        plan.clock,
    )


def wanted_traffic(plan: Plan) -> WantedTraffic:
    """The plan's streams on its pattern of ports."""
    return WantedTraffic(
        tuple(plan.pairs()),
        plan.contents(),
        plan.seed,
        plan.modifiers,
        plan.networks,
        changes=any(_watches_headers(plan, method) for method in plan.methods),
        listening=plan.listening(),
        connection_bytes=_connection_bytes(plan),
        frames_every=plan.frames_every,
        frame_bytes=() if any(PROCEDURES[method].own_flows for method in plan.methods) else plan.frame_bytes,
    )


def _cable_m(plan: Plan) -> float | None:
    lengths_m = (PROCEDURES[name].cable_m(own) for name, own in plan.tables().items())
    return next((length_m for length_m in lengths_m if length_m is not None), None)


def _connection_bytes(plan: Plan) -> int:
    """Of the frames that open or answer all connections of a trial."""
    most = max(PROCEDURES[method].connections(plan.own(method)) for method in plan.methods)
    return most * max(plan.frame_bytes)


def _watches_headers(plan: Plan, method: str) -> bool:
    procedure = PROCEDURES[method]
    return procedure.watches_headers or "compare" in procedure.also_needs(plan.own(method))
