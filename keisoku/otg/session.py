"""What a script has set up and set going: OTG's states, and what it may do in each. No input, no output, no clock."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Literal

from keisoku.device.engine.engine import Progress, StreamProgress
from keisoku.device.record.trial import Facts, Trial
from keisoku.errors import PlanError
from keisoku.otg.configuration import Configuration
from keisoku.otg.flow import Flow
from keisoku.otg.load import Load
from keisoku.otg.tag import TagKey

_STATE = "traffic.flow_transmit"
_RATE_S = 1.0
"""Rates are means over this time, or over all the time since the traffic began."""
DRAIN_S = 0.5
"""How long counts of a flow that has ended must stay before it is stopped, where others go on."""


class TrafficSession:
    """One configuration and its traffic.

    Idle → traffic → idle. A start while idle clears all counts, and a stop keeps them. While traffic runs, flows that
    were not started join it, and those that run pause, go on and end; what has ended in it starts again with the next.
    """

    def __init__(self) -> None:
        self.configuration = Configuration((), (), (), {}, {})
        self.protocols = False
        """Whether the tester's hosts answer."""
        self.transmitting: tuple[str, ...] = ()
        """Names of the flows of the traffic that runs that were started, whatever has become of them since."""
        self.switched = False
        """Whether flows were started, paused or ended by themselves since the traffic began."""
        self.trial: Trial | None = None
        self.streams: dict[str, slice] = {}
        """Which streams of the trial are each flow's."""
        self.tags: tuple[TagKey, ...] = ()
        """By stream, the values of its flow's tags."""
        self.facts: Facts | None = None
        """Of the last traffic, once it is over."""
        self._looks: deque[Progress] = deque()
        self._still: dict[str, tuple[tuple[StreamProgress, ...], float]] = {}
        """Of flows that have ended while others go on: their counts, and since when those have not changed."""
        self._settled: set[str] = set()

    def configured(self, configuration: Configuration) -> None:
        """A new configuration replaces everything."""
        self.__init__()  # type: ignore[misc]  # a session begins anew
        self.configuration = configuration

    @property
    def progress(self) -> Progress | None:
        """The last look at traffic that runs."""
        return self._looks[-1] if self._looks else None

    @property
    def progress_before(self) -> Progress | None:
        """The look that rates are counted from: about a second before the last one."""
        return self._looks[0] if len(self._looks) > 1 else None

    def to_start(self, names: Sequence[str]) -> list[Flow]:
        """Flows to be started; no name means all. Raises PlanError if they cannot be now."""
        chosen = self._named(names)
        if not chosen:
            raise PlanError(f"{_STATE}.flow_names", "the configuration has no flow", "set one first")
        if not self.transmitting:
            return chosen
        for flow in chosen:
            state = self.state(flow)
            if flow.name in self.transmitting and state != "paused":
                said = "has ended in the traffic that runs" if state == "stopped" else "runs already"
                remedy = "stop all flows, then start those that are to run"
                raise PlanError(f"{_STATE}.flow_names", f"{flow.name} {said}", remedy)
            if flow.name not in self.streams:
                problem = f"{flow.name} is not part of the traffic that runs"
                raise PlanError(f"{_STATE}.flow_names", problem, "stop all flows, then start them together")
        return chosen

    def to_switch(self, names: Sequence[str], wanted: str) -> list[Flow]:
        """Flows to be paused or to go on, those that can be. Raises PlanError if there is none."""
        now = {"pause": "started", "resume": "paused"}[wanted]
        found = [flow for flow in self._named(names) if flow.name in self.transmitting and self.state(flow) == now]
        if not found:
            raise PlanError(f"{_STATE}.state", f"no flow to {wanted} is {now}", "start it first")
        return found

    def to_stop(self, names: Sequence[str]) -> tuple[list[Flow], bool]:
        """Flows to be stopped, of those that were started, and whether that is all that still goes or is paused."""
        chosen = [flow for flow in self._named(names) if flow.name in self.transmitting]
        others = [flow for flow in self._named([]) if flow.name in self.transmitting and flow not in chosen]
        return chosen, all(self.state(flow) == "stopped" for flow in others)

    def started(self, load: Load, names: Sequence[str]) -> None:
        """The engine carries out a trial of these flows, of which those with `names` go."""
        self.trial, self.streams, self.tags, self.transmitting = load.trial, load.streams, load.tags, tuple(names)
        self.facts, self.switched = None, False
        self._forget()

    def joined(self, names: Sequence[str]) -> None:
        """Flows go as well, or go on, that did not before."""
        self.transmitting = tuple(dict.fromkeys([*self.transmitting, *names]))
        self.switched = True

    def looked(self, progress: Progress, now_s: float) -> None:
        """What the engine says of the traffic that runs, at a time of a monotonic clock."""
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
        """The last look at the streams of a flow; empty if the engine tells nothing of single ones."""
        found = self.progress.streams if self.progress is not None else ()
        return found[self.streams[name]] if found and name in self.streams else ()

    def state(self, flow: Flow) -> Literal["started", "paused", "stopped"]:
        """OTG's state of a flow. One that has sent all its frames counts as started until none can arrive any more."""
        if flow.name not in self.transmitting or flow.name in self._settled:
            return "stopped"
        states = {part.state for part in self.live(flow.name)}
        return "paused" if "paused" in states and "going" not in states else "started"

    def ended(self, facts: Facts | None) -> None:
        """The traffic is over; without facts it failed before its first frame."""
        self.transmitting = ()
        self.facts = facts
        self._forget()

    def _forget(self) -> None:
        self._looks.clear()
        self._still.clear()
        self._settled.clear()

    def flows(self, names: Sequence[str], field: str) -> list[Flow]:
        """Flows by name, all without one. Raises PlanError for a name that is none."""
        return self._named(names, field)

    def ports(self, names: Sequence[str], field: str) -> list[int]:
        """Indices of ports likewise."""
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
