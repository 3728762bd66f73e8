"""What real ports offer for stamps, and what a refusal becomes."""

from __future__ import annotations

import json
import struct

import pytest

from keisoku._core import Wire, clock_costs
from keisoku.ground.lab.device.lab import Lab
from keisoku.subjects.device.engine.stamps import StampOffer, choose
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.testbed.host_port_list import list_ports

pytestmark = [pytest.mark.lab, pytest.mark.alone]


def test_a_veth_offers_software_stamps_and_its_xdp_metadata_is_not_taken_for_hardware() -> None:
    with Lab("cable") as lab:
        end = lab.ports[0]
        ports = {port.name: port for port in list_ports(end.namespace_path)}
        offer = ports[end.interface].stamps
        assert offer == StampOffer(rx_software=True, tx_software=True)
        assert "no hardware timestamps" in choose(offer, "xdp").reason


def test_a_hardware_clock_that_the_driver_refuses_leaves_the_kernels_stamps_and_says_so() -> None:
    frame = bytes.fromhex("02000000000202000000000188b5") + bytes(46)
    stream = {"transmit": 0, "receive": 1, "table": 0, "frame_bytes": [64], "frames_per_second": 20_000, "frames": 100}
    times = {"duration_ns": 20_000_000_000, "drain_ns": 100_000_000, "interval_ns": 1_000_000_000}
    trial = {"first_stream": 3, "streams": [stream], "seed": 0} | times
    with Lab("cable") as lab:
        places = [
            {"engine": "packet", "interface": port.interface, "namespace": str(port.namespace_path), "phc": phc}
            for port, phc in zip(lab.ports, (None, 0), strict=False)
        ]
        wire = Wire(json.dumps(places), [0], [1])
        try:
            wire.start(json.dumps(trial), [(frame, struct.pack("=H", len(frame)), 14, True, 0)])
            facts = Facts.model_validate_json(wire.finish())
        finally:
            wire.close()
    assert facts.streams[0].tracked.forwarded_frames == 100
    assert facts.receivers[0].stamp.startswith("CLOCK_REALTIME of the kernel")
    assert "; hardware refused: " in facts.receivers[0].stamp
    assert "late" not in facts.receivers[0].stamp


def test_the_clock_of_stamps_knows_its_bound() -> None:
    costs = json.loads(clock_costs())
    clock = costs["clock"]
    assert (clock["bound_ns"] > 0) == (clock["source"] != "clock_gettime")
    assert costs["clock_ns"] > 0 and costs["clock_gettime_ns"] > 0
