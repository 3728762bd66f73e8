"""What simulated devices export about their traffic, held against the truth: samplers, records, and what is wrong."""

from __future__ import annotations

from pathlib import Path
from struct import pack
from typing import Any

import pytest
from support.simulated_trials import carry_out, device, plan

import keisoku as ks
from keisoku.errors import PlanError
from keisoku.ground.run.result import Result, Row
from keisoku.ground.telemetry.flow_records import RecordReader
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.engine.exports import Datagram, read_exports
from keisoku.subjects.device.engine.simulated import SimulatedEngine
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.plot.device import Device
from keisoku.subjects.device.procedure.telemetry.plot import telemetry_plot
from keisoku.subjects.device.procedure.telemetry.settings import TelemetrySettings
from keisoku.subjects.device.procedure.telemetry.telemetry import PROCEDURE
from keisoku.subjects.device.record.run import DeviceRun
from keisoku.subjects.device.record.trial_record import TrialRecord

EXACT = 'protocol = "netflow"\n'


def telemetry(own: str | None, more: str = "", seed: int = 1, **given: Any) -> tuple[Result, list[TrialRecord]]:
    toml = "ports = 2\n" + more + ("" if own is None else f"[telemetry]\n{own}")
    settings = {"trial_s": 5, "flows": 50} | given
    source = plan("telemetry", frame_bytes=[128], seed=seed, telemetry=settings)
    return carry_out(source, device(toml))


def only(result: Result) -> Row:
    (row,) = result.rows
    return row


def values(row: Row) -> dict[str, float]:
    return {name: quantity.value for name, quantity in row.figures.items()}


def test_a_record_of_each_flow_is_exact() -> None:
    result, (record,) = telemetry(EXACT)
    row = only(result)
    assert row.case == "NetFlow 5 of 198.51.100.1"
    assert row.remark == "every flow is counted exactly"
    found = values(row)
    assert (found["bias"], found["byte_bias"], found["missing_flows"], found["lost_exports"]) == (0, 0, 0, 0)
    assert (found["samples"], found["flows"]) == (record.facts.tracked.forwarded_frames, 50)
    assert found["export_delay"] == pytest.approx(1e9)
    assert not result.flags


def test_frames_that_the_device_loses_may_be_counted_or_not() -> None:
    lossy = "[loss]\nratio = 0.1\n"
    result, (record,) = telemetry(EXACT, lossy)
    assert record.facts.tracked.lost_frames > 0
    assert only(result).remark == "every flow is counted exactly"


def test_a_sampler_that_says_the_truth_is_believed() -> None:
    result, _ = telemetry("one_in = 16\n", sampling=16)
    row = only(result)
    assert row.remark == "what it exports is true: it looks at one frame in 16"
    low, high = row.figures["sampled_one_in"].bounds or (0, 0)
    assert low < 16 < high
    assert row.figures["bias"].bounds is not None
    assert values(row)["stated_one_in"] == 16


def test_a_sampler_whose_rate_is_off_is_found() -> None:
    result, _ = telemetry("one_in = 16\ntruly_one_in = 20\n", trial_s=20)
    assert only(result).remark.endswith("of the frames are not counted")
    assert [flag.name for flag in result.flags] == ["false-telemetry"]
    low, high = only(result).figures["sampled_one_in"].bounds or (0, 0)
    assert low < 20 < high


def test_a_sampler_that_is_configured_otherwise_than_it_says_is_found() -> None:
    result, _ = telemetry("one_in = 16\n", sampling=32)
    assert "its exports state one in 16" in only(result).remark


@pytest.mark.parametrize("own", [EXACT, "one_in = 4\n", 'one_in = 8\nprotocol = "netflow"\n'])
def test_frames_that_are_counted_twice_are_found(own: str) -> None:
    result, _ = telemetry(own + "copies = 2\n")
    assert only(result).remark == "each frame is counted 2 times"


def test_flows_without_a_record_are_found() -> None:
    result, _ = telemetry(EXACT + "missing = 0.1\n")
    missing = int(values(only(result))["missing_flows"])
    assert 0 < missing < 20
    assert f"{missing} flows are missing" in only(result).remark


def test_flows_without_a_sample_are_no_fault_where_few_frames_are_sampled() -> None:
    result, _ = telemetry("one_in = 512\n", flows=400, trial_s=4)
    row = only(result)
    assert values(row)["missing_flows"] > 0
    assert row.remark == "what it exports is true: it looks at one frame in 512"


def test_flows_that_are_never_sampled_are_found() -> None:
    result, _ = telemetry("one_in = 8\nmissing = 0.04\n", trial_s=10, flows=100)
    assert "missing, which sampling does not explain" in only(result).remark


