"""Opens the testbed that a plan asks for, and the engine that carries the plan out."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from itertools import zip_longest

from keisoku.errors import PlanError
from keisoku.subjects.device.engine.beside_cable import BesideCable
from keisoku.subjects.device.engine.engine import Engine
from keisoku.subjects.device.engine.port_capture import PortCapture, Tell
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.plan.ability import able_part
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.plan.uri import is_lab
from keisoku.subjects.device.table import PROCEDURES
from keisoku.subjects.device.testbed.opening import open_testbed, port_named
from keisoku.subjects.device.testbed.requirements import OpenedPort, WantedPort, WantedTestbed, WantedTraffic
from keisoku.subjects.device.testbed.testbed import Testbed

_CABLE = "lab:cable"
QUICK_S = 1.0
"""A device of the lab that was made in less is made again for each opening."""


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
        traffic = wanted_traffic(plan)
        made = stack.enter_context(_Made(wanted_testbed(plan, opened), traffic))
        testbed = made.testbed()
        capture = None
        if plan.capture is not None:
            if not testbed.captures:
                raise PlanError("capture", "the frames of these ports do not pass this host", "leave it out")
            if _times_frames(plan):
                problem = "batches of frames are timed without one, which would slow them"
                raise PlanError("capture", problem, "leave it out")
            capture = PortCapture(plan.capture, plan.snap_bytes, warn)
            stack.callback(capture.close)  # the engine closes it first, if there is an engine
        engine: Engine
        if any(PROCEDURES[method].times_batches for method in plan.methods) and capture is None:
            # A second watch would run for each frame at the device, too, and be taken for the device's time.
            unwatched = replace(traffic, why_lost=False, why_late=False)
            cable = stack.enter_context(_Made(_cable(plan), unwatched))
            engine = BesideCable(made.engine, cable.engine)
        else:
            engine = testbed.engine(traffic, capture)
        stack.enter_context(closing(engine))
        for remark in testbed.remarks:
            tell(remark)
        able_part(plan, engine.capabilities)
        yield engine


class _Made(ExitStack):
    """A testbed for the plan's traffic, made when it is first used."""

    def __init__(self, wanted: WantedTestbed, traffic: WantedTraffic) -> None:
        super().__init__()
        self._wanted, self._traffic = wanted, traffic
        self._testbed: Testbed | None = None
        self._took_s = 0.0
        self._used = False

    def testbed(self) -> Testbed:
        """The testbed that is open."""
        if self._testbed is None:
            began_s = time.monotonic()
            self._testbed = self.enter_context(closing(open_testbed(self._wanted)))
            self._took_s = time.monotonic() - began_s
        return self._testbed

    def engine(self) -> Engine:
        """An engine on it; the one before must be closed.

        A device of the lab is made again for each, if that is quick: its interfaces and tables then lie elsewhere in
        memory, which changes the time of a frame by up to 2 %.
        """
        if self._used and is_lab(self._wanted.device) and self._took_s < QUICK_S:
            self.close()
            self._testbed = None
        self._used = True
        return self.testbed().engine(self._traffic)


def _cable(plan: Plan) -> WantedTestbed:
    """A cable of this host for the plan's frames."""
    ports = tuple(WantedPort(f"{_CABLE}#{number}", "dut") for number in (1, 2))
    return WantedTestbed(ports, _CABLE, frame_bytes=tuple(plan.all_frame_bytes), seed=plan.seed)


def wanted_testbed(plan: Plan, opened: Sequence[OpenedPort] = ()) -> WantedTestbed:
    """What the plan asks of a testbed, with what was chosen for its ports before.

    Raises PlanError for invalid names of ports or devices.
    """
    receiving = {receive for _, receive in plan.pairs()}
    fields = enumerate(plan.port_fields())
    ports = [port_named(text, field, plan.dut, place in receiving) for place, (field, text) in fields]
    able = OpenedPort("xdp") if _times_frames(plan) else None
    return WantedTestbed(
        tuple(port.as_opened(before or able) for port, before in zip_longest(ports, opened[: len(ports)])),
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
        plan.tag_bytes,
    )


def _times_frames(plan: Plan) -> bool:
    """Whether all senders must time batches of frames, which only those of the engine xdp do."""
    return any("cost" in PROCEDURES[method].needs for method in plan.methods)


def wanted_traffic(plan: Plan) -> WantedTraffic:
    """The plan's streams on its pattern of ports."""
    return WantedTraffic(
        tuple(plan.pairs()),
        plan.contents(),
        plan.seed,
        plan.modifiers,
        plan.networks,
        changes=any(_watches_headers(plan, method) for method in plan.methods),
        why_lost=plan.why_lost,
        why_late=plan.why_late,
        listening=plan.listening(),
        connection_bytes=_connection_bytes(plan),
        frames_every=plan.frames_every,
        frame_bytes=() if any(_sets_flows(PROCEDURES[method]) for method in plan.methods) else plan.frame_bytes,
    )


def _sets_flows(procedure: Procedure) -> bool:
    return procedure.own_flows or bool(procedure.pattern)


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
