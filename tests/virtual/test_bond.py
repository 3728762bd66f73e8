"""Balance of flows over a bond, which many hosts' kernels lack, in the virtual kernel: it is Linux' own driver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import keisoku as ks
from keisoku.ground.run.result import Result, Row
from keisoku.subjects.device.procedure.balance.balance import ALL
from keisoku.subjects.device.procedure.balance.deciding import FIELD
from keisoku.subjects.device.procedure.balance.moves import EVENT

SOURCE, DESTINATION = "source IPv4 address", "destination IPv4 address"
PORTS = {"UDP source port", "UDP destination port"}


def measured(device: str, folder: Path, **own: Any) -> Result:
    settings = {"resolution_percent": 4, "profile": "quick", "destinations": "198.19.0.0/16"} | own
    return ks.measure("balance", dut=f"vlab:{device}", ports=(1, 2, 3, 4), out=folder / "run", **settings).result()


def verdict(result: Result) -> Row:
    return next(row for row in result.rows if row.case == ALL)


@pytest.mark.parametrize(
    ("policy", "fields"),
    [
        # Documentation/networking/bonding.rst: xmit_hash_policy; layer2 also has the destination address and the type.
        ("layer2", {"source MAC address"}),
        ("layer2+3", {"source MAC address", SOURCE, DESTINATION}),
        ("layer3+4", {SOURCE, DESTINATION, *PORTS}),
    ],
)
def test_the_fields_of_a_bonds_policy_decide(policy: str, fields: set[str], tmp_path: Path) -> None:
    result = measured(f"lag?hash={policy}", tmp_path, fields=True)
    assert verdict(result).remark == "as even as a random hash"
    assert {row.case for row in result.rows if row.group == FIELD and row.remark == "decides"} == fields


def test_a_bond_that_takes_turns_sprays_every_flow_and_reorders_none(tmp_path: Path) -> None:
    """777 flows over 3 members: each met the same member in every turn, as if by a perfect hash."""
    found = verdict(measured("lag?mode=balance-rr", tmp_path, flows=777))
    assert found.figures["sprayed"].value == found.figures["flows"].value == 787
    assert found.figures["stay"].value == 1
    assert found.figures["reordered"].value == 0


def test_a_bond_takes_remainders_so_that_flows_move_though_their_member_stays(tmp_path: Path) -> None:
    """Of three remainders two thirds of all hashes have another one among two members, half of the stayed ones."""
    result = measured("lag", tmp_path, event="member-lost")
    lost, back = (row for row in result.rows if row.group == EVENT)
    flows = lost.figures["flows"].value
    assert flows / 5 < lost.figures["moved_needlessly"].value < flows / 2
    assert back.figures["moved"].value == lost.figures["moved"].value
