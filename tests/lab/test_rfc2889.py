"""RFC 2889 on a Linux bridge of four ports: its table of addresses, its floods and a congested output are real."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from typing import Any

import pytest
from pyroute2 import IPRoute
from support.lab_trials import on_lab
from support.trials import drive, of_no_use, without_interference

from keisoku.ground.host.namespace import run_in_namespace
from keisoku.ground.host.program import Program
from keisoku.ground.lab.device.lab import Lab
from keisoku.ground.run.result import Result, Row
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.method.method import begin
from keisoku.subjects.device.plan.ability import check_ability
from keisoku.subjects.device.plan.plan import parse
from keisoku.subjects.device.record.trial_record import TrialRecord

pytestmark = pytest.mark.lab
PHASES = {"learning_wait_s": 0.02, "drain_s": 0.1, "rest_s": 0.0}


def measure(
    method: str,
    ports: int = 4,
    before: Callable[[Lab], None] = lambda lab: None,
    mtu: int = 1500,
    **source: Any,
) -> tuple[Result, list[TrialRecord]]:
    """The result of a method on a new bridge, with trials that can be used."""
    names = [str(number + 1) for number in range(ports)]
    plan = parse(
        {"methods": [method], "dut": "lab:bridge", "ports": names, "frame_bytes": [64], "phases": PHASES, **source}
    )
    with Lab("bridge", ports=ports, mtu=mtu) as lab:
        before(lab)
        engine = on_lab(plan, lab)
        try:
            check_ability(plan, engine.capabilities)
            own = begin(method, plan, engine.capabilities, Bias(exact=True), {})
            result, records = drive(method, own, engine, of_no_use, change=without_interference)
        finally:
            engine.close()
    assert result is not None
    return result, records


def value(row: Row, name: str) -> float:
    return row.figures[name].value


def in_dut(lab: Lab, work: Callable[[], None]) -> None:
    path = lab.ports[0].dut_namespace_path
    assert path is not None
    run_in_namespace(path, work)


def forgetful(lab: Lab, ageing_s: float = 2.0, entries: int | None = None) -> None:
    """Makes the bridge forget soon, and learn at most so many addresses."""

    def change() -> None:
        with IPRoute() as ip:
            index = ip.link_lookup(ifname="bridge")[0]
            ip.link("set", index=index, kind="bridge", br_ageing_time=round(100 * ageing_s))
        if entries is not None:
            _limit(index, entries)

    in_dut(lab, change)


def _limit(index: int, entries: int) -> None:
    """IFLA_BR_FDB_MAX_LEARNED (Linux 6.7), which pyroute2 does not know."""

    def attribute(kind: int, body: bytes) -> bytes:
        return struct.pack("=HH", 4 + len(body), kind) + body + bytes(-len(body) % 4)

    nested, newlink, acknowledged = 0x8000, 16, 0x5
    own = attribute(49, struct.pack("=I", entries))
    info = attribute(18 | nested, attribute(1, b"bridge\0") + attribute(2 | nested, own))
    body = struct.pack("=BxHiII", 0, 0, index, 0, 0) + info
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as route:
        route.send(struct.pack("=IHHII", 16 + len(body), newlink, acknowledged, 1, 0) + body)
        (error,) = struct.unpack_from("=i", route.recv(4096), 16)
    if error:
        pytest.skip("this kernel's bridge has no limit of addresses")


CACHING = {"learning_fps": 1000, "test_fps": 1000, "settle_s": 0.05, "ageing_s": 2.0}


def test_the_bridges_limit_of_addresses_is_found_to_the_address() -> None:
    own = CACHING | {"addresses": 17, "most_addresses": 20}
    result, _ = measure("address_caching", 3, lambda lab: forgetful(lab, entries=20), address_caching=own)
    # The bridge has learned the tester's three ports as well.
    assert value(result.rows[0], "table") == 20
    assert value(result.rows[0], "addresses") == 17
    full = [row for row in result.rows[1:] if value(row, "tried") > 17]
    assert full
    assert all(value(row, "flooded") == value(row, "tried") - 17 for row in full)


def test_a_bridge_without_a_limit_holds_at_least_what_was_tried() -> None:
    own = CACHING | {"addresses": 60, "most_addresses": 60}
    result, _ = measure("address_caching", 3, forgetful, address_caching=own)
    assert value(result.rows[0], "addresses") == 60
    assert "64 byte: at least 60 addresses: the search went no further" in result.remarks


def test_a_bridge_learns_as_fast_as_it_is_told() -> None:
    own = {"addresses": 50, "maximum_fps": 2000, "test_fps": 1000, "settle_s": 0.05, "ageing_s": 2.0}
    result, _ = measure("address_learning", 3, forgetful, address_learning=own)
    assert value(result.rows[0], "learning_rate") == pytest.approx(2000, rel=0.05)
    assert "at least this rate" in " ".join(result.remarks)


@pytest.mark.parametrize("engine", ["xdp", "packet"])
def test_a_broadcast_reaches_every_port_of_the_bridge(engine: str) -> None:
    own = {"trial_s": 0.2, "maximum_fps": 1000}
    result, records = measure("broadcast", broadcast=own, engine=engine)
    assert value(result.rows[0], "throughput") == pytest.approx(1000, rel=0.05)
    assert [row.case for row in result.rows[1:]] == ["1 to 2", "1 to 3", "1 to 4"]
    assert all(value(row, "loss") == 0 and value(row, "min") > 0 for row in result.rows[1:])
    arrived = [one.misdirected_frames for one in records[-1].facts.receivers if one.port]
    assert sum(arrived) == 2 * records[-1].facts.sent.offered_frames


@pytest.mark.parametrize("pattern", ["mesh", pytest.param("partial-mesh", marks=pytest.mark.long), "one-and-many"])
def test_the_bridge_forwards_a_pattern(pattern: str) -> None:
    own = {"trial_s": 0.3, "maximum_fps": 1000, "loads_percent": [100], "resolution_percent": 10}
    result, records = measure("forwarding", pattern=pattern, forwarding=own)
    summary, full = result.rows
    senders = len(records[0].facts.transmitters)
    assert value(summary, "frmol") == pytest.approx(1000 * senders, rel=0.05)
    assert value(summary, "throughput") == pytest.approx(1000, rel=0.05)
    assert (value(full, "loss"), value(full, "flooded")) == (0, 0)
    assert not any("began" in line for line in result.deviations)


def test_a_congested_output_loses_a_third_and_the_one_beside_it_nothing() -> None:
    frames_per_second, burst_frames = 2100, 10
    octets = 60  # as the kernel counts them: without FCS

    def shape(lab: Lab) -> None:
        bits = 8 * octets
        rate, burst = f"{frames_per_second * bits}bit", str(burst_frames * octets)
        in_dut(
            lab,
            lambda: print(
                Program("tc", "iproute2").run(
                    *("qdisc", "add", "dev", str(lab.ports[3].dut_interface), "root", "tbf"),
                    *("rate", rate, "burst", burst, "limit", burst),
                )
            ),
        )

    result, _ = measure("congestion", before=shape, congestion={"trial_s": 1.0, "maximum_fps": 2000})
    (row,) = result.rows
    assert value(row, "uncongested_loss") == 0
    # 3000 frames come, 2100 go and some wait; a busy machine's shaper sends fewer.
    assert 25 < value(row, "congested_loss") < 60
    assert value(row, "flooded") == 0
    assert row.remark == "no head-of-line blocking; no back pressure"


def test_a_bridge_of_a_large_mtu_does_not_filter_oversize_frames() -> None:
    own = {"trial_s": 0.1, "maximum_fps": 1000}
    result, _ = measure("errored_frames", 2, mtu=2000, errored_frames=own)
    (row,) = result.rows
    assert (row.frame_bytes, value(row, "forwarded"), row.remark) == (1519, 100, "fail: not filtered")
