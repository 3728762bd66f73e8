"""The cost of a frame on real devices: against what the kernel measures of the same program, and in pairs."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.xdp_run import run_ns

import keisoku as ks
from keisoku.errors import PlanError
from keisoku.ground.report import digits
from keisoku.ground.run.result import Row

pytestmark = [
    pytest.mark.lab,
    pytest.mark.alone,
    pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang and libbpf's headers"),
]
EXAMPLE = Path(__file__).parents[2] / "examples" / "ci"
SCRIPT, NAMESPACE, INTERFACE = str(EXAMPLE / "dataplane.sh"), "keisoku-ci", "dut0"
PORTS: dict[str, Any] = {"tx": "xdp:kci0", "rx": "xdp:kci1"}

Build = Callable[[int], Path]


@pytest.fixture
def build(tmp_path: Path) -> Iterator[Build]:
    """Builds the example's data plane with so many steps more a frame; one is loaded at first."""

    def built(steps: int) -> Path:
        out = tmp_path / f"{steps}.o"
        source = str(EXAMPLE / "dataplane" / "forward.c")
        subprocess.run([SCRIPT, "build", source, str(out), f"-DWORK={steps}"], check=True)
        return out

    subprocess.run([SCRIPT, "up"], check=True)
    try:
        load(built(0))
        yield built
    finally:
        subprocess.run([SCRIPT, "down"], check=True)


def load(program: Path) -> None:
    subprocess.run([SCRIPT, "load", str(program)], check=True)


def row(found: ks.Measured) -> Row:
    return found.results[0].rows[0]


def verdict(found: ks.Measured) -> str:
    """Without what is said of pairs that the host spoiled."""
    return row(found).remark.partition(";")[0]


def test_more_steps_cost_what_the_kernel_says_of_them(build: Build, tmp_path: Path) -> None:
    """A step is a call of some ns, so that 60 of them take about three times as long as the rest of the program."""
    costs, own = [], []
    for steps in (0, 60):
        load(build(steps))
        found = row(ks.measure("cost", **PORTS, frame_bytes=64, out=tmp_path / str(steps)))
        if not found.figures:
            pytest.skip(f"the host: {found.remark}")
        costs.append(found.figures["cost"])
        own.append(run_ns(NAMESPACE, INTERFACE))
        assert found.figures["lost"].value == 0
        assert found.figures["tester"].value < found.figures["whole"].value
    more_ns = own[1] - own[0]
    # The processor works at the first steps while it still waits for what comes before the program: 25 of 300 ns.
    assert 0.8 * more_ns <= costs[1].value - costs[0].value <= 1.1 * more_ns


def test_the_program_is_found_inside_with_what_it_costs(build: Build, tmp_path: Path) -> None:
    load(build(60))
    found = ks.measure("cost", **PORTS, frame_bytes=64, inside=True, runs=6, out=tmp_path / "run").results[0]
    whole, *stages = found.rows
    if not stages:
        pytest.skip(f"the host: {whole.remark}, {found.remarks}")
    parts = {stage.case: stage.figures["part"] for stage in stages}
    assert sum(part.value for part in parts.values()) == pytest.approx(whole.figures["cost"].value)
    own = parts["XDP program forward"]
    assert own.bounds is not None and own.bounds[0] < own.value < own.bounds[1]
    # As above, and without the 35 ns that the kernel's own loop takes.
    assert 0.65 * run_ns(NAMESPACE, INTERFACE) <= own.bounds[1] and own.bounds[0] <= 1.1 * run_ns(NAMESPACE, INTERFACE)
    assert own.value > 0.75 * whole.figures["cost"].value and next(iter(parts)) == "XDP program forward"
    assert abs(parts["not attributed"].value) < 0.03 * whole.figures["cost"].value


def test_a_bridge_is_found_inside(tmp_path: Path) -> None:
    found = ks.measure("cost", dut="lab:bridge", frame_bytes=64, inside=True, runs=6, out=tmp_path / "run").results[0]
    parts = {row.case: row.figures["part"] for row in found.rows if "part" in row.figures}
    if not parts:
        pytest.skip(f"the host: {found.rows[0].remark}, {found.remarks}")
    bridge, cost = parts["bridge"], found.rows[0].figures["cost"]
    assert bridge.bounds is not None and bridge.bounds[0] > 30 and bridge.bounds[1] < cost.value
    assert f"({digits.text(bridge)})" in found.sentence


