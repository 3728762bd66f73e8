"""What of a configuration is refused before it takes effect, with its path: by the script, its frames and its ports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from keisoku.errors import PlanError
from keisoku.faces.otg.configuration import Configuration, Defaults, configuration
from keisoku.faces.otg.flow.flow import Flow
from keisoku.faces.otg.reading.node import Node
from keisoku.faces.otg.traffic.flow_trial import filled
from keisoku.ground.frame.headers import Ends
from keisoku.ground.frame.variants import frames
from keisoku.subjects.device.testbed.testbed import Testbed

Document = dict[str, Any]
MOST_FLOW_BYTES = 512 * 2**20
"""Largest room for the different frames of all flows."""
_ANY_ENDS = Ends("02:00:00:00:00:01", "02:00:00:00:00:02")


def accepted(node: Node, document: Document, testbed: Testbed | None, defaults: Defaults) -> Configuration:
    """The configuration of a document, whose ports are those of the testbed, if it has any. Raises PlanError."""
    found = configuration(
        node,
        document,
        lambda port: None if testbed is None else testbed.line_rate(port),
        lambda port: None if testbed is None else testbed.mtu_bytes(port),
        defaults,
    )
    if found.captures and testbed is not None and not testbed.captures:
        raise PlanError("captures", "the frames of these ports do not pass this host", "leave them out")
    if found.interfaces and testbed is not None and not testbed.has_hosts:
        raise PlanError("devices", "an instrument's ports have no hosts", "give ports in the flows")
    for flow in found.flows:
        if testbed is not None and not testbed.returns and any(one == other for one, other in flow.pairs):
            problem = "sends and receives at one port, and these ports cannot receive what they send themselves"
            raise PlanError(f"{flow.path}.tx_rx", problem, "name two ports")
        if flow.timestamps and testbed is not None and not testbed.counts_flows_live:
            path = f"{flow.path}.metrics.timestamps"
            raise PlanError(path, "the instrument keeps no times of first and last frames", "leave it out")
    return replace(found, flow_bytes=room_bytes(found.flows))


def room_bytes(flows: Sequence[Flow]) -> int:
    """The room for all different frames of the flows. Builds them once, so that invalid ones are refused with their
    path before any traffic. Raises PlanError."""
    total = 0
    for flow in flows:
        total += _room_bytes(flow)
        if total > MOST_FLOW_BYTES:
            problem = f"the frames of all flows repeat after more than {MOST_FLOW_BYTES >> 20} MiB"
            raise PlanError(f"{flow.path}.packet", problem, "use fewer values, or counts that divide each other")
    return total


def _room_bytes(flow: Flow) -> int:
    total = 0
    try:
        for transmit, receive in flow.ways:
            # Without addresses of devices; ranges of routes alone make fields vary.
            packet = flow.packet
            if transmit.behind or receive.behind:
                packet = filled(packet, transmit, receive, lambda _: None)
            made = frames(packet.headers, flow.frame_bytes, _ANY_ENDS, packet.modify, most_bytes=MOST_FLOW_BYTES)
            if packet is flow.packet:
                return made.kept_bytes * len(flow.ways)
            total += made.kept_bytes
    except PlanError as error:
        part = "size" if error.field == "frame size" else "packet"
        raise PlanError(f"{flow.path}.{part}", error.problem, error.remedy) from error
    return total
