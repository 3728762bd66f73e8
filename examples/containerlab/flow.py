"""Sends frames through the node `dut` of otg.clab.yml and counts them. Start it in this folder after deploying."""

from __future__ import annotations

from pathlib import Path

import snappi

token = Path("tls/tokens").read_text().strip()
api = snappi.api(location=f"https://{token}@clab-otg-tester:8443", verify=False)
config = snappi.Config()
config.ports.port(name="p1", location="packet:eth1").port(name="p2", location="packet:eth2")
flow = config.flows.flow(name="f")[-1]
flow.tx_rx.port.tx_name, flow.tx_rx.port.rx_names = "p1", ["p2"]
ethernet, ip, udp = flow.packet.ethernet().ipv4().udp()
ethernet.src.value, ethernet.dst.value = "02:00:00:00:00:01", "02:00:00:00:00:02"
ip.src.value, ip.dst.value = "198.18.1.2", "198.18.2.2"
flow.rate.pps, flow.duration.fixed_packets.packets = 1000, 1000
flow.metrics.enable, flow.metrics.loss = True, True
api.set_config(config)
control = snappi.ControlState()
control.traffic.flow_transmit.state = "start"
api.set_control_state(control)
request = snappi.MetricsRequest()
request.flow.flow_names = ["f"]
while (metric := api.get_metrics(request).flow_metrics[0]).transmit != "stopped":
    pass
print(metric.frames_tx, metric.frames_rx)
