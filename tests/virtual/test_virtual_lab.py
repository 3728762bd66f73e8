"""Devices in virtual time: real kernels and daemons, whose figures are the same at each run and on each host."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import keisoku as ks
from keisoku.errors import EngineError, PlanError
from keisoku.ground.virtual_kernel.machine import run

DELAY_NS = 3_000_000
STEP_NS = 5 * 256
"""Each reading of a virtual kernel's clock moves it on by 256 ns, and a packet is seen by a few readers."""
STATIC = f"""
[router.left]
commands = ["ip route add 198.18.2.0/24 via 10.0.0.2"]
[router.right]
commands = ["ip route add 198.18.1.0/24 via 10.0.0.1"]
[[link]]
ends = ["left:to-right", "right:to-left"]
addresses = ["10.0.0.1/30", "10.0.0.2/30"]
delay = "{DELAY_NS // 1000}us"
"""
SPEAKS = """
interface fast
 ip ospf area 0
 ip ospf network point-to-point
 ip ospf hello-interval 1
 ip ospf dead-interval 4
interface slow
 ip ospf area 0
 ip ospf network point-to-point
 ip ospf cost 100
router ospf
 redistribute connected
"""
OSPF = f"""
[router.left]
ospfd = '''{SPEAKS}'''
[router.right]
ospfd = '''{SPEAKS}'''
[[link]]
ends = ["left:fast", "right:fast"]
addresses = ["10.0.1.1/30", "10.0.1.2/30"]
delay = "1ms"
[[link]]
ends = ["left:slow", "right:slow"]
addresses = ["10.0.2.1/30", "10.0.2.2/30"]
delay = "5ms"
[event.silent]
do = ["left: tc qdisc replace dev fast root netem loss 100%", "right: tc qdisc replace dev fast root netem loss 100%"]
undo = ["left: tc qdisc replace dev fast root netem delay 1ms", "right: tc qdisc replace dev fast root netem delay 1ms"]
"""


@contextmanager
def hogs(count: int) -> Iterator[None]:
    """So many programs that never sleep."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


def network(folder: Path, text: str) -> str:
    path = folder / "network.toml"
    path.write_text(text)
    return f"vlab:{path}"


def trial(dut: str, out: Path, **settings: Any) -> dict[str, Any]:
    """The record of one trial of 0.3 s."""
    ks.measure("trial", dut=dut, frame_bytes=[64], rate_fps=1000, trial_s=0.3, out=out, **settings)
    (line,) = (out / "trials.jsonl").read_text().splitlines()
    found: dict[str, Any] = json.loads(line)
    return found


def test_a_run_of_routers_is_the_same_to_the_bit_beside_two_hogs(tmp_path: Path) -> None:
    dut = network(tmp_path, OSPF)
    first = trial(dut, tmp_path / "first")
    with hogs(2):
        assert trial(dut, tmp_path / "second") == first
    other = trial(dut, tmp_path / "other", seed=7)
    assert other["facts"]["streams"][0]["tracked"]["lost_frames"] == 0
    # Another seed is another run: the daemons draw other times.
    assert other["engine_seconds"] != first["engine_seconds"] or other["facts"] != first["facts"]


def test_the_delay_of_a_link_is_recovered_to_the_clocks_step(tmp_path: Path) -> None:
    found = trial(network(tmp_path, STATIC), tmp_path / "run")
    latency = found["facts"]["streams"][0]["tracked"]["latency"]
    assert latency["count"] == 300
    assert DELAY_NS <= latency["min_ns"] <= latency["max_ns"] <= DELAY_NS + STEP_NS


def test_routers_that_hear_nothing_are_gone_round_after_the_dead_interval(tmp_path: Path) -> None:
    asked = {"dut": network(tmp_path, OSPF), "event": "silent", "frame_bytes": [64], "rate_fps": 1000}
    away, back = ks.measure("convergence", **asked, out=tmp_path / "run").results[0].rows
    # The last hello came at most an interval of 1 s before; flooding, SPF (50 ms) and the kernel's route come on top.
    assert 3.0e9 <= away.figures["interruption"].value <= 5.2e9
    assert away.figures["lost"].value == pytest.approx(away.figures["interruption"].value / 1e6, abs=1)
    assert back.figures["lost"].value == 0


def test_what_shows_the_speed_of_a_cpu_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="throughput shows how fast a device works") as refused:
        ks.measure("throughput", dut="vlab:bridge", out=tmp_path / "run")
    assert refused.value.field == "dut"
    with pytest.raises(PlanError, match="is in virtual time, where nothing of this host is") as named:
        ks.measure("trial", tx="vlab:bridge#1", rx="vlab:bridge#2", out=tmp_path / "run")
    assert named.value.field == "tx"
    with pytest.raises(PlanError, match="there is no router 'far'"):
        trial(network(tmp_path, STATIC.replace('"right:', '"far:')), tmp_path / "run")


def test_a_kernel_whose_time_stands_still_is_ended_and_said(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"the virtual kernel did not end in 3 s of this host's time: before it"):
        run(["sh", "-c", "echo before it; while :; do :; done"], 1, [tmp_path], 3.0)


def test_a_tester_that_is_killed_leaves_no_kernel(tmp_path: Path) -> None:
    said = tmp_path / "said"
    program = (
        "from pathlib import Path; from keisoku.ground.virtual_kernel.machine import run;"
        f"run(['sh', '-c', 'echo > {said}; while :; do :; done'], 1, [Path('{tmp_path}')], 60)"
    )
    asked = subprocess.Popen([sys.executable, "-c", program])
    until(said.exists)
    mine = kernels()
    assert mine
    os.kill(asked.pid, signal.SIGKILL)
    asked.wait()
    until(lambda: not kernels() & mine)


def kernels() -> set[str]:
    """Processes of virtual kernels on this host."""
    return {
        path.name
        for path in Path("/proc").iterdir()
        if path.name.isdigit() and b"time-travel=inf-cpu" in read(path / "cmdline")
    }


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def until(holds: Callable[[], bool]) -> None:
    """Until it holds. Fails after a minute."""
    end_s = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end_s
        time.sleep(0.05)
