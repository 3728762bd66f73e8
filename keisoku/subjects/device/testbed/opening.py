"""Opens a testbed, chosen by the scheme of its ports' names."""

from __future__ import annotations

from pkgutil import resolve_name

from keisoku.errors import PlanError
from keisoku.subjects.device.plan.uri import scheme
from keisoku.subjects.device.testbed.requirements import WantedPort, WantedTestbed
from keisoku.subjects.device.testbed.testbed import Testbed

VARIANTS = {
    "sim": "keisoku.subjects.device.testbed.simulated:SimulatedTestbed",
    "lab": "keisoku.subjects.device.testbed.lab:open_lab",
    "vlab": "keisoku.subjects.device.testbed.lab:open_lab",
    "xdp": "keisoku.subjects.device.testbed.host_ports:HostPortsTestbed",
    "afxdp": "keisoku.subjects.device.testbed.host_ports:HostPortsTestbed",
    "packet": "keisoku.subjects.device.testbed.host_ports:HostPortsTestbed",
    "auto": "keisoku.subjects.device.testbed.host_ports:HostPortsTestbed",
    "fpga": "keisoku.subjects.device.testbed.fpga:FpgaTestbed",
}
"""By scheme, the function that makes a `Testbed` of a `WantedTestbed`; its module is loaded when it is first needed."""


_TWO_HOSTS = "keisoku.subjects.device.testbed.two_hosts:TwoHostsTestbed"


def open_testbed(wanted: WantedTestbed) -> Testbed:
    """Raises PlanError, naming the field, for ports that cannot be used together; EngineError if opening fails."""
    variant = VARIANTS.get(wanted.ports[0].scheme)
    if wanted.receiver is not None and variant != VARIANTS["auto"]:
        raise PlanError("receiver", "only a port of a host can be at another host", "leave it out")
    for port in wanted.ports:
        if port.scheme not in VARIANTS:
            remedy = (
                "write INTERFACE, xdp:INTERFACE, afxdp:INTERFACE or packet:INTERFACE (with @NAMESPACE), "
                "lab:DEVICE#PORT, vlab:DEVICE#PORT, sim:DEVICE#PORT or fpga:LINK#0"
            )
            raise PlanError(port.field, f"{port.name!r} is not the name of a port", remedy)
        if VARIANTS[port.scheme] != variant:
            problem, remedy = "is not at the device of the first port", "use ports of one device, or of this host"
            raise PlanError(port.field, problem, remedy)
    opened: Testbed = resolve_name(_TWO_HOSTS if wanted.receiver is not None else str(variant))(wanted)
    return opened


def port_named(text: str, field: str, device: str | None, receives: bool = True) -> WantedPort:
    """The port that a user means: by its URI, or by its number where a device is named.

    Raises PlanError naming `field` for an invalid number, and 'dut' for an invalid device.
    """
    if device is None or scheme(text) in VARIANTS:
        return WantedPort(text, field, receives)
    if scheme(device) not in VARIANTS:
        remedy = "use lab:bridge, lab:router, sim:NAME or sim:FILE.toml"
        raise PlanError("dut", f"'{device}' is not the name of a device", remedy)
    if not text.isdecimal() or int(text) < 1:
        remedy = "with --dut give the number of the device's port, from 1"
        raise PlanError(field, f"'{text}' is not a port number", remedy)
    return WantedPort(f"{device}#{int(text)}", field, receives)
