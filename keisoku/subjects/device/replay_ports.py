"""Ports of this host or of a lab by which a recording is sent and received. Sends nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from keisoku.errors import PlanError
from keisoku.ground.frame.rates import HEADER_AND_FCS_BYTES
from keisoku.subjects.device.engine.wired_port import WiredPort
from keisoku.subjects.device.plan.uri import is_lab
from keisoku.subjects.device.record.interference import PortEngine
from keisoku.subjects.device.testbed.opening import open_testbed, port_named
from keisoku.subjects.device.testbed.requirements import WantedTestbed
from keisoku.subjects.device.testbed.wired import WiredTestbed


@contextmanager
def open_ports(
    dut: str | None,
    tx: str | None,
    rx: str | None,
    engine: PortEngine | None,
    frame_bytes: list[int],
    force: bool = False,
) -> Iterator[tuple[WiredPort, WiredPort | None]]:
    """The sending port, and the receiving port if there is one; the first two of a lab if none are named.

    Raises PlanError for ports that do not exist or cannot send frames of these sizes (bytes with FCS).
    """
    if dut is None and engine is not None:
        raise PlanError("engine", "the port's name contains the engine", "leave it out: write --tx xdp:eth1")
    if dut is None and tx is None:
        raise PlanError("tx", "no sending port is given", "give --tx xdp:eth1, or --dut lab:bridge")
    if tx is not None and rx == tx:
        raise PlanError("rx", "is the sending port", "use another one, or leave it out")
    if dut is not None and not is_lab(dut):
        raise PlanError("dut", f"'{dut}' is no lab", "use lab:bridge, or ports of this host with --tx")
    named = [("tx", tx or "1")] + [("rx", rx or "2")] * (rx is not None or dut is not None)
    ports = tuple(port_named(text, field, dut, field == named[-1][0]) for field, text in named)
    with closing(open_testbed(WantedTestbed(ports, dut, engine, tuple(frame_bytes), force))) as testbed:
        if not isinstance(testbed, WiredTestbed):
            raise PlanError("tx", f"{ports[0].name} cannot send a recording", "use lab:bridge, or ports of this host")
        largest = min(port.mtu_bytes for port in testbed.ports) + HEADER_AND_FCS_BYTES
        if max(frame_bytes) > largest:
            problem = f"a frame has {max(frame_bytes)} bytes, and the MTU of the ports allows {largest}"
            raise PlanError("frame size", problem, "replay on ports of this host with a larger MTU")
        yield testbed.ports[0], testbed.ports[1] if len(testbed.ports) > 1 else None
