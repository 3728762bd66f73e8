"""`Aggregation`: the LAGs of a configuration, from their start to their stop.

keisoku translates, Open vSwitch speaks. Nothing runs before `start`, and nothing after `stop`. A static LAG at which no
device is needs nothing that runs.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from keisoku.errors import EngineError, PlanError
from keisoku.faces.otg.device.device import Interface
from keisoku.faces.otg.device.lag import Lag, LagMember
from keisoku.faces.otg.flow.flow import End
from keisoku.faces.otg.lacp.states import MemberState, lacp_metric, member_states
from keisoku.faces.otg.lldp.agent import LldpAgent
from keisoku.ground.lab.tester_lags import LagPlace, MemberPlace, TesterLags, member
from keisoku.subjects.device.testbed.testbed import Testbed

Document = dict[str, Any]
PATIENCE_S = 3.0
"""How long the start of traffic waits until its LAGs are up: protocols may have been started just before."""
_LOOK_S = 0.05


class Aggregation:
    """Those of one configuration, by their names."""

    def __init__(self, lags: Sequence[Lag], interfaces: Sequence[Interface]) -> None:
        self.by_name = {lag.name: lag for lag in lags}
        inhabited = {interface.lag for interface in interfaces}
        spoken = [lag for lag in lags if lag.members and (lag.lacp is not None or lag in inhabited)]
        self._numbers = {lag: number for number, lag in enumerate(spoken)}
        self._running: TesterLags | None = None

    def check(self, testbed: Testbed, agents: Collection[LldpAgent]) -> None:
        """Raises PlanError, with the path, for LAGs that cannot be at these ports, beside LLDP agents."""
        for lag in self._numbers:
            for one in lag.members:
                if testbed.interface(one.port) is None:
                    problem = f"there is no interface of this host at {one.name}, and LAGs are spoken at interfaces"
                    raise PlanError(lag.path, problem, "use a lab, or ports of this host")
                beside = next((agent for agent in agents if agent.port == one.port), None)
                if beside is not None:
                    problem = f"{one.name} is a member of the LAG {lag.name}, whose frames Open vSwitch takes"
                    raise PlanError(f"{beside.path}.connection.port_name", problem, "use another port")

    def start(self, testbed: Testbed) -> None:
        """Starts all, unless they run. Raises PlanError where there is no Open vSwitch, EngineError if it does not
        start."""
        if self._running is not None or not self._numbers:
            return
        running = TesterLags([_place(testbed, lag) for lag in self._numbers])
        running.__enter__()
        self._running = running

    def stop(self) -> None:
        """Ends all; no error if none runs."""
        running, self._running = self._running, None
        if running is not None:
            running.close()

    def interface(self, lag: Lag) -> tuple[str, Path]:
        """The interface of a LAG that runs, and its namespace."""
        assert self._running is not None, "LAGs are started before what is at them"
        return self._running.interface(self._numbers[lag])

    def set_members(self, names: Sequence[str], field: str, up: bool) -> None:
        """Members take part in their LAGs, or do not; by their ports' names, all without a name. Raises PlanError for
        one that speaks no LACP, and before the start."""
        known = {one.name: (lag, one) for lag in self._numbers if lag.lacp is not None for one in lag.members}
        unknown = next((name for name in names if name not in known), None)
        if unknown is not None:
            raise PlanError(field, f"{unknown} is no member of a LAG with LACP", "name one")
        if self._running is None:
            raise PlanError(field, "the protocols are not started", "start them first")
        for lag, one in [known[name] for name in names or known]:
            self._running.set_member(self._numbers[lag], lag.members.index(one), up)

    def named(self, names: Sequence[str], field: str) -> list[Lag]:
        """LAGs by name; all without a name. Raises PlanError for an unknown name."""
        unknown = next((name for name in names if name not in self.by_name), None)
        if unknown is not None:
            raise PlanError(field, f"there is no LAG {unknown}", "name one of the configuration")
        return [self.by_name[name] for name in names or self.by_name]

    def ports_up(self, lag: Lag, testbed: Testbed) -> list[int]:
        """The ports of a LAG that carry frames now."""
        if lag.lacp is not None:
            return [one.port for one, state in self._states(lag).items() if state.carries]
        return [port for port in lag.ports if testbed.link_is_up(port)]

    def outlets(self, end: End, testbed: Testbed, until_s: float) -> Sequence[int]:
        """Ports by which frames of an end leave: those of a LAG that is up. Raises EngineError if it is still down at a
        time of the monotonic clock."""
        lag = end.lag
        if lag is None:
            return end.ports
        while len(found := self.ports_up(lag, testbed)) < max(1, lag.min_links):
            if time.monotonic() > until_s or (lag.lacp is not None and self._running is None):
                wanted = f"{lag.min_links} of its members" if lag.min_links > 1 else "a member"
                raise EngineError(f"the LAG {lag.name} is down: it needs {wanted} up, and has {len(found)}")
            time.sleep(_LOOK_S)
        return found

    def metrics(self, lag: Lag) -> list[Document]:
        """LACP's metrics of the members of a LAG; none of a static one."""
        if lag.lacp is None:
            return []
        return [lacp_metric(lag, one.name, state) for one, state in self._states(lag).items()]

    def _states(self, lag: Lag) -> Mapping[LagMember, MemberState]:
        if self._running is None or lag not in self._numbers:
            return dict.fromkeys(lag.members, MemberState())
        number = self._numbers[lag]
        found = member_states(*self._running.lacp_state(number))
        return {one: found.get(member(number, at), MemberState()) for at, one in enumerate(lag.members)}


def _place(testbed: Testbed, lag: Lag) -> LagPlace:
    members = []
    for one in lag.members:
        place = testbed.interface(one.port)
        assert place is not None, "such a configuration was refused"
        numbers = {"port-id": one.number, "port-priority": one.priority, "aggregation-key": lag.lacp and lag.lacp.key}
        own = {f"lacp-{name}": str(value) for name, value in numbers.items() if value} if lag.lacp else {}
        members.append(MemberPlace(*place, own))
    if lag.lacp is None:
        return LagPlace(members, None, {})
    settings = {"lacp-time": "fast" if lag.lacp.fast else "slow"}
    if lag.lacp.system_id is not None:
        settings["lacp-system-id"] = lag.lacp.system_id
    if lag.lacp.system_priority:
        settings["lacp-system-priority"] = str(lag.lacp.system_priority)
    return LagPlace(members, "active" if lag.lacp.active else "passive", settings)
