"""Convergence on devices of the lab: outages that the device itself knows, and real protocols that take over."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import pytest
from support.lab_passages import needs
from support.lab_trials import on_lab
from support.trials import drive

from keisoku.ground.lab.device.lab import Lab
from keisoku.ground.lab.device.vrrp import KEEPALIVED
from keisoku.ground.lab.frr import PROGRAMS
from keisoku.ground.run.result import Result
from keisoku.subjects.device.analysis.outage import Reach, reaches
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.method.method import begin
from keisoku.subjects.device.plan.plan import parse
from keisoku.subjects.device.record.trial_record import TrialRecord

pytestmark = pytest.mark.lab

MS = 1_000_000


def measured(lab: Lab, streams: int = 5, rest_s: float = 0.0, **settings: Any) -> tuple[Result, TrialRecord]:
    """The result and the trial that it rests on."""
    ports = len(lab.ports)
    source: dict[str, Any] = {"methods": ["convergence"], "dut": f"lab:{lab.device.name}", "frame_bytes": [64]}
    if ports > 2:
        source |= {"ports": [str(number + 1) for number in range(ports)], "pattern": "either"}
    own = {"rate_fps": 5000, "stable_s": 0.3, "watch_s": 0.5} | settings
    waits = {"learning_wait_s": 0.05, "drain_s": 0.1, "rest_s": rest_s}
    plan = parse({**source, "streams": streams, "convergence": own, "phases": waits})
    engine = on_lab(plan, lab)
    try:
        method = begin("convergence", plan, engine.capabilities, Bias(), {})
        result, records = drive("convergence", method, engine, seed=lambda index: index, streams=4096)
    finally:
        engine.close()
    assert result is not None
    return result, max(records, key=lambda record: (record.valid, -record.facts.sent.interrupted_ns))


@contextmanager
def observed(lab: Lab, words: Sequence[str] = ("ip", "-ts", "monitor", "route", "link")) -> Iterator[list[str]]:
    """What the kernel says of its changes in the device's first namespace meanwhile."""
    command = ["ip", "netns", "exec", lab._places[0].name, *words]
    found: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            yield found
        finally:
            time.sleep(0.1)
            child.terminate()
            found += (child.stdout.read() if child.stdout else "").splitlines()


def transit_ns(record: TrialRecord, flow: int) -> float:
    """How much the time from the tester's stamp to the device can vary, which is part of the latency."""
    latency = record.facts.streams[flow].tracked.latency
    assert latency is not None
    return latency.max_ns - latency.min_ns


def moments(said: list[str], *words: str) -> list[datetime]:
    """When the kernel told of changes with all these words, except of routes that it removed."""
    return [
        datetime.fromisoformat(line[1 : line.index("]")])
        for line in said
        if line.startswith("[") and all(word in line for word in words) and "Deleted" not in line
    ]


def event(record: TrialRecord) -> Reach:
    return next(reach for reach in reaches(record) if reach.event == 0)


@pytest.mark.parametrize(("outage", "flows"), [("5ms", 1), ("50ms", 10), ("300ms", 100)])
def test_an_outage_of_the_faulty_device_is_recovered_with_its_length_and_its_frames(outage: str, flows: int) -> None:
    with Lab(f"faulty?outage={outage}") as lab:
        _, record = measured(lab, flows, event="path-lost")
        length_ns = int(outage.removesuffix("ms")) * MS
        found = event(record)
        for impact in found.affected:
            off_ns = transit_ns(record, impact.flow)
            assert impact.interruption.lowest - off_ns <= length_ns <= impact.interruption.highest + off_ns
            assert impact.onset is not None and impact.onset.lowest <= MS
        assert sum(impact.lost for impact in found.impacts) <= lab.applied().dropped
    (moment,) = [found.moment]
    assert moment is not None and moment.highest == moment.lowest


def test_a_lost_member_of_a_nexthop_group_moves_its_flows_to_the_other_port_and_back() -> None:
    with Lab("ecmp", ports=3) as lab:
        result, record = measured(lab, 20, event="member-lost")
    assert len(result.rows) == 2, result.rows
    lost, back = result.rows
    assert lost.figures["moved"].value == back.figures["moved"].value > 0
    ports = {impact.port_before for impact in event(record).impacts}
    assert ports == {1, 2}, "both members carried flows before"
    assert {impact.port_after for impact in event(record).impacts} == {1}
    assert record.facts.tracked.reordered.count == 0, "arrivals at two ports are in the order of their times"


