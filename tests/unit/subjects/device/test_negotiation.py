"""What a driver offers becomes the stamps of an engine's port, and what is not known of its clock an uncertainty."""

from __future__ import annotations

import time
from typing import Any

import pytest

from keisoku.errors import PlanError
from keisoku.subjects.clock.relation import SAME_CLOCK, Reading
from keisoku.subjects.device.calibration import store
from keisoku.subjects.device.engine.port_capture import next_free
from keisoku.subjects.device.engine.stamps import StampOffer
from keisoku.subjects.device.testbed.host_port import PortAddress
from keisoku.subjects.device.testbed.host_port_list import HostPort
from keisoku.subjects.device.testbed.host_ports import wired_ports

HARDWARE = StampOffer(rx_hardware_socket=True, tx_hardware_socket=True, rx_software=True, phc_index=3)


def found(offer: StampOffer) -> HostPort:
    return HostPort("eth1", "igc", "02:00:00:00:00:01", 1500, 1000, True, True, False, (), {}, offer)


def opened(uri: str, offer: StampOffer, receives: bool = True, stamps: Any = "best") -> Any:
    [port] = wired_ports(PortAddress.parse(uri), found(offer), receives, stamps).values()
    return port


def test_a_packet_port_that_receives_uses_the_hardware_that_is_offered() -> None:
    port = opened("packet:eth1", HARDWARE)
    assert port.place()["phc"] == 3
    assert port.receive_stamp == "hardware clock ptp3 at the port, converted to CLOCK_MONOTONIC"
    assert port.stamps.receive == "hardware"


def test_software_stamps_are_another_thing_to_calibrate_and_say_why() -> None:
    texts = {opened("packet:eth1", HARDWARE).receive_stamp}
    for uri, offer, wanted, reason in (
        ("packet:eth1", HARDWARE, "software", "asked for"),
        ("packet:eth1", StampOffer(), "best", "no hardware timestamps"),
        ("xdp:eth1", HARDWARE, "best", "to sockets only"),
    ):
        port = opened(uri, offer, stamps=wanted)
        assert port.place()["phc"] is None
        assert reason in port.stamps.reason
        assert port.receive_stamp not in texts


def test_a_port_that_only_sends_needs_no_hardware() -> None:
    assert opened("packet:eth1", HARDWARE, receives=False).phc is None
    assert opened("xdp:eth1", HARDWARE, receives=False, stamps="hardware").phc is None
    with pytest.raises(PlanError, match=r"stamps: .*packet:INTERFACE"):
        opened("xdp:eth1", HARDWARE, stamps="hardware")


class Ports:
    """An engine that has only a context."""

    def __init__(self, *indices: int | None) -> None:
        self.indices = indices

    def context(self) -> dict[str, object]:
        return {"ports": [{"phc": index} for index in self.indices]}


def test_the_least_certain_hardware_clock_adds_its_uncertainty(monkeypatch: pytest.MonkeyPatch) -> None:
    def readings(index: int) -> list[Reading]:
        """A clock that takes 1 µs times its number to read."""
        now_ns = time.monotonic_ns()
        return [Reading(now_ns + n * 10_000, 500 + n * 10_000, now_ns + n * 10_000 + index * 1000) for n in range(25)]

    monkeypatch.setattr(store, "readings", readings)
    assert store._clocks(Ports(None, None)) == SAME_CLOCK  # type: ignore[arg-type]
    clocks = store._clocks(Ports(1, None, 4))  # type: ignore[arg-type]
    assert not clocks.same_clock
    # Half of 4 µs, and of the resolution, as a rectangle (GUM 4.3.7).
    assert clocks.uncertainty_ns() == pytest.approx(4001 / 2 / 3**0.5)


def test_a_resumed_run_gets_a_capture_of_its_own(tmp_path: Any) -> None:
    path = tmp_path / "run.pcapng"
    assert next_free(path) == path
    path.touch()
    (tmp_path / "run-2.pcapng").touch()
    assert next_free(path) == tmp_path / "run-3.pcapng"
