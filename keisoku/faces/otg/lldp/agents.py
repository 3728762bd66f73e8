"""`Agents`: the LLDP agents of a configuration, from their start to their stop.

keisoku translates, lldpd speaks. Nothing runs before `start`, and nothing after `stop`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keisoku.errors import PlanError
from keisoku.faces.otg.device.device import Interface
from keisoku.faces.otg.lldp.agent import DESCRIPTION, LldpAgent
from keisoku.faces.otg.lldp.states import lldp_metric, neighbour_states
from keisoku.ground.host.capability import missing
from keisoku.ground.lab.tester_agents import RIGHTS, AgentPlace, TesterAgents
from keisoku.subjects.device.testbed.testbed import Testbed

Document = dict[str, Any]
MOST_NEIGHBOURS = 1024
"""Of an agent; lldpd keeps 32 if nothing is said."""


class Agents:
    """Those of one configuration, by their names."""

    def __init__(self, agents: Sequence[LldpAgent]) -> None:
        self.by_name = {agent.name: agent for agent in agents}
        self._numbers = {name: number for number, name in enumerate(self.by_name)}
        self._running: TesterAgents | None = None

    def check(self, testbed: Testbed, interfaces: Sequence[Interface]) -> None:
        """Raises PlanError, with the path, for agents that cannot be at these ports, beside routers' `interfaces`."""
        for agent in self.by_name.values():
            if testbed.interface(agent.port) is None:
                problem = "there is no interface of this host at the port, and lldpd speaks at interfaces"
                raise PlanError(agent.path, problem, "use a lab, or ports of this host")
            if absent := missing(RIGHTS):
                problem = f"lldpd does not run with the rights of this server, which has no {absent[0]}"
                raise PlanError(agent.path, problem, "start the server with --user root")
            if any((one.port, one.mac.lower()) == (agent.port, agent.mac) for one in interfaces):
                problem = "a device at the port has this address"
                raise PlanError(f"{agent.path}.port_id.mac_address_subtype", problem, "use another one")

    def start(self, testbed: Testbed) -> None:
        """Starts all, unless they run. Raises PlanError where there is no lldpd, EngineError if it does not start."""
        if self._running is not None or not self.by_name:
            return
        running = TesterAgents([_place(testbed, agent) for agent in self.by_name.values()])
        running.__enter__()
        self._running = running

    def stop(self) -> None:
        """Ends all; no error if none runs. Their neighbours are told."""
        running, self._running = self._running, None
        if running is not None:
            running.close()

    def metric(self, agent: LldpAgent) -> Document:
        """The metric of one."""
        return lldp_metric(agent, next(iter(self._told(agent, "show", "statistics")), {}))

    def neighbours(self, agent: LldpAgent) -> list[Document]:
        """The states of what one has found."""
        return list(neighbour_states(agent, self._told(agent, "show", "neighbors", "details")))

    def _told(self, agent: LldpAgent, *words: str) -> Sequence[Mapping[str, Any]]:
        return [] if self._running is None else self._running.ask(self._numbers[agent.name], *words)


def _place(testbed: Testbed, agent: LldpAgent) -> AgentPlace:
    place = testbed.interface(agent.port)
    assert place is not None, "such a configuration was refused"
    name = agent.interface or place[0]
    return AgentPlace(name, *place, agent.mac, agent.chassis_mac, commands(agent, name))


def commands(agent: LldpAgent, interface: str) -> list[str]:
    """What lldpcli is to tell the daemon of an agent at an interface of the kernel."""
    return [
        f"configure system max-neighbors {MOST_NEIGHBOURS}",
        f"configure lldp tx-interval {agent.interval_s}",
        f"configure lldp tx-hold {agent.hold_s // agent.interval_s}",
        f"configure system hostname {_quoted(agent.system_name)}",
        f"configure system description {_quoted(DESCRIPTION)}",
        *([f"configure system chassisid {_quoted(agent.chassis)}"] if agent.chassis is not None else []),
        "configure lldp portidsubtype " + ("ifname" if agent.mac is None else "macaddress"),
        *([f"configure ports {interface} lldp portidsubtype local {_quoted(agent.label)}"] if agent.label else []),
        *(
            f"configure ports {interface} lldp custom-tlv add oui {tlv.oui.hex(',')} subtype {tlv.subtype}"
            + (f" oui-info {tlv.content.hex(',')}" if tlv.content else "")
            for tlv in agent.tlvs
        ),
    ]


def _quoted(text: str) -> str:
    """A text as one word of lldpcli."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
