"""What is told of a place at which frames were lost."""

from __future__ import annotations

import pytest

from keisoku.subjects.device.record.drops import DropPlace
from keisoku.subjects.device.report.lost_places import MEANINGS, by


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
