"""The state of a script's configuration and traffic: OTG's states, and what is allowed in each. No I/O, no clock."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Literal

from keisoku.errors import PlanError
from keisoku.faces.otg.configuration import Configuration
from keisoku.faces.otg.flow.flow import Flow
from keisoku.faces.otg.flow.tag import TagKey
from keisoku.faces.otg.traffic.convergence import ControlEvent
from keisoku.faces.otg.traffic.flow_trial import FlowTrial
from keisoku.ground.frame.rates import NS_PER_S
from keisoku.subjects.device.engine.engine import Progress, StreamProgress
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.gaps import Gap
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.validity import INTERRUPTED, reasons

_STATE = "traffic.flow_transmit"
_RATE_S = 1.0
"""Rates are means over this time, or over the whole time since the traffic began."""
DRAIN_S = 0.5
"""How long counts of an ended flow must be constant before it counts as stopped, while others continue."""


class TrafficSession:
    """One configuration and its traffic.

    Idle → traffic → idle. A start while idle clears all counts, and a stop keeps them. While traffic runs, flows that
    were not started can join it, and others can be paused, resumed and ended; an ended flow starts again with the next
    traffic.
    """

    def __init__(self) -> None:
        self.configuration = Configuration((), (), (), {}, {})
        self.answers = False
        """Whether the tester's hosts answer."""
        self.transmitting: tuple[str, ...] = ()
        """Names of the flows that were started in the running traffic, in any state."""
        self.switched = False
        """Whether flows were started, paused or ended separately since the traffic began."""
        self.trial: Trial | None = None
        self.streams: dict[str, slice] = {}
        """Which streams of the trial are each flow's."""
        self.tags: tuple[TagKey, ...] = ()
        """By stream, the values of its flow's tags."""
        self.facts: Facts | None = None
        """Facts of the last traffic, once it is over."""
        self.causes: list[ControlEvent] = []
        """Links and ranges of routes that the script has set since the traffic began."""
        self.gaps: Sequence[Gap | None] = ()
        """While traffic runs, by stream, the longest gap until now; empty where the engine does not tell."""
        self._looks: deque[Progress] = deque()
        self._still: dict[str, tuple[tuple[StreamProgress, ...], float]] = {}
        """For ended flows while others continue: their counts, and since when these have not changed."""
        self._settled: set[str] = set()

    def configured(self, configuration: Configuration) -> None:
        """A new configuration replaces everything."""
        self.__init__()  # type: ignore[misc]  # a session begins anew
        self.configuration = configuration

    @property
    def progress(self) -> Progress | None:
        """The last progress of the running traffic."""
        return self._looks[-1] if self._looks else None

    @property
    def progress_before(self) -> Progress | None:
        """The progress from which rates are computed: about a second before the last one."""
        return self._looks[0] if len(self._looks) > 1 else None

    @property
    def drains(self) -> bool:
        """Whether traffic runs that has sent all its frames, so that it ends by itself at once."""
        progress, trial = self.progress, self.trial
        if not self.transmitting or progress is None or trial is None:
            return False
        if progress.streams:
            return all(part.state == "ended" for name in self.transmitting for part in self.live(name))
        return progress.expected_s - progress.elapsed_s <= trial.phases.drain_ns / NS_PER_S

    def to_start(self, names: Sequence[str]) -> list[Flow]:
        """Flows to be started; no name means all. Raises PlanError if they cannot be started now."""
        chosen = self._named(names)
        if not chosen:
            raise PlanError(f"{_STATE}.flow_names", "the configuration has no flow", "set one first")
        if not self.transmitting:
            return chosen
        for flow in chosen:
            state = self.state(flow)
            if flow.name in self.transmitting and state != "paused":
                said = "has ended in the running traffic" if state == "stopped" else "is already running"
                remedy = "stop all flows, then start the wanted ones"
                raise PlanError(f"{_STATE}.flow_names", f"{flow.name} {said}", remedy)
            if flow.name not in self.streams:
                problem = f"{flow.name} is not part of the running traffic"
                raise PlanError(f"{_STATE}.flow_names", problem, "stop all flows, then start them together")
        return chosen

    def to_switch(self, names: Sequence[str], wanted: str) -> list[Flow]:
        """Flows that can be paused or resumed now. Raises PlanError if there is none."""
        now = {"pause": "started", "resume": "paused"}[wanted]
        found = [flow for flow in self._named(names) if flow.name in self.transmitting and self.state(flow) == now]
        if not found:
            raise PlanError(f"{_STATE}.state", f"no flow to {wanted} is {now}", "start it first")
        return found

    def to_stop(self, names: Sequence[str]) -> tuple[list[Flow], bool]:
        """Flows to be stopped, of those that were started, and whether no other flow is running or paused."""
        chosen = [flow for flow in self._named(names) if flow.name in self.transmitting]
        others = [flow for flow in self._named([]) if flow.name in self.transmitting and flow not in chosen]
        return chosen, all(self.state(flow) == "stopped" for flow in others)

    def started(self, load: FlowTrial, names: Sequence[str]) -> None:
        """Records that the engine carries out a trial of these flows, of which those with `names` send."""
        self.trial, self.streams, self.tags, self.transmitting = load.trial, load.streams, load.tags, tuple(names)
        self.facts, self.switched, self.causes = None, False, []
        self._forget()

    def record_started(self, names: Sequence[str]) -> None:
        """Records that further flows were started or resumed."""
        self.transmitting = tuple(dict.fromkeys([*self.transmitting, *names]))
        self.switched = True

    def looked(self, progress: Progress, now_s: float) -> None:
        """Records the engine's progress at a time of a monotonic clock."""
        if self._looks and self._looks[-1].streams and not progress.streams:
            return  # The load is over and its facts are not read yet: counters of flows must not go back to zero.
        self._looks.append(progress)
        while len(self._looks) > 2 and self._looks[1].elapsed_s <= progress.elapsed_s - _RATE_S:
            self._looks.popleft()
        for name in self.transmitting:
            parts = self.live(name)
            if name in self._settled or not parts or any(part.state != "ended" for part in parts):
                continue
            counts, since_s = self._still.get(name, (None, now_s))
            if counts != parts:
                self._still[name] = (parts, now_s)
            elif now_s - since_s >= DRAIN_S:
                self._settled.add(name)

    def live(self, name: str) -> tuple[StreamProgress, ...]:
        """The last progress of a flow's streams; empty if the engine does not report single streams."""
        found = self.progress.streams if self.progress is not None else ()
        return found[self.streams[name]] if found and name in self.streams else ()

    def state(self, flow: Flow) -> Literal["started", "paused", "stopped"]:
        """OTG's state of a flow. A flow that has sent all frames counts as started until no more can arrive."""
        if flow.name not in self.transmitting or flow.name in self._settled:
            return "stopped"
        states = {part.state for part in self.live(flow.name)}
        return "paused" if "paused" in states and "going" not in states else "started"

    def ended(self, facts: Facts | None) -> None:
        """Records the end of the traffic; without facts it failed before its first frame."""
        self.transmitting = ()
        self.facts = facts
        self._forget()

    def _forget(self) -> None:
        self.gaps = ()
        self._looks.clear()
        self._still.clear()
        self._settled.clear()

    def flows(self, names: Sequence[str], field: str) -> list[Flow]:
        """Flows by name; all without a name. Raises PlanError for an unknown name."""
        return self._named(names, field)

    def ports(self, names: Sequence[str], field: str) -> list[int]:
        """Indices of ports by name; all without a name. Raises PlanError for an unknown name."""
        known = [port.name for port in self.configuration.ports]
        unknown = next((name for name in names if name not in known), None)
        if unknown is not None:
            raise PlanError(field, f"there is no port {unknown}", "name one of the configuration")
        return [known.index(name) for name in names] if names else list(range(len(known)))

    def _named(self, names: Sequence[str], field: str = f"{_STATE}.flow_names") -> list[Flow]:
        flows = {flow.name: flow for flow in self.configuration.flows}
        unknown = next((name for name in names if name not in flows), None)
        if unknown is not None:
            raise PlanError(field, f"there is no flow {unknown}", "name one of the configuration")
        return [flows[name] for name in names] if names else list(flows.values())


def invalid_because(session: TrafficSession) -> list[str]:
    """Because of the tester or its host; empty if it is valid, and without traffic. A stop does not make a flow without
    an end invalid."""
    if session.trial is None or session.facts is None:
        return []
    load, facts = session.trial, session.facts
    if load.switches:
        # Flows that were never started were not intended; interruptions of others were intended by the script.
        pairs = zip(load.flows, load.switches, strict=True)
        load = load.model_copy(update={"flows": tuple(flow for flow, switch in pairs if not switch.waits)})
    if session.switched:
        facts = facts.model_copy(update={"interrupted": True})
    return [reason for reason in reasons(load, facts) if reason != INTERRUPTED]
