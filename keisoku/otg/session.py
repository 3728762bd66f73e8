"""What a script has set up and set going: OTG's states, and what it may do in each. No input, no output, no clock."""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.engine import Progress
from keisoku.errors import PlanError
from keisoku.otg.configuration import Configuration
from keisoku.otg.flow import Flow
from keisoku.record.trial import Facts, Trial

_STATE = "traffic.flow_transmit"


class Session:
    """One configuration and its traffic.

    Idle → traffic → idle. A start clears all counts, and a stop keeps them. While traffic runs nothing else may be
    started, because all flows of a trial are on one clock from its beginning.
    """

    def __init__(self) -> None:
        self.configuration = Configuration((), (), (), {}, {})
        self.protocols = False
        """Whether the tester's hosts answer."""
        self.transmitting: tuple[str, ...] = ()
        """Names of the flows that are being sent."""
        self.trial: Trial | None = None
        self.streams: dict[str, slice] = {}
        """Which streams of the trial are each flow's."""
        self.facts: Facts | None = None
        """Of the last traffic, once it is over."""
        self.progress: Progress | None = None
        """Of traffic that runs: the last two looks at it, so that there is a rate."""
        self.progress_before: Progress | None = None

    def configured(self, configuration: Configuration) -> None:
        """A new configuration replaces everything."""
        self.__init__()  # type: ignore[misc]  # a session begins anew
        self.configuration = configuration

    def to_start(self, names: Sequence[str]) -> list[Flow]:
        """Flows to be started; no name means all. Raises PlanError if they cannot be now."""
        chosen = self._named(names)
        if self.transmitting:
            running = ", ".join(self.transmitting)
            raise PlanError(
                f"{_STATE}.state", f"traffic runs already ({running})", "stop it, then start all that is to run"
            )
        if not chosen:
            raise PlanError(f"{_STATE}.flow_names", "the configuration has no flow", "set one first")
        return chosen

    def started(self, trial: Trial, streams: dict[str, slice]) -> None:
        """The engine carries out a trial of these flows."""
        self.trial, self.streams, self.transmitting = trial, streams, tuple(streams)
        self.facts = self.progress = self.progress_before = None

    def to_stop(self, names: Sequence[str]) -> bool:
        """Whether there is anything to stop. Raises PlanError if only some of the flows that run are to be."""
        chosen = {flow.name for flow in self._named(names)}
        left = [name for name in self.transmitting if name not in chosen]
        if left and len(left) < len(self.transmitting):
            problem = f"{', '.join(left)} would go on, and keisoku stops the flows of a trial together"
            raise PlanError(f"{_STATE}.flow_names", problem, "stop all flows")
        return bool(self.transmitting) and not left

    def looked(self, progress: Progress) -> None:
        """What the engine says of the traffic that runs."""
        self.progress_before, self.progress = self.progress, progress

    def ended(self, facts: Facts | None) -> None:
        """The traffic is over; without facts it failed before its first frame."""
        self.transmitting = ()
        self.facts = facts
        self.progress = self.progress_before = None

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
