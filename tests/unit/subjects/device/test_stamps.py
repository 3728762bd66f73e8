"""What a driver offers becomes a choice of stamps, and each refusal says why."""

from __future__ import annotations

import pytest

from keisoku.errors import PlanError
from keisoku.ground.host.ethtool import Timestamping
from keisoku.ground.host.xdp_features import XdpFeatures
from keisoku.subjects.device.engine.stamps import StampOffer, choose, offered

# As `ethtool -T` shows them: SOF_TIMESTAMPING bits, transmit types, receive filters.
IGC = Timestamping(0b1011111, 0b11, 0b11, 0)
PTP_ONLY = Timestamping(0b1011111, 0b11, 1 << 12 | 1, 2)
VETH = Timestamping(0b11010, 0, 0, None)
ALL_OF_XDP = XdpFeatures(("native",), ("timestamp", "hash"), ("transmit timestamp", "launch time"))


def test_a_veth_offers_software_stamps_only():
    offer = offered(VETH, XdpFeatures(("native",)))
    assert offer == StampOffer(rx_software=True, tx_software=True)
    assert offer.text() == "software (rx, tx)"


def test_a_nic_offers_all_that_it_has():
    offer = offered(IGC, ALL_OF_XDP)
    assert offer.rx_hardware_xdp and offer.tx_hardware_xsk and offer.launch_time
    assert offer.rx_hardware_socket and offer.tx_hardware_socket and offer.phc_index == 0
    assert offer.text() == "hardware (rx, tx, XDP rx, AF_XDP tx, launch time) on ptp0; software (rx, tx)"


def test_hardware_that_stamps_ptp_messages_only_offers_nothing_for_every_frame():
    offer = offered(PTP_ONLY, ALL_OF_XDP)
    assert not offer.rx_hardware_socket and not offer.rx_hardware_xdp and offer.rx_hardware_ptp_only


def test_a_kernel_that_does_not_answer_offers_nothing():
    assert offered(None, None) == StampOffer()
    assert StampOffer().text() == "the tester only"


def test_the_best_stamp_that_the_engine_can_take_is_chosen():
    choice = choose(offered(IGC, ALL_OF_XDP), "packet")
    assert (choice.transmit, choice.receive, choice.same_clock) == ("user space", "hardware", False)
    assert "ptp0" in choice.reason


@pytest.mark.parametrize(
    ("timestamping", "features", "engine", "receive", "reason"),
    [
        (VETH, None, "packet", "kernel", "no hardware timestamps"),
        (VETH, None, "xdp", "program", "no hardware timestamps"),
        (IGC, None, "xdp", "program", "to sockets only"),
        (IGC, ALL_OF_XDP, "xdp", "program", "cannot bind"),
        (PTP_ONLY, ALL_OF_XDP, "packet", "kernel", "PTP messages only"),
    ],
)
def test_a_refusal_is_reported_and_is_an_error_only_where_hardware_is_wanted(
    timestamping, features, engine, receive, reason
):
    offer = offered(timestamping, features)
    choice = choose(offer, engine)
    assert choice.receive == receive and choice.same_clock
    assert reason in choice.reason
    with pytest.raises(PlanError, match=f"^stamps: .*{reason}.*; use "):
        choose(offer, engine, "hardware")


def test_software_can_be_asked_for():
    choice = choose(offered(IGC, ALL_OF_XDP), "packet", "software")
    assert (choice.receive, choice.reason) == ("kernel", "software timestamps were asked for")