@pytest.mark.parametrize("name", [pytest.param("vrrp", marks=needs(KEEPALIVED))])
def test_the_backup_takes_over_after_three_advertisements_of_a_killed_master(name: str) -> None:
    with Lab(name, ports=3) as lab:
        result, record = measured(lab, rest_s=1.0, event="master-killed", watch_s=1.5)
    row = result.rows[0]
    assert row.figures["moved"].value == 5
    # RFC 5798 §6.1: three times 100 ms and (256 - 100) / 256 of it, less the time since the last advertisement.
    shortest = row.figures["interruption_least"].bounds
    assert shortest is not None and shortest[1] >= 200 * MS
    assert {impact.port_after for impact in event(record).impacts} == {2}


@pytest.mark.parametrize("name", [pytest.param("vrrp", marks=needs(KEEPALIVED))])
def test_a_killed_vrrp_master_does_not_answer_for_the_address_of_the_backup(name: str) -> None:
    addresses = "bridge", "-timestamp", "monitor", "fdb"
    with Lab(name, ports=3) as lab, observed(lab, words=addresses) as said:
        lab.happen("master-killed")
        deadline = time.monotonic() + 5
        while not _virtual_is_behind(lab, "backup"):
            assert time.monotonic() < deadline, "the backup did not take over"
        assert _virtual_is_behind(lab, "backup")
    behind = [line.split()[2] for line in said if line.startswith("00:00:5e:00:01:01 dev")]
    assert behind == ["backup"], said


def _virtual_is_behind(lab: Lab, router: str) -> bool:
    command = ["ip", "netns", "exec", lab._places[0].name, "bridge", "fdb", "show", "dev", router]
    return "00:00:5e:00:01:01" in subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.long
@pytest.mark.parametrize("name", [pytest.param("diamond?routing=isis&bfd=off", marks=needs(*PROGRAMS))])
def test_a_lost_link_of_the_diamond_agrees_with_the_kernels_own_time_of_the_new_route(name: str) -> None:
    with Lab(name) as lab, observed(lab) as said:
        result, _ = measured(lab, rest_s=5.0, event="link-down", watch_s=4.0)
    lost = moments(said, "upper", "state DOWN")
    found = [at for at in moments(said, "198.18.2.0/24", "dev lower") if at > lost[-1]]
    assert lost and found, said
    observed_ns = (found[0] - lost[-1]) / timedelta(microseconds=1) * 1000
    interval = result.rows[0].figures["interruption"].bounds
    assert interval is not None
    # The kernel tells of its changes some time after it made them, later on a busy host.
    assert interval[0] - 20 * MS <= observed_ns <= interval[1] + 20 * MS, said


@pytest.mark.parametrize("name", [pytest.param("diamond?bfd=off", marks=needs(*PROGRAMS))])
def test_ospf_leaves_a_lost_link_at_once_and_not_when_it_may_tell_of_a_change_again(name: str) -> None:
    with Lab(name) as lab, observed(lab) as said:
        result, _ = measured(lab, event="link-down", watch_s=2.0)
    lost = moments(said, "upper", "state DOWN")
    found = [at for at in moments(said, "198.18.2.0/24", "dev lower") if at > lost[-1]]
    assert lost and found, said
    assert (found[0] - lost[-1]).total_seconds() < 1.0, said
    longest = result.rows[0].figures["interruption"].bounds
    assert longest is not None and longest[1] < 1000 * MS


def test_the_spanning_tree_opens_the_other_way_after_twice_the_forward_delay() -> None:
    with Lab("stp") as lab:
        result, record = measured(lab, event="port-blocked", watch_s=5.0, rate_fps=2000)
    lost, back = (row.figures["interruption"].bounds for row in result.rows)
    assert lost is not None and back is not None
    # IEEE 802.1D-1998 §8.10: listening and learning take a forward delay of 2 s each, of the kernel's ticks.
    assert lost[0] >= 3900 * MS and lost[1] <= 4600 * MS
    # The other way is closed by the root's next hello, up to 1 s after the line began to listen.
    assert back[1] >= 2900 * MS and back[0] <= 4600 * MS
    assert record.facts.tracked.duplicated.count == 0
