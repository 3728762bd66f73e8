"""A trial that the tester spoiled never counts as loss of the DUT (invariant 2)."""

from typing import Any

import pytest
from support.one_stream import facts_of
from support.port_counters import change

from keisoku.errors import EngineError
from keisoku.subjects.device.engine.wired_trial import check_stamps
from keisoku.subjects.device.record.counts import Buckets, Ranges, Sent, Tracked
from keisoku.subjects.device.record.facts import Facts, Link, Stamped
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import disturbances, reasons, shortfalls, without_links

TRIAL = Trial(purpose="test", frame_bytes=64, frames_per_second=10_000, duration_ns=10_000_000_000)
NONE = Ranges(count=0, ranges=[], complete=True)


def facts(
    offered: int = 100_000, forwarded: int = 100_000, lost: int = 0, last_ns: int = 0, stopped_ns: int = 0, **more: Any
) -> Facts:
    sent = Sent(
        offered_frames=offered, first_sent_ns=0, last_sent_ns=last_ns or 9_999_900_000, lag_max_ns=0,
        postponed_ns=stopped_ns, interrupted_ns=stopped_ns, interruptions=stopped_ns // 5_000_000, gaps=Buckets(),
    )  # fmt: skip
    tracked = Tracked(
        received_frames=forwarded, forwarded_frames=forwarded, lost_frames=lost, corrupt=NONE, corrupt_arrivals=0,
        duplicated=NONE, reordered=NONE, foreign_frames=0, lost=[], lost_kept_as="list", latency=None,
        tagged_latency_ns=None, series=[],
    )  # fmt: skip
    return facts_of(sent, tracked, **more)


@pytest.mark.parametrize(
    "good",
    [
        facts(),
        facts(forwarded=90_000, lost=10_000),
        facts(offered=99_600, forwarded=99_600),
        facts(last_ns=10_040_000_000),
        facts(last_ns=10_525_000_000, stopped_ns=525_000_000),
    ],
)
def test_a_trial_in_which_the_tester_did_its_part_is_valid(good: Facts) -> None:
    assert reasons(TRIAL, good) == []


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (facts(offered=99_400, forwarded=99_400), "the tester offered 99400 of 100000 frames"),
        (facts(last_ns=10_060_000_000), "the tester needed 0.6 % longer than intended"),
        (
            facts(last_ns=13_000_000_000, stopped_ns=3_000_000_000),
            "the host stopped the sender 600 times, for 23 % of its time",
        ),
        (facts(dropped=3), "the tester itself dropped 3 received frames"),
        (facts(interrupted=True), "the trial was interrupted"),
        (facts(forwarded=99_000, lost=10), "counts do not add up: 100000 offered, 99010 accounted for"),
    ],
)
def test_a_trial_that_the_tester_spoiled_says_why(bad: Facts, reason: str) -> None:
    assert reasons(TRIAL, bad) == [reason]


def link(**changes: Any) -> Link:
    plain = {"port": 1, "carrier": True, "carrier_changes": 0, "lost_ns": None, "mtu_bytes": (1500, 1500)}
    return Link(**(plain | changes))


LOST = link(carrier=False, carrier_changes=1, lost_ns=3_200_000_000)


def test_a_lost_carrier_is_the_only_reason_and_not_the_testers_slowness() -> None:
    cut = facts(offered=32_000, forwarded=31_990, lost=10).model_copy(update={"links": [link(port=0), LOST]})
    assert reasons(TRIAL, cut) == [
        "port 2 lost its carrier 3.2 s after the begin of the load, and had none at the end: "
        "look at the cable and at the device's port"
    ]
    assert "port 2 lost" not in str(reasons(TRIAL.model_copy(update={"links_may_fail": True}), cut))


def test_frames_that_a_device_sent_into_a_link_that_was_taken_are_no_fault_of_the_port() -> None:
    """A busy host let ten frames go before the route did: the trial of a lost member was invalid."""
    taken = TRIAL.model_copy(update={"links_may_fail": True})
    whole = facts(forwarded=99_990, lost=10).model_copy(
        update={"counters": {1: change(driver="veth", peer_tx_dropped=10)}}
    )
    refused = "the receive queue of t2 had no room for 10 frames of the device"
    assert reasons(taken, whole.model_copy(update={"links": [link(carrier_changes=2, lost_ns=5)]})) == []
    assert reasons(taken, whole.model_copy(update={"links": [link(), link(port=0, lost_ns=5)]})) == [refused]


