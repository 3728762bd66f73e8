"""What is told of a place at which frames were lost."""

from __future__ import annotations

import pytest

from keisoku.subjects.device.record.drops import DropPlace
from keisoku.subjects.device.report.lost_places import MEANINGS, LostFrames, by, sentence_of


def test_a_meter_of_open_vswitch_is_told_in_words() -> None:
    place = DropPlace(kind="freed", reason="OVS_DROP_METER", function="do_execute_actions", interface="eth1")
    assert by(place) == "at eth1: a meter of Open vSwitch dropped it (OVS_DROP_METER)"


def test_a_program_that_read_the_frames_beside_the_kernel_is_named() -> None:
    """What the kernel drops behind a switch in user space says nothing of what the switch did."""
    place = DropPlace(kind="freed", reason="OTHERHOST", interface="d1", namespace="r1", readers=("ovs-vswitchd",))
    assert by(place) == (
        "at d1 in r1: the destination MAC address is another host's (OTHERHOST), unless ovs-vswitchd lost it, which "
        "reads all packets there"
    )


@pytest.mark.parametrize("reason", sorted(MEANINGS))
def test_each_meaning_goes_on_behind_a_place(reason: str) -> None:
    told = by(DropPlace(kind="freed", reason=reason, interface="eth1", qdisc="tbf"))
    assert told.endswith(f"{reason})") and not MEANINGS[reason].endswith(".")


def test_a_port_that_lost_its_carrier_is_named_beside_what_was_not_seen() -> None:
    found = LostFrames([], 3, 3, 0, 0, [], in_card=0, on_wire=1, without_carrier=["eth1"])
    assert sentence_of(found, in_lab=False) == (
        "Lost 3: not seen dropped here: 3, so behind the last interface of this host; eth1 lost the carrier meanwhile "
        "(at most 0 in the tester's card and 1 on the wire, by the counters of its ports)."
    )
