"""`Vswitch`: one Open vSwitch of a lab: its two daemons with a database, sockets and logs of their own.

Only the userspace datapath. It never uses, starts or stops the system's own Open vSwitch.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from keisoku.errors import EngineError
from keisoku.ground.host.program import Program
from keisoku.ground.lab.daemons import Daemons
from keisoku.ground.lab.device.port import LabPort

SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
_PACKAGE = "openvswitch-switch"
_VSWITCHD, _DATABASE, _DATABASE_TOOL, _VSCTL, _OFCTL, _APPCTL = PROGRAMS = tuple(
    Program(name, _PACKAGE)
    for name in ("ovs-vswitchd", "ovsdb-server", "ovsdb-tool", "ovs-vsctl", "ovs-ofctl", "ovs-appctl")
)
_PATIENCE_S = 20


class Vswitch:
    """Runs as long as the namespace's daemons, of which it is the only one. Every method raises EngineError if Open
    vSwitch refuses."""

    def __init__(self, daemons: Daemons, core: int | None) -> None:
        """Start the daemons, on one core if it is given; must be called within the namespace."""
        self._daemons, self._core = daemons, core
        self._directory = directory = daemons.make_directory()
        file, socket = directory / "conf.db", directory / "db.sock"
        self._database = f"--db=unix:{socket}"
        self._control = directory / "ovs-vswitchd.ctl"
        _DATABASE_TOOL.run("create", str(file), SCHEMA)
        self._start(_DATABASE, str(file), f"--remote=punix:{socket}", ready=socket)
        _VSCTL.run(self._database, "--no-wait", "init")
        self._start(_VSWITCHD, f"unix:{socket}", "--disable-system", ready=self._control)

    def bridge(self, name: str, *interfaces: str, learning: bool = False) -> None:
        """Make a bridge over interfaces of the namespace, OpenFlow ports 1, 2 …; without `learning` it drops."""
        mode = "standalone" if learning else "secure"
        command = ["add-br", name, "--", "set", "bridge", name, "datapath_type=netdev", f"fail-mode={mode}"]
        for number, interface in enumerate(interfaces, 1):
            command += self._port(name, interface, number)
        self.configure(*command)

    def add_vxlan(self, name: str, interface: str, number: int, local: str, remote: str, network: int) -> None:
        """Add a tunnel end to a bridge as its OpenFlow port `number`."""
        options = [f"options:{key}={value}" for key, value in (("local_ip", local), ("remote_ip", remote))]
        port = self._port(name, interface, number, "type=vxlan", *options, f"options:key={network}")
        self.configure(*port[1:])

    def configure(self, *words: str) -> None:
        """Run `ovs-vsctl`, which waits until the switch has applied the change."""
        _VSCTL.run(self._database, f"--timeout={_PATIENCE_S}", *words)

    def set_flows(self, name: str, flows: Sequence[str]) -> None:
        """Replaces all flows of a bridge. Raises EngineError if it has not accepted each."""
        bridge = str(self._directory / f"{name}.mgmt")
        _OFCTL.run("-O", "OpenFlow13", "--bundle", "replace-flows", bridge, "-", text="\n".join(flows) + "\n")
        taken = _OFCTL.run("-O", "OpenFlow13", "dump-aggregate", bridge).rsplit("flow_count=", 1)[1]
        if int(taken) != len(flows):
            raise EngineError(f"Open vSwitch accepted {taken} of {len(flows)} flows")

    def set_groups(self, name: str, groups: Sequence[str]) -> None:
        """Adds groups to a bridge, which has none yet. Hashes of chosen fields need OpenFlow 1.5's extension."""
        _OFCTL.run("-O", "OpenFlow15", "add-groups", str(self._directory / f"{name}.mgmt"), "-", text="\n".join(groups))

    def control(self, *words: str) -> str:
        """Run `ovs-appctl`; return what the switch answers."""
        return _APPCTL.run("-t", str(self._control), *words)

    def _start(self, program: Program, *arguments: str, ready: Path) -> None:
        place = self._directory / program.name
        own = [f"--pidfile={place}.pid", f"--unixctl={place}.ctl", "-vsyslog:off", "-vconsole:warn"]
        names = ("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR")
        environment = dict.fromkeys(names, str(self._directory))
        self._daemons.start(program, *arguments, *own, ready=ready, core=self._core, environment=environment)

    def _port(self, name: str, interface: str, number: int, *settings: str) -> list[str]:
        setting = ["set", "interface", interface, f"ofport_request={number}", *settings]
        return ["--", "add-port", name, interface, "--", *setting]


def await_carriers(daemons: Daemons, ports: Sequence[LabPort]) -> None:
    """Wait until the switch that these daemons are knows of the carrier of all ports: before, it may not send by them.

    Raises EngineError after `_PATIENCE_S`.
    """
    for port in ports:
        condition = ["wait-until", "interface", str(port.dut_interface), "link_state=up"]
        configure(daemons, *condition)


def configure(daemons: Daemons, *words: str) -> None:
    """Run `ovs-vsctl` on the switch that these daemons are."""
    _VSCTL.run(f"--db=unix:{daemons.directory / 'db.sock'}", f"--timeout={_PATIENCE_S}", *words)
