"""Every name that OTG has for a flow of the data plane: it works, or it is refused with its path and the reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from support.otg_server import two_ports, udp_flow

from keisoku.errors import PlanError
from keisoku.faces.otg.control.controller import Controller, Document

Change = Callable[[Any], Any]


def header(*names: str) -> Change:
    """A flow of these headers."""

    def change(flow: Any) -> None:
        flow.packet.clear()
        for name in names:
            getattr(flow.packet, name)()
        if names[-1] == "custom":
            flow.packet[-1].bytes = "0A0B0C"
        flow.size.fixed = 256

    return change


def pattern(name: str, **fields: Any) -> Change:
    """A pattern of the UDP source port."""

    def change(flow: Any) -> None:
        if fields:
            for field, value in fields.items():
                setattr(getattr(flow.packet[2].src_port, name), field, value)
        else:
            setattr(flow.packet[2].src_port, name, [1, 2, 5] if name == "values" else 7)

    return change


def placed(path: str, value: Any) -> Change:
    """A value at a path below the flow."""

    def change(flow: Any) -> None:
        *parents, last = path.split(".")
        for parent in parents:
            flow = flow[int(parent)] if parent.isdigit() else getattr(flow, parent)
        setattr(flow, last, value)

    return change


def weights(flow: Any) -> None:
    flow.size.weight_pairs.custom.custom(size=64, weight=2)
    flow.size.weight_pairs.custom.custom(size=256, weight=1)


def increment(flow: Any) -> None:
    flow.size.increment.start, flow.size.increment.end, flow.size.increment.step = 64, 128, 8


def random(flow: Any) -> None:
    flow.size.random.min, flow.size.random.max = 64, 128


def bursts(flow: Any) -> None:
    flow.duration.burst.bursts, flow.duration.burst.packets = 4, 5
    flow.duration.burst.inter_burst_gap.microseconds = 20


def latency(mode: str) -> Change:
    def change(flow: Any) -> None:
        flow.metrics.latency.enable, flow.metrics.latency.mode = True, mode

    return change


def tagged(flow: Any) -> None:
    flow.packet[2].dst_port.values = [6000, 6001]
    flow.packet[2].dst_port.metric_tags.metrictag(name="port")


WORKS: dict[str, Change] = {
    "ethernet": header("ethernet"),
    "vlan": header("ethernet", "vlan", "vlan", "ipv4"),
    "mpls": header("ethernet", "mpls", "mpls", "ipv4"),
    "ipv4": header("ethernet", "ipv4"),
    "ipv6": header("ethernet", "ipv6"),
    "udp": header("ethernet", "ipv6", "udp"),
    "tcp": header("ethernet", "ipv4", "tcp"),
    "icmp": header("ethernet", "ipv4", "icmp"),
    "icmpv6": header("ethernet", "ipv6", "icmpv6"),
    "arp": header("ethernet", "arp"),
    "vxlan": header("ethernet", "ipv4", "udp", "vxlan", "ethernet", "ipv4", "tcp"),
    "gre": header("ethernet", "ipv4", "gre", "ipv4"),
    "custom": header("ethernet", "custom"),
    "pfcpause": header("pfcpause"),
    "ethernetpause": header("ethernetpause"),
    "pfc_queue": placed("packet.0.pfc_queue.value", 3),
    "value": pattern("value"),
    "values": pattern("values"),
    "increment": pattern("increment", start=5, step=3, count=9),
    "decrement": pattern("decrement", start=50, step=3, count=9),
    "random": pattern("random", min=5, max=50, count=9, seed=3),
    "size fixed": placed("size.fixed", 64),
    "size increment": increment,
    "size random": random,
    "size imix": placed("size.weight_pairs.predefined", "imix"),
    "size weights": weights,
    "pps": placed("rate.pps", 900),
    "bps": placed("rate.bps", 1_000_000),
    "kbps": placed("rate.kbps", 1_000),
    "mbps": placed("rate.mbps", 10),
    "gbps": placed("rate.gbps", 1),
    "percentage": placed("rate.percentage", 10),
    "fixed packets": placed("duration.fixed_packets.packets", 17),
    "fixed seconds": placed("duration.fixed_seconds.seconds", 0.05),
    "burst": bursts,
    "delay": placed("duration.fixed_packets.delay.microseconds", 700),
    "loss": placed("metrics.loss", True),
    "latency store_forward": latency("store_forward"),
    "latency cut_through": latency("cut_through"),
    "timestamps": placed("metrics.timestamps", True),
    "tags": tagged,
    "tags rx_name": placed("metrics.predefined_metric_tags.rx_name", True),
}


def document(change: Change) -> Document:
    config = two_ports()
    change(udp_flow(config, packets=20))
    found: Document = json.loads(config.serialize("json"))
    return found


@pytest.fixture(scope="module")
def controller() -> Any:
    found = Controller(seed=1)
    yield found
    found.close()


def metrics(controller: Controller) -> Document:
    while True:
        (found,) = controller.get_metrics({"choice": "flow", "flow": {}})["flow_metrics"]
        if found["transmit"] == "stopped":
            return dict(found)


def traffic(controller: Controller, state: str) -> None:
    controller.set_control_state(
        {"choice": "traffic", "traffic": {"choice": "flow_transmit", "flow_transmit": {"state": state}}}
    )


@pytest.mark.parametrize("name", WORKS)
def test_it_is_sent_and_counted(controller: Controller, name: str) -> None:
    controller.set_config(document(WORKS[name]))
    traffic(controller, "start")
    found = metrics(controller)
    assert 0 < found["frames_tx"] == found["frames_rx"]
    assert found["loss"] == 0.0
    assert ("latency" in found) is name.startswith("latency")
    assert ("timestamps" in found) is (name == "timestamps")
    assert ("tagged_metrics" in found) is name.startswith("tags")


def at(path: str, value: Any) -> Change:
    """Puts a JSON value into the flow of a document."""

    def change(flow: Any) -> None:
        *parents, last = path.split(".")
        for parent in parents:
            flow = flow[int(parent)] if parent.isdigit() else flow.setdefault(parent, {})
        flow[last] = value

    return change


REFUSED: list[tuple[str, Any, str]] = [
    (
        "packet",
        [{"choice": "pfcpause", "pfcpause": {"pause_class_0": {"choice": "values", "values": [1, 2]}}}],
        "class_0",
    ),
    ("packet.1.ipv4.header_checksum", {"choice": "generated", "generated": "bad"}, "header_checksum.generated"),
    ("packet.2.udp.checksum", {"choice": "generated", "generated": "bad"}, "udp.checksum.generated"),
    ("rate", {"choice": "percentage", "percentage": 0}, "rate.percentage"),
    ("tx_rx.port.rx_names", ["p2", "p1"], "tx_rx"),
    (
        "packet.1.ipv4.time_to_live",
        {"choice": "value", "value": 3, "metric_tags": [{"name": "t", "offset": 7, "length": 8}]},
        "packet[1].ipv4.time_to_live.metric_tags[0].length",
    ),
]


@pytest.mark.parametrize(("place", "value", "path"), REFUSED, ids=[place for place, _, _ in REFUSED])
def test_it_is_refused_with_its_path_and_a_reason(controller: Controller, place: str, value: Any, path: str) -> None:
    changed = document(lambda flow: None)
    at(place, value)(changed["flows"][0])
    with pytest.raises(PlanError) as caught:
        controller.set_config(changed)
    assert caught.value.field.startswith("flows[0].") and caught.value.field.endswith(path)
    assert caught.value.problem and caught.value.remedy


@pytest.mark.parametrize(
    ("state", "path"),
    [
        ({"choice": "port", "port": {"choice": "link", "link": {"state": "down"}}}, "port.link.state"),
        ({"choice": "protocol", "protocol": {"choice": "route", "route": {"state": "withdraw"}}}, "protocol.route"),
        ({"choice": "port", "port": {"choice": "capture", "capture": {"state": "start"}}}, "port.capture.port_names"),
    ],
)
def test_states_that_a_simulated_device_does_not_have(controller: Controller, state: Document, path: str) -> None:
    controller.set_config(document(lambda flow: None))
    with pytest.raises(PlanError) as caught:
        controller.set_control_state(state)
    assert caught.value.field == path