def test_a_changed_mtu_spoils_a_trial() -> None:
    changed = facts().model_copy(update={"links": [link(mtu_bytes=(9000, 1500))]})
    assert reasons(TRIAL, changed) == ["the MTU of port 2 was changed from 9000 to 1500 during the trial"]


def test_frames_that_a_port_without_a_link_did_not_send_are_no_shortfall_and_are_said() -> None:
    whole = facts(offered=60_000, forwarded=60_000, lost=0)
    (sender,) = whole.transmitters
    sent = sender.sent.model_copy(update={"unsent_frames": 40_000})
    links = [link(port=0, lost_ns=5, down_ns=4_000_000_000), link(down_ns=0)]
    whole = whole.model_copy(
        update={"transmitters": [sender.model_copy(update={"port": 0, "sent": sent})], "links": links}
    )
    assert shortfalls(TRIAL.model_copy(update={"links_may_fail": True}), whole) == []
    assert without_links(whole) == ["port 1 had no link for 4.0 s; 40000 frames were not sent there"]


def test_a_full_transmit_queue_is_the_testers_shortfall_and_no_load() -> None:
    whole = facts(forwarded=99_000, lost=1000)
    sent = whole.transmitters[0].sent.model_copy(update={"refused_frames": 1000})
    full = whole.model_copy(update={"transmitters": [whole.transmitters[0].model_copy(update={"sent": sent})]})
    assert shortfalls(TRIAL, full) == ["the transmit queue of port 1 was full: it refused 1000 frames"]
    assert disturbances(TRIAL, full) == []
    record = TrialRecord(
        index=0, method="test", trial=TRIAL.model_copy(update={"flat_out": True}), facts=full, started_at="",
        engine_seconds=10.0, invalid_because=[],
    )  # fmt: skip
    assert record.offered_fps == pytest.approx(9900, rel=1e-4)
    assert shortfalls(record.trial, full) == []


def test_what_a_starved_tester_offers_flat_out_is_no_load_that_the_device_passes() -> None:
    """A host that let the sender send no frame until the trial was over made it "at least 100 Mframes/s" of a bridge:
    nothing was offered, so nothing was lost, and the load was taken for the one asked for."""
    flat_out = TRIAL.model_copy(update={"flat_out": True, "frames_per_second": 100e6})
    nothing = facts(offered=0, forwarded=0, last_ns=0).model_copy(deep=True)
    sent = nothing.transmitters[0].sent.model_copy(update={"last_sent_ns": 0, "first_sent_ns": 0})
    nothing.transmitters[0] = nothing.transmitters[0].model_copy(update={"sent": sent})
    assert reasons(flat_out, nothing) == ["the sender ran for only 0 of 10,000 ms"]
    record = TrialRecord(
        index=0, method="test", trial=flat_out, facts=nothing, started_at="", engine_seconds=10.0, invalid_because=[],
    )  # fmt: skip
    assert record.offered_fps == record.load_fps == 0
    brief = facts(offered=2000, forwarded=2000, last_ns=4_900_000_000)
    assert reasons(flat_out, brief) == ["the sender ran for only 4,900 of 10,000 ms"]
    assert reasons(flat_out, facts(offered=2000, forwarded=2000, last_ns=5_100_000_000)) == []
    assert reasons(flat_out, facts(offered=2000, forwarded=2000)) == []


@pytest.mark.parametrize(("by_hardware", "by_kernel"), [(100, 0), (9999, 1), (0, 0)])
def test_hardware_that_stamps_what_it_should_is_no_reason(by_hardware: int, by_kernel: int) -> None:
    assert reasons(TRIAL, stamped(by_hardware, by_kernel)) == []


@pytest.mark.parametrize(("by_hardware", "by_kernel"), [(0, 100), (60, 40)])
def test_stamps_of_the_kernel_are_never_passed_off_as_those_of_hardware(by_hardware: int, by_kernel: int) -> None:
    assert reasons(TRIAL, stamped(by_hardware, by_kernel)) == [
        f"the hardware of port 2 stamped {by_hardware} of 100 received frames: give --stamps software"
    ]


def stamped(by_hardware: int, by_kernel: int) -> Facts:
    whole = facts()
    told = Stamped(by_hardware=by_hardware, by_kernel=by_kernel)
    return whole.model_copy(update={"receivers": [whole.receivers[0].model_copy(update={"stamped": told})]})


def test_hardware_that_accepts_to_stamp_and_never_does_ends_the_run() -> None:
    check_stamps("eth5", stamped(1, 99).receivers[0])
    with pytest.raises(EngineError, match=r"^eth5: the driver accepted hardware timestamps but stamped none of 100"):
        check_stamps("eth5", stamped(0, 100).receivers[0])
