"""RFC 3918 on a Linux bridge that learns groups and on a multicast router; the kernel's own events are the witness."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from support.lab_trials import on_lab
from support.trials import drive, of_no_use, without_interference

from keisoku.ground.lab.device.lab import Lab
from keisoku.ground.run.result import Result, Row
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.method.method import begin
from keisoku.subjects.device.plan.ability import check_ability
from keisoku.subjects.device.plan.plan import parse
from keisoku.subjects.device.procedure.rfc3918.group_delay import stays
from keisoku.subjects.device.procedure.rfc3918.settings import GroupDelaySettings
from keisoku.subjects.device.record.trial import NS_PER_S
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.report.accounting import account

pytestmark = pytest.mark.lab
PHASES = {"learning": False, "learning_wait_s": 0.0, "drain_s": 0.2, "rest_s": 0.0}
QUICK: dict[str, Any] = {"repetitions": 1, "groups": 2, "quiet_s": 0.8, "stay_s": 0.4, "leave_s": 0.4, "spacing_s": 0.1}
_EVENT = re.compile(
    r"Timestamp: (?P<date>.+?) (?P<usec>\d+) usec\n(?P<deleted>Deleted )?.*?port (?P<port>\S+) grp (?P<group>\S+)"
)


def measure(
    method: str, lab: Lab, device: str, engine: str = "xdp", **settings: Any
) -> tuple[Result, list[TrialRecord]]:
    ports = [str(number + 1) for number in range(len(lab.ports))]
    plan = parse(
        {
            "methods": [method],
            "dut": f"lab:{device}",
            "engine": engine,
            "ports": ports,
            "frame_bytes": [64],
            "phases": PHASES,
            method: settings,
        }
    )
    carrier = on_lab(plan, lab)
    try:
        check_ability(plan, carrier.capabilities)
        own = begin(method, plan, carrier.capabilities, Bias(exact=True), {})
        result, records = drive(method, own, carrier, of_no_use, change=without_interference)
    finally:
        carrier.close()
    assert result is not None
    return result, records


def value(row: Row, name: str) -> float:
    return row.figures[name].value


@contextmanager
def watched(lab: Lab, log: Path) -> Iterator[None]:
    """While `bridge monitor mdb` writes the kernel's events of groups to a file."""
    command = ["nsenter", f"--net={lab.ports[0].dut_namespace_path}", "stdbuf", "-oL", "bridge", "-t", "monitor", "mdb"]
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT) as monitor:
        try:
            yield
        finally:
            monitor.terminate()


def events(log: Path) -> dict[tuple[str, str], list[tuple[bool, float]]]:
    """For each interface and group, whether it was added, and when, in s."""
    found: dict[tuple[str, str], list[tuple[bool, float]]] = {}
    for match in _EVENT.finditer(log.read_text()):
        at = datetime.strptime(match["date"], "%a %b %d %H:%M:%S %Y").timestamp() + int(match["usec"]) / 1e6
        found.setdefault((match["port"], match["group"]), []).append((not match["deleted"], at))
    return found


@pytest.mark.parametrize(
    ("protocol", "leave", "engine"),
    [
        ("igmpv2", "fast", "xdp"),
        ("igmpv3", "fast", "packet"),
        ("mldv1", "fast", "xdp"),
        pytest.param("mldv2", "asked", "xdp", marks=pytest.mark.long),
    ],
)
def test_joins_and_leaves_are_as_far_apart_as_the_kernel_says(
    protocol: str, leave: str, engine: str, tmp_path: Path
) -> None:
    device = f"bridge?snooping=on&leave={leave}"
    settings = QUICK | {"protocol": protocol, "group_fps": 2000, "leave_s": 3.0 if leave == "asked" else 0.4}
    with Lab(device, ports=3) as lab, watched(lab, tmp_path / "events"):
        _, records = measure("group_delay", lab, device, engine, **settings)
        interfaces = [str(port.dut_interface) for port in lab.ports]
    record = records[-1]
    assert account(record).adds_up
    witnessed = events(tmp_path / "events")
    compared = 0
    for number, stay in enumerate(stays(GroupDelaySettings.model_validate(settings), record)):
        assert stay.join is not None and stay.leave is not None and not stay.early and not stay.stayed
        group = number % 2
        address = f"239.1.0.{group}" if protocol.startswith("igmp") else f"ff15::1:{group}"
        seen = witnessed[interfaces[stay.port], address][-2:]
        assert [added for added, _ in seen] == [True, False]
        kernel_ns = (seen[1][1] - seen[0][1]) * NS_PER_S
        apart_ns = settings["stay_s"] * NS_PER_S
        # `bridge` takes its stamp when it is told, which a busy host may delay by some 10 ms.
        assert kernel_ns >= apart_ns + stay.leave.least_ns - stay.join.most_ns - 50e6
        assert kernel_ns <= apart_ns + stay.leave.most_ns - stay.join.least_ns + 50e6
        compared += 1
    assert compared == 4


def test_a_bridge_that_ends_snooping_beyond_its_limit_has_a_capacity_of_at_least_what_passed_before() -> None:
    """Beyond its limit the kernel ends snooping for good, so that smaller numbers are flooded as well."""
    device = "bridge?snooping=on&leave=fast&groups=64"
    with Lab(device, ports=4) as lab:
        result, _ = measure("group_capacity", lab, device, groups=30, most_groups=100, settle_s=0.6, leave_s=0.3)
    capacity = result.rows[0].figures["groups"]
    assert capacity.bound == "at least" and 30 <= capacity.value <= 64
    assert "the device no longer forwards even" in result.rows[0].remark
    assert max(value(row, "flooded") for row in result.rows[1:] if row.figures) > 64


@pytest.mark.parametrize(
    ("device", "protocol"),
    [("bridge?snooping=on", "mldv2"), ("multicast-router", "igmpv3"), ("multicast-router", "mldv1")],
)
def test_every_frame_to_a_group_reaches_each_port_that_joined(device: str, protocol: str) -> None:
    with Lab(device, ports=3) as lab:
        result, records = measure(
            "multicast",
            lab,
            device,
            protocol=protocol,
            groups=[3],
            unicast_percent=[20],
            trial_s=0.3,
            settle_s=0.7,
            maximum_fps=3000,
            resolution_percent=50,
        )
    assert all(account(record).adds_up for record in records)
    good = [record for record in records if record.valid and record.loss_ratio == 0]
    assert good and [branch.receive for branch in good[-1].facts.streams[0].everywhere] == [1, 2]
    assert good[-1].facts.expected_frames > 1.7 * good[-1].facts.sent.offered_frames
    assert value(result.rows[0], "throughput") > 0
    assert [row.case for row in result.rows[1:]] == ["3 groups, 20 % unicast, port 2", "3 groups, 20 % unicast, port 3"]


@pytest.mark.parametrize("protocol", ["igmpv2", pytest.param("mldv1", marks=pytest.mark.long), "mldv2"])
def test_a_router_forwards_a_group_from_a_join_to_a_leave(protocol: str) -> None:
    with Lab("multicast-router", ports=3) as lab:
        settings = QUICK | {"protocol": protocol, "group_fps": 2000}
        result, records = measure("group_delay", lab, "multicast-router", **settings)
    assert account(records[-1]).adds_up
    for row in result.rows:
        assert "join_delay" in row.figures and "leave_delay" in row.figures, row.remark


def test_a_bridge_without_snooping_floods_groups() -> None:
    with Lab("bridge", ports=3) as lab:
        result, _ = measure("group_delay", lab, "bridge", group_fps=1000, **QUICK)
    assert "floods groups without receivers" in result.rows[0].remark
