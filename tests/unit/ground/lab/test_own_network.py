"""A network that a file describes: what is read of it, and what is refused in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from keisoku.errors import PlanError
from keisoku.ground.lab.device.catalogue import find_device
from keisoku.ground.lab.device.own_network import OwnNetwork

TEXT = """
title = "a triangle"
[router.one]
ospfd = "router ospf"
[router.two]
[router.three]
commands = ["ip route add 198.51.100.0/24 via 10.0.0.2"]
[[link]]
ends = ["one:a", "three:a"]
addresses = ["10.0.0.1/30", "10.0.0.2/30"]
delay = "2ms"
[[link]]
ends = ["three:b", "two:b"]
loss = "1%"
rate = "10Mbps"
[event.cut]
do = ["three: ip link set a down"]
"""


def network(folder: Path, text: str = TEXT) -> OwnNetwork:
    path = folder / "own.toml"
    path.write_text(text)
    found = find_device(str(path), "dut")
    assert isinstance(found, OwnNetwork)
    return found


def test_the_routers_links_and_events_of_a_file_are_read(tmp_path: Path) -> None:
    found = network(tmp_path)
    assert found.place_names == ("router1", "router2", "router3")
    assert found.offered == ("cut",)
    assert found.description.hops() == 3
    assert [link.discipline for link in found.description.link] == [
        "root netem limit 100000 delay 2000.000us 0.000us",
        "root netem limit 100000 loss 1.000000000% rate 10000000bit",
    ]
    assert [part.module for part in found.wanted_parts] == ["sch_netem"]
    assert [sorted(program.name for program in one.speakers) for one in found.description.router.values()] == [
        ["ospfd", "zebra"],
        [],
        [],
    ]
    # It is found again by the name that a record has.
    again = find_device(found.name)
    assert isinstance(again, OwnNetwork)
    assert again.description == found.description


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"three:a"]', '"four:a"]', "there is no router 'four'"),
        ('"three: ip', '"ip', "there is no router 'ip link set a down'"),
        ('ends = ["three:b", "two:b"]', 'ends = ["three:b", "one:b"]', "no links lead from one to two"),
        ('ends = ["one:a"', 'ends = ["one"', "an end is ROUTER:INTERFACE"),
        ('delay = "2ms"', 'delay = "2 steps"', r"link\.0\.delay"),
        ("ospfd", "ospf", r"router\.one\.ospf: Extra inputs"),
        ('do = ["three: ip link set a down"]', "do = []", r"event\.cut\.do"),
    ],
)
def test_what_is_wrong_in_a_file_is_named_with_its_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in TEXT
    with pytest.raises(PlanError, match=said) as refused:
        network(tmp_path, TEXT.replace(old, new))
    assert refused.value.field == "dut"
