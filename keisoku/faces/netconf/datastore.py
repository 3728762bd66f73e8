"""`Datastore`: what commits of a client do to the ports of the server's controller, and what it then reads of them.

A generator sends from its commit until its frames are sent or it is deleted. All generators of a commit are on one
clock. While one sends, others can be deleted, but nothing can be added. It knows no transport.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from keisoku.errors import Occupied, PlanError
from keisoku.faces.netconf.model import Interface, interfaces
from keisoku.faces.netconf.statistics import Counts, Sent, of_stream, total
from keisoku.faces.netconf.translation import configuration, flow_names, ports, yang_path
from keisoku.faces.otg.configuration import Configuration
from keisoku.faces.otg.control.controller import Controller
from keisoku.faces.service.traffic import EndedTraffic
from keisoku.subjects.device.testbed.testbed import Testbed

Document = dict[str, Any]
_WHO = "a NETCONF client"


@dataclass
class _Analyzer:
    """What an analyzer has seen of traffic before that which is counted now."""

    before: Counts
    since: int
    """Number of the traffic from which it counts, as one that is created after a traffic has not seen it."""


class Datastore:
    """The configured interfaces. It may be called from different threads."""

    def __init__(self, controller: Controller, speed: float | None) -> None:
        """`speed`: the line rate, in bit/s, of ports that have none of their own."""
        self._controller, self._speed = controller, speed
        self._lock = threading.Lock()
        self._interfaces: tuple[Interface, ...] = ()
        self._places: list[str] = []
        """Names of the ports that are open, in the controller's order."""
        self._traffic = 0
        """How many were started."""
        self._analyzers: dict[str, _Analyzer] = {}

    def commit(self, config: str) -> None:
        """Carries out a datastore. Raises PlanError, with the path in it, for what cannot be done; nothing has changed
        then, unless ports fail to open."""
        wanted = interfaces(config)
        with self._lock:
            if wanted == self._interfaces:
                return
            try:
                self._controller.ask(_WHO, lambda: self._carry_out(wanted), changes=True)
            except PlanError as error:
                raise yang_path(error, wanted) from error

    def analyzer(self, name: str) -> Counts:
        """What the analyzer of an interface has seen."""
        with self._lock:
            own = self._analyzers.get(name)
            if own is None:
                return Counts()
            return own.before + self._seen(name) if self._traffic > own.since else own.before

    def generator(self, name: str) -> Sent:
        """What became of the traffic of an interface's generator."""
        with self._lock:
            own = next((one for one in self._interfaces if one.name == name), None)
            if own is None or own.generator is None:
                return Sent()
            names = flow_names(name, own.generator)
            metrics = self._metrics(names)
            offered = sum(each["frames_tx"] for each in metrics)
            going = any(each["transmit"] == "started" for each in metrics)
            last = self._last()
            if going or last is None or any(each not in last.flows for each in names):
                return Sent(going, offered)
            lost = sum(stream.tracked.lost_frames for _, parts in last.parts(names) for stream in parts)
            return Sent(False, offered, lost, tuple(last.invalid_because))

    def _carry_out(self, wanted: Sequence[Interface]) -> None:
        before, after = _generators(self._interfaces), _generators(wanted)
        changed = [name for name, generator in after.items() if generator != before.get(name)]
        gone = [name for name in before if before[name] != after.get(name)]
        new = {one.name for one in wanted if one.analyzes} - self._analyzers.keys()
        going = [name for name in self._going() if name not in gone]
        places = [one.name for one in wanted]
        moved = places != self._places and not (going and set(places) <= set(self._places))
        if going and (changed or new or moved):
            path = next((one.path for one in wanted if one.name in changed or one.name in new), "/interfaces")
            problem = f"the traffic-generator of {going[0]} sends, and nothing can be added meanwhile"
            raise Occupied(path, problem, "wait until its frames are sent, or delete it in the same commit")
        if changed or moved:
            self._replace(wanted, gone)
        else:
            self._stop(gone)
        self._interfaces = tuple(wanted)
        kept = {one.name for one in wanted if one.analyzes}
        self._analyzers = {name: each for name, each in self._analyzers.items() if name in kept}
        self._analyzers |= {name: _Analyzer(Counts(), self._traffic) for name in new}
        if changed:
            self._traffic += 1
            self._set("start", [name for each in changed if (of := after[each]) for name in flow_names(each, of)])

    def _replace(self, wanted: Sequence[Interface], gone: Sequence[str]) -> None:
        def accept(testbed: Testbed | None) -> Configuration:
            found = configuration(wanted, testbed, self._speed)
            # Only now, as a datastore that is refused changes nothing. What was counted goes with the configuration.
            self._stop(gone)
            for name, one in self._analyzers.items():
                if self._traffic > one.since:
                    one.before, one.since = one.before + self._seen(name), self._traffic
            self._interfaces, self._places = (), []
            return found

        self._controller.adopt(ports(wanted), accept)
        self._places = [one.name for one in wanted]

    def _going(self) -> list[str]:
        """Interfaces whose generators send."""
        names = {flow: name for name, of in _generators(self._interfaces).items() for flow in flow_names(name, of)}
        found = self._metrics([*names]) if names else []
        return [*dict.fromkeys(names[each["name"]] for each in found if each["transmit"] == "started")]

    def _stop(self, gone: Sequence[str]) -> None:
        going = [name for name in self._going() if name in gone]
        before = _generators(self._interfaces)
        if going:
            self._set("stop", [flow for name in going for flow in flow_names(name, before[name])])

    def _set(self, state: str, flows: Sequence[str]) -> None:
        transmit = {"state": state, "flow_names": list(flows)}
        traffic = {"choice": "flow_transmit", "flow_transmit": transmit}
        self._controller.set_control_state({"choice": "traffic", "traffic": traffic})

    def _seen(self, name: str) -> Counts:
        """At a port, of the present or the last traffic."""
        (whole,) = self._asked("port", {"port_names": [name]})
        octets = test_frames = 0
        for metric in self._metrics([]):
            for tagged in metric.get("tagged_metrics", []):
                if tagged["tags"][0]["value"].get("str") == name:
                    test_frames += tagged["frames_rx"]
                    octets += tagged["bytes_rx"]
        packets = max(whole["frames_rx"], test_frames)
        last = self._last()
        parts = [Counts(sequence_errors=None, payload_errors=None, latencies=None)]
        if last is not None:
            parts = [of_stream(stream, self._places.index(name)) for stream in last.facts.streams]
        # Sizes of frames of others are not kept.
        return total(parts, packets, octets if packets == test_frames else None, test_frames)

    def _metrics(self, flows: Iterable[str]) -> list[Document]:
        return self._asked("flow", {"flow_names": list(flows)})

    def _asked(self, kind: str, what: Document) -> list[Document]:
        answer = self._controller.ask(_WHO, self._controller.get_metrics, {"choice": kind, kind: what})
        found: list[Document] = answer[f"{kind}_metrics"]
        return found

    def _last(self) -> EndedTraffic | None:
        """The traffic that is over; None while one runs, and before the first."""
        found = self._controller.last_traffic()
        return found if isinstance(found, EndedTraffic) else None


def _generators(found: Sequence[Interface]) -> dict[str, Any]:
    return {one.name: one.generator for one in found if one.generator is not None}
