"""`Lab`: a device under test and the tester's ports, in namespaces that are removed with the lab.

`topology` connects the ports. The lab never changes an interface or a namespace that it has not made itself.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from keisoku._core import Faulty, SerialLinks
from keisoku._core import Throttle as CoreThrottle
from keisoku.errors import EngineError, PlanError
from keisoku.ground.host.namespace import Namespace, run_in_namespace
from keisoku.ground.lab.daemons import Daemons
from keisoku.ground.lab.device import topology
from keisoku.ground.lab.device.ability import CountingDevice, EventfulDevice, LeadingDevice, ResettableDevice
from keisoku.ground.lab.device.catalogue import find_device
from keisoku.ground.lab.device.counted import Counted
from keisoku.ground.lab.device.device import LEAST_MTU, MOST_MTU, LabDevice, Site
from keisoku.ground.lab.device.faults import Applied, Faults, Outage
from keisoku.ground.lab.device.interface import disable_ipv6, receive_on_core, withhold_errors
from keisoku.ground.lab.device.kernel_part import absence
from keisoku.ground.lab.device.nftables import NFT, withhold_resets
from keisoku.ground.lab.device.passage import Passage
from keisoku.ground.lab.device.port import LabPort
from keisoku.ground.lab.device.serial_line import SerialLine
from keisoku.ground.lab.device.throttle import Throttled
from keisoku.ground.lab.device.wire import Cable, FaultyWire
from keisoku.ground.lab.lifetime import Lifetime

if TYPE_CHECKING:
    from keisoku.ground.frame.variants import Frames

RESET_S = 0.1
"""How long a device is down in a reset: as for a power interruption (RFC 6201 §4.3), the tester chooses it."""
_UNSIGNED = -1
_AHEAD_NS = 20_000_000
"""An outage of `faulty` begins so long after it is asked for, when its program has it. A busy host may hold up the
thread that gives it for some ms; an outage that came late would be shorter than its truth."""


class Lab(Lifetime):
    """A device between tester ports; a context manager, made on entry and removed on any exit.

    `device` is one, or its name (`find_device`). `mtu` is in place of the device's own (`LabDevice.mtu`). With
    `own_core` the DUT works on the second CPU of this process, if it has two; None: where this makes figures repeatable
    (docs/lab.md), which is on three CPUs or more, and for a device that is a program. `faults` is for `faulty` only.

    Raises PlanError for an invalid device, ports, MTU or faults, and where labs are not possible; EngineError if
    making it fails, after removing all that was made.
    """

    def __init__(
        self,
        device: str | LabDevice = "bridge",
        ports: int = 2,
        *,
        mtu: int | None = None,
        own_core: bool | None = None,
        faults: Faults | None = None,
    ) -> None:
        super().__init__()
        self.device = find_device(device) if isinstance(device, str) else device
        self._mtu = self.device.mtu if mtu is None else mtu
        _check(self.device, ports, self._mtu, faults)
        self.kind = self.device.family
        self.l3 = self.device.l3
        self.ports: list[LabPort] = []
        self._count = ports
        self._own_core = own_core
        self._faults = faults or Faults()
        self._faulty: Faulty | None = None
        self._links: SerialLinks | None = None
        self._throttles: list[CoreThrottle] = []
        self._places: list[Namespace] = []
        self._daemons: Daemons | None = None
        self._programs: dict[str, str] = {}
        self._receive_core: dict[str, str] = {}
        self._offloads: dict[str, dict[str, str]] = {}

    def passage(self, tx: int, rx: int) -> Passage:
        """How the device changes a frame from one port to another, by their numbers from 1; only while the lab
        exists."""
        return self.device.passage(self.ports[tx - 1], self.ports[rx - 1])

    def applied(self, stream: int | None = None) -> Applied:
        """What `faulty` has done so far to the frames of one stream, or of all.

        Raises EngineError if the lab is no `faulty` or is closed.
        """
        if self._faulty is None:
            raise EngineError(f"the lab {self.kind} applies no faults")
        streams = self._faulty.applied()
        chosen = [counts for number, counts in streams.items() if number != _UNSIGNED and stream in (None, number)]
        return sum((Applied(**counts) for counts in chosen), Applied())

    def throttled(self) -> list[Throttled]:
        """What capacity and cost have done so far to the frames that arrived at the device's ports, in their order.

        Raises EngineError if the device was given neither, or the lab is closed.
        """
        if not self._throttles:
            raise EngineError(f"the lab {self.kind} has no known capacity and no known cost")
        return [Throttled(**port) for throttle in self._throttles for port in json.loads(throttle.throttled())]

    def counted(self) -> list[Counted]:
        """What the device's own queues, policers or gates did so far at each port, in the order of the ports.

        Raises EngineError if the device counts nothing, or the lab is closed.
        """
        device = self.device
        if not (isinstance(device, CountingDevice) and device.counts) or self._daemons is None:
            raise EngineError(f"the lab {self.kind} counts nothing by itself")
        return [run_in_namespace(port.dut_namespace_path, partial(device.counted, port)) for port in self.ports]

    def rewrite(self, sent: Sequence[Frames], first_stream: int) -> None:
        """Let `faulty` rewrite what it was made to, in streams that send these frames and are numbered from the first.

        Raises PlanError for what it cannot rewrite, EngineError if the lab rewrites nothing or is closed.
        """
        if self._faulty is None or not isinstance(self.device, FaultyWire):
            raise EngineError(f"the lab {self.kind} applies no faults")
        self._faulty.rewrite(json.dumps([asdict(rule) for rule in self.device.rules(sent, first_stream)]))

    def lead_networks(self, number: int, count: int) -> None:
        """Route `count` networks to a port, by its number from 1. Raises PlanError if this device has no routes."""
        device = self.device
        if not (isinstance(device, LeadingDevice) and device.leads):
            raise PlanError(
                "networks", f"{self.kind} has no routes to them", "use lab:router, or a device that bridges"
            )
        port = self.ports[number - 1]
        run_in_namespace(port.dut_namespace_path, lambda: device.lead_networks(port, count))
        self._places[0].run(lambda: device.await_networks(port, count))

    def reset(self) -> None:
        """Reset the device: it forwards nothing for `RESET_S` and then begins again; traffic may continue.

        Raises EngineError if this device cannot be reset.
        """
        device = self.device
        if not (isinstance(device, ResettableDevice) and device.resets) or self._daemons is None:
            raise EngineError(f"the lab {self.kind} cannot be reset")
        first = self._places[0]
        site = Site(self.ports, self._dut_core(), self._daemons, self._places)
        first.run(device.halt)
        time.sleep(RESET_S)
        first.run(lambda: device.restart(site))

    def happen(self, event: str, undo: bool = False) -> int | None:
        """Cause an event in the device, or undo it: the moment in ns of CLOCK_MONOTONIC if the device knows it; None:
        while the call lasted. Raises EngineError if it fails or if this device has no such event."""
        device = self.device
        if event not in device.offered or self._daemons is None:
            raise EngineError(f"the lab {self.kind} has no event '{event}'")
        if isinstance(device, FaultyWire):
            return None if undo else self._interrupt(device.outage_ns)
        site = Site(self.ports, self._dut_core(), self._daemons, self._places)
        if event == "rebooted":
            assert isinstance(device, ResettableDevice)
            self._places[0].run(partial(device.restart, site) if undo else device.halt)
            return None
        assert isinstance(device, EventfulDevice)
        return self._places[0].run(lambda: (device.mend if undo else device.happen)(event, site))

    def line(self) -> dict[str, int]:
        """What the line of `serial` has done so far in the direction from port 1 to port 2, by the names of its counts
        (`in_packets`, `marked_packets`, `dropped_packets`, `late_packets` …).

        Raises EngineError if the lab is no `serial` or is closed.
        """
        if self._links is None:
            raise EngineError(f"the lab {self.kind} has no line with counts")
        counted: dict[str, int] = json.loads(self._links.truth())["lanes"][0]
        return counted

    def interrupt(self, outages: Sequence[Outage]) -> None:
        """Let `faulty` lose every frame of some streams in some times, in place of those given before.

        Raises EngineError if the lab is no `faulty` or is closed.
        """
        if self._faulty is None:
            raise EngineError(f"the lab {self.kind} applies no faults")
        self._faulty.interrupt(json.dumps([asdict(outage) for outage in outages]))

    def _interrupt(self, length_ns: int) -> int:
        begin_ns = time.monotonic_ns() + _AHEAD_NS
        self.interrupt([Outage(begin_ns, begin_ns + length_ns)])
        late_ns = time.monotonic_ns() - begin_ns
        if late_ns >= 0:
            raise EngineError(f"the host held up the lab: its outage may have begun {late_ns} ns late; measure again")
        return begin_ns

    def context(self) -> dict[str, object]:
        """The lab as a record must state it, ready for JSON."""
        return {
            "device": self.kind,
            "name": self.device.name,
            "limits": asdict(self.device.throttle) if self.device.throttle else None,
            "programs": self._programs,
            "ports": [_plain(port) for port in self.ports],
            "mtu_bytes": self._mtu,
            "offloads": self._offloads,
            "dut_core": self._dut_core(),
            "dut_receives_by": self._receive_core,
            "processes": self._daemons.numbers if self._daemons else [],
            "exports": f"{self.device.exports_to}@{self._places[0].name}" if self.device.exports_to else None,
            "namespaces": [namespace.name for namespace in self._namespaces],
        }

    def _create(self, prefix: str) -> None:
        tester = self._add_namespace(f"{prefix}-tester")
        tester.run(withhold_errors)
        if NFT in self.device.programs:
            tester.run(withhold_resets)
        names = () if isinstance(self.device, Cable) else self.device.place_names
        places = self._places = [self._add_namespace(f"{prefix}-{name}") for name in names]
        wires = [
            topology.Wire(
                index,
                tester,
                places[min(index, len(places)) - 1] if places else None,
                self._mtu + self.device.headroom_bytes(index),
            )
            for index in range(1, self._count + 1)
        ]
        self.ports = [wire.port(self.device.addressed(wire.number)) for wire in wires]
        if not places:
            tester.run(lambda: topology.plug_cable(self.ports))
        else:
            daemons = self._daemons = Daemons(places[0].name)
            tester.run(lambda: topology.plug(self.ports, self.device.queues))
            for place in places:
                place.run(partial(self._raise_dut_ports, place))
            if isinstance(self.device, SerialLine):
                self._links = SerialLinks(self.device.bed(places, self._dut_core()))
            site = Site(self.ports, self._dut_core(), daemons, places)
            places[0].run(lambda: self.device.build(site))
        tester.run(self._raise_tester_ports)
        if places:
            places[0].run(lambda: self.device.begin(site))
        if limits := self.device.throttle:
            for place in places:
                self._throttles.append(CoreThrottle(str(place.path), self._ends(place), limits.to_json()))
        if isinstance(self.device, FaultyWire):
            one, other = self._ends(places[0])
            self._faulty = Faulty(str(places[0].path), one, other, self._faults.to_json())

    def _ends(self, place: Namespace) -> list[str]:
        return [str(port.dut_interface) for port in self.ports if port.dut_namespace_path == place.path]

    def _raise_dut_ports(self, place: Namespace) -> None:
        if not any("ipv6" in self.device.addressed(number) for number in range(1, self._count + 1)):
            disable_ipv6()
        core = self._dut_core()
        for name in self._ends(place):
            self._offloads[name] = topology.raise_dut_port(name)
            self._receive_core[name] = self._receive_by(name, core)

    def _receive_by(self, interface: str, core: int | None) -> str:
        if core is None:
            return "shared"
        # RPS on the daemon's core would starve it: softirqs have priority (docs/lab.md).
        return "daemon" if self.device.by_daemon else receive_on_core(interface, core)

    def _prepare(self) -> None:
        for program in self.device.programs:
            if program.path is None:
                problem = f"{self.kind} needs the program {program.name}, which is not installed"
                raise PlanError("device", problem, f"install the Debian package {program.package}")
        for part in self.device.wanted_parts:
            if said := absence(part):
                problem = f"{self.kind} needs the kernel module {part.module} ({part.option}), which is not usable here"
                remedy = f"load it, or use a kernel that has it; the attempt to use it said: {said}"
                raise PlanError("device", problem, remedy)
        # The programs of a package have one version.
        first = {program.package: program for program in reversed(self.device.programs)}
        self._programs = {program.name: program.version() for program in first.values()}

    def _raise_tester_ports(self) -> None:
        self._offloads |= topology.raise_tester_ports(self.ports)
        topology.settle(self.ports)

    def _dut_core(self) -> int | None:
        cores = sorted(os.sched_getaffinity(0))
        wanted = self.device.by_daemon or len(cores) > 2 if self._own_core is None else self._own_core
        return cores[1] if wanted and not isinstance(self.device, Cable) and len(cores) > 1 else None

    def _end(self) -> None:
        if self._faulty is not None:
            self._faulty.close()
            self._faulty = None
        if self._links is not None:
            self._links.close()
            self._links = None
        while self._throttles:
            self._throttles.pop().close()
        if self._daemons is not None:
            self._daemons.end()
            self._daemons = None


def _check(device: LabDevice, ports: int, mtu: int, faults: Faults | None) -> None:
    if ports > device.most_ports == 2:
        raise PlanError("ports", f"{device.family} has two ports, not {ports}", "give 2, or choose bridge or router")
    if not 2 <= ports <= device.most_ports:
        raise PlanError("ports", f"a lab cannot have {ports} ports", f"give 2 to {device.most_ports}")
    if not LEAST_MTU <= mtu <= MOST_MTU:
        raise PlanError("mtu", f"{mtu} bytes cannot be set", f"give {LEAST_MTU} (the minimum of IPv6) to {MOST_MTU}")
    if faults is not None and not isinstance(device, FaultyWire):
        raise PlanError("faults", f"{device.family} applies no faults", "choose the device faulty")


def _plain(port: LabPort) -> dict[str, object]:
    return {name: str(value) if isinstance(value, Path) else value for name, value in asdict(port).items()}
