"""Traffic of the configured flows: starts, switches, reads and ends it. Not locked: the controller is."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Literal

from keisoku.errors import EngineError, Occupied, PlanError
from keisoku.faces.otg.control.gateways import Gateways
from keisoku.faces.otg.control.ports import Ports
from keisoku.faces.otg.device.gateways import macs
from keisoku.faces.otg.dhcp.leased import leased
from keisoku.faces.otg.flow.flow import Flow
from keisoku.faces.otg.lacp.aggregation import PATIENCE_S
from keisoku.faces.otg.metrics import untracked
from keisoku.faces.otg.reading.node import Node
from keisoku.faces.otg.traffic.convergence import ControlEvent, EventKind
from keisoku.faces.otg.traffic.flow_trial import trial
from keisoku.faces.otg.traffic.session import invalid_because
from keisoku.subjects.device.engine.engine import Engine
from keisoku.subjects.device.record.validity import without_links

_FIRST_STREAM = 1
_STREAMS = 0xFFFF - _FIRST_STREAM
"""Stream numbers that distinguish the frames of one traffic from late ones of another; 0 and 0xFFFF are unused
(`runner`)."""
_LOOK_S = 0.02
_DRAIN_S = 5.0
"""How long traffic may take from its last frame to its end."""
_BEGIN_S = 5.0
"""How long the first frame is waited for."""
_SEEN_NS = 20_000_000
"""When, after its time, the first frame has been counted."""
_SWITCH_S = 0.15
"""How long a command to single flows may take: an engine prepares frames so long in advance."""


class Traffic:
    """The traffic that runs on these ports, or ran last."""

    def __init__(self, ports: Ports, gateways: Gateways, seed: int) -> None:
        """`seed` is the random seed of simulated devices."""
        self._ports, self._gateways = ports, gateways
        self._seed, self._stream = seed, _FIRST_STREAM
        self.connection: str | None = None
        self.started_by: str | None = None
        """Connections by which the present change came, and by which the last traffic was started; None: not known."""
        self._said = True
        """Whether a client was told if the last traffic is invalid."""

    def set_state(self, state: Node, whole: Node) -> list[str]:
        """Starts, stops, pauses or resumes flows, and returns warnings. Raises PlanError if the engine cannot."""
        names = [str(name) for name in state.scalar("flow_names") or []]
        wanted = str(state.scalar("state"))
        whole.check_all_read()
        self.look()
        match wanted:
            case "stop":
                return self._stop(names)
            case "pause" | "resume":
                flows = self._ports.session.to_switch(names, wanted)
                self._switch(flows, "paused" if wanted == "pause" else "going")
                return []
        flows = self._ports.session.to_start(names)
        warnings = self.unsaid()
        if self._ports.session.transmitting:
            if self._switch(flows, "going"):
                return warnings
            flows = self._ports.session.to_start(names)  # the traffic has just ended: this starts the next one
            warnings += self.unsaid()
        return warnings + self._start(flows)

    def _start(self, flows: Sequence[Flow]) -> list[str]:
        engine, testbed = self._ports.engine, self._ports.testbed
        assert engine is not None and testbed is not None, "a configuration with flows has ports"
        switches = "switches" in engine.capabilities.abilities
        others = [flow for flow in self._ports.session.configuration.flows if switches and flow not in flows]
        lease_of = self._ports.speakers.lease
        flows, waiting = [leased(flow, lease_of) for flow in flows], others
        others = []
        for flow in waiting:
            with suppress(EngineError):  # it cannot join
                others.append(leased(flow, lease_of))
        macs(self._gateways.receivers([*flows, *others]))
        until_s = time.monotonic() + PATIENCE_S
        outlets = partial(self._ports.speakers.lags.outlets, testbed=testbed, until_s=until_s)
        load = trial(flows, outlets, self._gateways.next_hop, others if switches else None, testbed.drain_ns)
        count = len(load.trial.flows)
        if self._stream + count > _STREAMS:
            self._stream = _FIRST_STREAM
        engine.start(load.trial, self._stream, self._seed)
        self._stream += count
        self.started_by = self.connection
        self._ports.session.started(load, [flow.name for flow in flows])
        if engine.capabilities.on_host:
            self._await_load(engine)
        if switches or len(load.streams) == 1:
            return []
        return ["counts of single flows are available when traffic ends; until then they are 0"]

    def _await_load(self, engine: Engine) -> None:
        """Until frames leave: a script that is told that its flows have started may count them at once."""
        until_s = time.monotonic() + _BEGIN_S
        while self._ports.session.transmitting and time.monotonic() < until_s:
            begun_ns = engine.load_begun_ns()
            if begun_ns is not None and time.monotonic_ns() > begun_ns + _SEEN_NS:
                break
            self.look()

    def _stop(self, names: Sequence[str]) -> list[str]:
        flows, is_all = self._ports.session.to_stop(names)
        if not flows:
            return [] if names and self._ports.session.transmitting else self._of_ended()
        if is_all:
            return self.end() + self._of_ended()
        self._switch(flows, "ended")
        return []

    def _switch(self, flows: Sequence[Flow], state: Literal["going", "paused", "ended"]) -> bool:
        """False if the traffic is over; its facts have then been read."""
        engine, session = self._ports.engine, self._ports.session
        assert engine is not None, "traffic runs"
        if "switches" not in engine.capabilities.abilities:
            problem = "the engine starts and ends all flows of a trial together"
            raise PlanError("traffic.flow_transmit.flow_names", problem, "name no flow, or all of them")
        streams = [
            stream for flow in flows for stream in range(session.streams[flow.name].stop)[session.streams[flow.name]]
        ]
        if engine.switch(streams, state):
            session.record_started([flow.name for flow in flows])
            self.look(_SWITCH_S)
            return True
        self._finish()
        return False

    def record(self, causes: Sequence[tuple[EventKind, str]], begun_ns: int) -> None:
        """What a script did from this time until now, by kinds and sources, if traffic runs."""
        first_ns = (
            self._ports.engine.load_begun_ns() if self._ports.engine and self._ports.session.transmitting else None
        )
        if first_ns is not None:
            times = begun_ns - first_ns, time.monotonic_ns() - first_ns
            self._ports.session.causes += [ControlEvent(*cause, *times) for cause in causes]

    def invalid_because(self) -> list[str]:
        """Why the last traffic is invalid for the device, for the answer to a client."""
        self._said = True
        return invalid_because(self._ports.session)

    def _of_ended(self) -> list[str]:
        """What a client must know of the last traffic."""
        return self.invalid_because() + self._said_of_valid()

    def _said_of_valid(self) -> list[str]:
        """What does not make it invalid: ports that had no link, and what is not counted."""
        session = self._ports.session
        return (without_links(session.facts) if session.facts is not None else []) + untracked(session)

    def unsaid(self) -> list[str]:
        """The same, of traffic that ended by itself, if no client was told."""
        if self._said:
            return []
        return [f"the last traffic is invalid: {reason}" for reason in self.invalid_because()] + self._said_of_valid()

    def look(self, seconds: float = _LOOK_S) -> None:
        """Reads the engine's progress; a script that polls without a pause waits here for a moment."""
        if not self._ports.session.transmitting or self._ports.engine is None:
            return
        progress = self._ports.engine.wait(seconds)
        if progress.finished:
            self._finish()
        else:
            self._ports.session.looked(progress, time.monotonic())

    def end(self) -> list[str]:
        """Stops traffic; returns warnings if it had not begun."""
        if not self._ports.session.transmitting or self._ports.engine is None:
            return []
        self._ports.engine.stop()
        try:
            self._finish()
        except EngineError as error:
            return [str(error)]
        return []

    def _finish(self) -> None:
        assert self._ports.engine is not None
        try:
            facts, _ = self._ports.engine.finish()
        except EngineError:
            self._ports.session.ended(None)
            raise
        self._ports.session.ended(facts)
        self._said = False

    def check_still(self, remedy: str) -> None:
        """Raises Occupied while traffic runs. Waits for one that has sent all frames: a script goes on when it has
        counted them."""
        with suppress(EngineError):  # a client that asks for the traffic is told that it failed
            self.look()
            until_s = time.monotonic() + _DRAIN_S
            while self._ports.session.drains and time.monotonic() < until_s:
                self.look()
        if self._ports.session.transmitting:
            raise Occupied("config", "traffic is running, and cannot be changed meanwhile", remedy)
