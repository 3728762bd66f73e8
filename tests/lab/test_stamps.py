"""What real ports offer for stamps, and what a refusal becomes."""

from __future__ import annotations

import json

import pytest

from keisoku._core import Wire, clock_costs
from keisoku.engine.port import list_ports
from keisoku.engine.stamps import StampOffer, choose
from keisoku.lab import Lab

pytestmark = pytest.mark.lab


def test_a_veth_offers_software_stamps_and_its_xdp_metadata_is_not_taken_for_hardware() -> None:
    with Lab("cable") as lab:
        end = lab.ports[0]
        ports = {port.name: port for port in list_ports(end.namespace_path)}
        offer = ports[end.interface].stamps
        assert offer == StampOffer(rx_software=True, tx_software=True)
        assert "no hardware stamps" in choose(offer, "xdp").reason


def test_a_hardware_clock_that_the_driver_refuses_leaves_the_kernels_stamps() -> None:
    with Lab("cable") as lab:
        tx, rx = (
            {"engine": "packet", "interface": port.interface, "namespace": str(port.namespace_path)}
            for port in lab.ports
        )
        wire = Wire(json.dumps(tx), json.dumps(rx | {"phc": 0}))
        wire.close()


def test_the_clock_of_stamps_knows_its_bound() -> None:
    costs = json.loads(clock_costs())
    clock = costs["clock"]
    assert (clock["bound_ns"] > 0) == (clock["source"] != "clock_gettime")
    assert costs["clock_ns"] > 0 and costs["clock_gettime_ns"] > 0
