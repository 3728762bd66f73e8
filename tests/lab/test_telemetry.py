"""Exports of real programs, held against the truth: Open vSwitch, and pmacct beside a bridge.

Each is used as its own manual says; what Open vSwitch does otherwise than its manual is in docs/telemetry.md.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.lab_passages import needs, require
from support.lab_trials import measured

from keisoku.ground.host.child import Child
from keisoku.ground.host.program import Program
from keisoku.ground.lab.device.lab import Lab
from keisoku.ground.lab.device.vswitch import PROGRAMS
from keisoku.ground.run.result import Result, Row
from keisoku.subjects.device.procedure.telemetry.telemetry import EXPORTER, INTERFACE

pytestmark = pytest.mark.lab

WAITS = {"learning_wait_s": 0.05, "drain_s": 2.0, "rest_s": 0.0}
PMACCT = Program("pmacctd", "pmacct")
EXPORTS_TO = "127.0.0.1:6343"


def telemetry(lab: Lab, **own: Any) -> Result:
    settings = {"rate_fps": 500, "flows": 20, "trial_s": 2, "before_s": 1.5, "after_s": 4} | own
    result, _ = measured(lab, "telemetry", 128, waits=WAITS, **settings)
    return result


def exporter(result: Result) -> Row:
    (row,) = [row for row in result.rows if row.group == EXPORTER]
    return row


@contextmanager
def bridge_with(*words: str) -> Iterator[tuple[Lab, str]]:
    """A bridge, and a program of the user in its namespace; 'PORT' is the bridge's first port."""
    with Lab("bridge") as lab:
        place = lab._places[0].name
        subprocess.run(["ip", "-n", place, "link", "set", "lo", "up"], check=True)
        named = [word.replace("PORT", str(lab.ports[0].dut_interface)) for word in words]
        child = Child(["ip", "netns", "exec", place, *named], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield lab, f"{EXPORTS_TO}@{place}"
        finally:
            child.end()


@pytest.mark.parametrize("name", [pytest.param("ovs-export", marks=needs(*PROGRAMS))])
def test_samples_and_counters_of_open_vswitch_are_true(name: str) -> None:
    require(name)
    with Lab(f"{name}?sampling=4") as lab:
        result = telemetry(lab, sampling=4, trial_s=4)
    row = exporter(result)
    assert (row.case, row.remark) == ("sFlow 5 of 127.0.0.1", "what it exports is true: it looks at one frame in 4")
    assert row.figures["stated_one_in"].value == 4
    low, high = row.figures["bias"].bounds or (1, 1)
    assert low < 0 < high
    counters = [row for row in result.rows if row.group == INTERFACE]
    assert sorted(row.case.rpartition(" ")[2] for row in counters) == ["in", "out"]
    assert {row.remark for row in counters} == {"all frames are counted"}


@pytest.mark.parametrize("name", [pytest.param("ovs-export", marks=needs(*PROGRAMS))])
def test_netflow_of_open_vswitch_counts_frames_exactly_and_bytes_of_ethernet(name: str) -> None:
    with Lab(f"{name}?protocol=netflow") as lab:
        row = exporter(telemetry(lab))
    assert row.case == "NetFlow 5 of 127.0.0.1"
    assert row.figures["bias"].bounds == (0, 0)
    assert row.remark == "its bytes are those of Ethernet frames, and not of IP packets"


@pytest.mark.parametrize("name", [pytest.param("ovs-export", marks=needs(*PROGRAMS))])
def test_ipfix_of_open_vswitch_counts_each_frame_twice(name: str) -> None:
    """Its templates come once in ten minutes: the tester listens before the first frame passes."""
    with Lab(f"{name}?protocol=ipfix") as lab:
        row = exporter(telemetry(lab))
    assert row.case == "IPFIX of 127.0.0.1"
    assert row.remark == "each frame is counted 2 times"


@pytest.mark.parametrize(("version", "protocol"), [("9", "NetFlow 9"), ("10", "IPFIX")])
@pytest.mark.parametrize("program", [pytest.param(PMACCT, marks=needs(PMACCT))], ids=["pmacct"])
def test_records_of_pmacct_are_exact(program: Program, version: str, protocol: str, tmp_path: Path) -> None:
    file = tmp_path / "pmacctd.conf"
    file.write_text(
        f"pcap_interface: {{port}}\nplugins: nfprobe\nnfprobe_receiver: {EXPORTS_TO}\nnfprobe_version: {version}\n"
        "nfprobe_timeouts: udp=1:expint=1\naggregate: src_host, dst_host, src_port, dst_port, proto\n"
    )
    with bridge_with("sh", "-c", f"sed -i s/{{port}}/PORT/ {file} && exec {program.name} -f {file}") as (lab, listen):
        result = telemetry(lab, listen=listen, after_s=6)
    row = exporter(result)
    assert row.case == f"{protocol} of 127.0.0.1"
    assert row.remark == "every flow is counted exactly"