def test_a_pair_tells_a_slower_program_and_calls_an_equal_one_equal(build: Build, tmp_path: Path) -> None:
    loads = [f"{SCRIPT} load {build(steps)}" for steps in (0, 20)]
    worse = ks.ab(
        "cost", **PORTS, frame_bytes=64, before_a=loads[0], before_b=loads[1], margin_percent=5, within_s=60,
        out=tmp_path / "worse",
    )  # fmt: skip
    equal = ks.ab(
        "cost", **PORTS, frame_bytes=64, before_a=loads[0], before_b=loads[0], margin_percent=20, within_s=60,
        out=tmp_path / "equal",
    )  # fmt: skip
    said = {verdict(worse), verdict(equal)}
    if "undecided" in said or "not measured" in said:
        pytest.skip(f"the host: {row(worse).remark}, {row(equal).remark}")
    assert verdict(worse) == "worse" and not worse.met
    assert row(worse).figures["change"].value == pytest.approx(20 * 100, rel=0.95), "20 steps are most of the program"
    assert verdict(equal) in ("equal", "no worse") and equal.met
    runs = sorted((tmp_path / "worse").glob("pair-*/*/trials.jsonl"))
    # A pair without a calm moment is kept, and left out of the comparison.
    assert len(runs) == len((tmp_path / "worse" / "runs.jsonl").read_text().splitlines())
    assert len(runs) % 2 == 0 and len(runs) >= 2 * row(worse).figures["pairs"].value
    assert '"on_cable":true' in runs[0].read_text() + runs[1].read_text()
    assert '"on_cable":true' not in runs[-1].read_text(), "the tester's part is measured once"


def test_a_router_costs_more_than_the_cable(tmp_path: Path) -> None:
    found = row(ks.measure("cost", dut="lab:router", frame_bytes=64, bursts=[1], runs=6, out=tmp_path / "run"))
    if not found.figures:
        pytest.skip(f"the host: {found.remark}")
    assert found.figures["cost"].bounds is not None and found.figures["cost"].bounds[0] > 0


def test_a_shared_cpu_is_named_where_the_tester_could_send_no_more(tmp_path: Path) -> None:
    found = ks.measure("throughput", dut="lab:bridge", frame_bytes=64, profile="quick", out=tmp_path / "run")
    figures = row(found).figures
    if "core" not in figures:
        assert row(found).remark != "limited by the tester", "then the device was the limit, or the host disturbed"
        return
    assert figures["throughput"].bound == "at least" and figures["core"].value > figures["throughput"].value
    assert "% of the CPU that it shares with the tester" in found.results[0].sentence


def test_pairs_of_throughputs_that_are_bounds_go_on_with_the_cost(build: Build, tmp_path: Path) -> None:
    loads = [f"{SCRIPT} load {build(steps)}" for steps in (0, 20)]
    found = ks.ab(
        "throughput", **PORTS, frame_bytes=64, profile="quick", before_a=loads[0], before_b=loads[1], within_s=90,
        out=tmp_path / "run",
    )  # fmt: skip
    last = max((tmp_path / "run").glob("pair-*/b/plan.toml")).read_text()
    if verdict(found) == "undecided" or 'methods = ["cost"]' not in last:
        pytest.skip(f"the host: {row(found).remark}")
    assert verdict(found) == "worse" and row(found).case == "cost"


def test_a_process_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="no process has the name or number 'no-such-switch'"):
        ks.measure("cost", dut="lab:bridge", process=["no-such-switch"], out=tmp_path / "run")


@pytest.mark.skipif(shutil.which("ovs-vswitchd") is None, reason="needs Open vSwitch")
def test_the_daemon_of_a_laboratory_is_part_of_the_device(tmp_path: Path) -> None:
    found = ks.measure("cost", dut="lab:ovs", frame_bytes=64, runs=2, rate_fps=20_000, out=tmp_path / "run")
    figures = row(found).figures
    if not figures:
        pytest.skip(f"the host: {row(found).remark}")
    assert figures["elsewhere"].value > figures["batches"].value, "its user-space datapath does most of the work"