def test_exports_that_do_not_arrive_are_counted_by_their_numbers() -> None:
    result, (record,) = telemetry("one_in = 8\nlost = 0.1\n")
    row = only(result)
    assert record.facts.exports is not None
    (exporter,) = record.facts.exports.exporters
    assert values(row)["lost_exports"] == exporter.missing > 0
    assert "did not arrive, by their sequence numbers" in row.remark


@pytest.mark.parametrize("numbers", [[0, 3, 8], [2, 7, 10]], ids=["of the first flow", "of the last flow"])
def test_exporters_that_number_their_last_flow_miss_nothing(numbers: list[int]) -> None:
    """Open vSwitch's NetFlow and softflowd's IPFIX number it; exports of theirs were said to be missing."""
    readers: dict[str, RecordReader] = {}
    datagrams = [
        Datagram(0, "198.51.100.1", pack("!HHIIIIBBH", 5, count, 0, 0, 0, number, 0, 0, 0) + bytes(48 * count))
        for number, count in zip(numbers, (3, 5, 3), strict=True)
    ]
    (exporter,) = read_exports(datagrams, [], readers).exporters
    assert exporter.missing == 0
    (exporter,) = read_exports([datagrams[0], datagrams[2]], [], readers).exporters
    assert exporter.missing > 0


def test_every_export_is_a_row_of_a_table(tmp_path: Path) -> None:
    file = tmp_path / "device.toml"
    file.write_text(f"ports = 2\n[telemetry]\n{EXACT}")
    run = ks.measure("telemetry", dut=f"sim:{file}", flows=5, trial_s=1, frame_bytes=128, out=tmp_path / "run")
    rows = run.query("select stream, frames, one_in, older from exports order by stream").to_pylist()
    assert [row["frames"] for row in rows] == [2000] * 5
    assert {(row["one_in"], row["older"]) for row in rows} == {(1, False)}


def test_exports_of_other_flows_alone_accuse_nobody() -> None:
    """As of a device that translates addresses: its flows are others than those that were sent."""
    _, (record,) = telemetry(EXACT)
    strange = pack("!HHIIIIBBH", 5, 1, 0, 0, 0, 0, 0, 0, 0) + bytes(48)
    exports = read_exports([Datagram(0, "198.51.100.1", strange)], [], {})
    changed = record.model_copy(update={"facts": record.facts.model_copy(update={"exports": exports})})
    source = plan("telemetry", frame_bytes=[128], telemetry={"trial_s": 5, "flows": 50})
    generator = PROCEDURE.generator(MethodInput(source, SimulatedEngine(device("ports = 2\n")).capabilities, Bias()))
    next(generator)
    with pytest.raises(StopIteration) as ended:
        generator.send(changed)
    row = only(ended.value.value)
    assert row.remark.startswith("none of its exports is of the flows that were sent")
    assert "bias" not in row.figures
    assert not ended.value.value.flags


def test_a_client_of_the_server_opens_no_port_of_it() -> None:
    with pytest.raises(PlanError, match="a port of the server"):
        PROCEDURE.from_afar({"listen": "198.51.100.1:6343"})
    PROCEDURE.from_afar({"flows": 3})


def test_a_silent_device_says_nothing() -> None:
    result, _ = telemetry(None)
    assert only(result).figures == {}
    assert only(result).remark.startswith("nothing was exported until")
    assert not result.flags


def test_the_load_is_as_long_as_the_resolution_needs() -> None:
    settings = TelemetrySettings(sampling=64, resolution_percent=5)
    assert settings.length_s(10_000) == 63
    assert TelemetrySettings(sampling=1).length_s(10_000) == 10
    assert TelemetrySettings(trial_s=3).length_s(10_000) == 3


def test_frames_without_ports_are_refused() -> None:
    with pytest.raises(PlanError, match="no ports by which exporters tell flows apart"):
        TelemetrySettings().modifier("ethernet", "1")


@pytest.mark.parametrize("text", ["here", "198.51.100.1", "198.51.100.1:0", ":6343", "198.51.100.1:99999"])
def test_an_address_without_a_port_is_refused(text: str) -> None:
    with pytest.raises(PlanError, match="is no address with a port"):
        TelemetrySettings(listen=text)


def test_the_plot_has_a_point_for_each_exporter() -> None:
    result, _ = telemetry(EXACT)
    plot = telemetry_plot([Device(0, "test", DeviceRun(Path(), {}, {}, [], [result]))])
    assert plot is not None
    (trace,) = plot.traces
    assert list(trace["y"]) == [0]
    assert telemetry_plot([]) is None
