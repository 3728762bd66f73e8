"""Plans: defaults are the standard's, what is written is read back, what is wrong is named."""

import tomllib
from pathlib import Path

import pytest
import tomlkit

from keisoku.errors import PlanError
from keisoku.running.measurement.plan_file import read
from keisoku.subjects.device.method import deviations
from keisoku.subjects.device.plan.ability import check_ability
from keisoku.subjects.device.plan.plan import parse
from keisoku.subjects.device.procedure.rfc2544 import latency, loss
from keisoku.subjects.device.record.capabilities import Capabilities

SOURCE = {"methods": ["throughput"], "dut": "sim:gs908e"}
PORT = Capabilities(
    engine="xdp", link_bits_per_second=None, min_frame_bytes=64, max_frame_bytes=1518, simulated=False,
    transmit_stamp="", receive_stamp="",
)  # fmt: skip


def test_a_plan_survives_its_file(tmp_path: Path) -> None:
    plan = parse({**SOURCE, "frame_bytes": "64-200:64", "latency": {"rate_fps": 5.0}, "phases": {"rest_s": 0.25}})
    (tmp_path / "plan.toml").write_text(tomlkit.dumps(plan.plain()))
    measurement, settings = read(tmp_path / "plan.toml")
    assert (measurement.name, settings) == ("device", plan)


def test_the_defaults_deviate_in_nothing() -> None:
    plan = parse(SOURCE)
    assert plan.frame_bytes == (64, 128, 256, 512, 1024, 1280, 1518)
    assert deviations.rfc2544(plan, simulated=False) == []
    assert deviations.throughput(plan) == loss.deviations_of(plan) == []
    assert latency.deviations_of(plan) == [deviations.FIFO]


def test_every_shortcut_is_named_with_its_clause() -> None:
    plan = parse(
        {
            **SOURCE,
            "frame_bytes": [64],
            "headers": "ipv6",
            "phases": {"learning": False, "drain_s": 0.1, "rest_s": 0, "learning_wait_s": 0},
            "throughput": {"trial_s": 5},
            "loss": {"trial_s": 5, "maximum_fps": 100},
            "latency": {"trial_s": 5, "tag_after_s": 1, "repetitions": 2, "rate_fps": 10},
        }
    )
    clauses = deviations.rfc2544(plan, simulated=True)
    assert len(clauses) == 7
    assert [text.split(":")[0] for text in clauses[:-1]] == [
        "RFC 2544 §9.1", "RFC 2544 appendix C.2.6.4", "RFC 2544 §23 b", "RFC 2544 §23 b", "RFC 2544 §23 d",
        "RFC 2544 §23 e",
    ]  # fmt: skip
    assert len(deviations.throughput(plan)) == 1
    assert len(loss.deviations_of(plan)) == 2
    assert len(latency.deviations_of(plan)) == 5


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"methods": []}, "methods"),
        ({"methods": ["speed"]}, "methods"),
        ({"dut": None}, "dut"),
        ({"colour": "red"}, "colour"),
        ({"gateway": "198.18.1.1"}, "gateway"),
        ({"dut": None, "tx": "xdp:a", "rx": "xdp:b", "engine": "packet"}, "engine"),
        ({"seed": -1}, "seed"),
        ({"frame_bytes": []}, "frame_bytes"),
        ({"frame_bytes": "64-"}, "frame_bytes"),
        ({"throughput": {"trial_s": 0}}, "throughput.trial_s"),
        ({"throughput": {"trial_s": -3}}, "throughput.trial_s"),
        ({"throughput": {"trial_s": float("nan")}}, "throughput.trial_s"),
        ({"latency": {"rate_fps": 0}}, "latency.rate_fps"),
        ({"latency": {"trial_s": 10, "tag_after_s": 20}}, "latency.tag_after_s"),
        ({"loss": {"step_percent": 50}}, "loss.step_percent"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, object], field: str) -> None:
    with pytest.raises(PlanError) as caught:
        parse({**SOURCE, **change})
    assert caught.value.field == field


@pytest.mark.parametrize("size", [63, 1519])
def test_a_size_that_a_port_cannot_send_is_refused(size: int) -> None:
    with pytest.raises(PlanError, match=f"frame size: {size} byte"):
        check_ability(parse({**SOURCE, "frame_bytes": [size]}), PORT)


@pytest.mark.parametrize("text", ["methods = [", "methods = 3\n", "\xff"])
def test_a_file_that_is_no_plan_is_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "plan.toml").write_bytes(text.encode("latin-1"))
    with pytest.raises(PlanError):
        read(tmp_path / "plan.toml")


def test_the_examples_are_plans() -> None:
    examples = list((Path(__file__).parents[4] / "examples").glob("*.toml"))
    assert len(examples) >= 4
    for example in examples:
        measurement, settings = read(example)
        assert isinstance(settings, measurement.settings)
        assert measurement.name != "device" or tomlkit.parse(tomlkit.dumps(settings.plain()))["methods"]


def test_a_plan_of_several_streams_is_read_back() -> None:
    plan = parse(
        {
            "methods": ["loss"],
            "dut": "lab:bridge",
            "stream": [{"headers": "ipv6", "frame_bytes": "64:1,512:1", "weight": 2, "pacing": "bursts:16"}, {}],
        }
    )
    assert parse(tomllib.loads(tomlkit.dumps(plan.plain()))) == plan


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"methods": ["trial", "throughput", "trial"]}, "methods: trial is listed twice; list each once"),
        ({"frame_bytes": [64, 128, 64]}, "frame_bytes: 64 is listed twice; list each once"),
    ],
)
def test_a_method_listed_twice_was_measured_twice_and_shown_once(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(PlanError) as caught:
        parse({**SOURCE, **wrong})
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("dut", "modify", "said"),
    [
        ("sim:gs908e", "UDP.sprt=random(1-5)", "modify: UDP has no field 'sprt'; did you mean sport?"),
        ("sim:gs908e", "IPv6.dst=list(1)", "modify: there is no IPv6 in Ether()/IP()/UDP(); name one of its layers"),
        (
            "sim:gs908e",
            "UDP.sport=random(1-70000)",
            "modify: 'UDP.sport=random(1-70000)' exceeds the range of UDP.sport",
        ),
        ("lab:bridge", "UDP.sport=ranom(1-5)", "modify: 'UDP.sport=ranom(1-5)' is no modifier; write for example"),
    ],
)
def test_a_wrong_field_to_modify_is_refused_when_the_plan_is_read(dut: str, modify: str, said: str) -> None:
    """It was refused in the first trial, of a run that had begun."""
    for varying in ({"modify": [modify]}, {"stream": [{}, {"modify": [modify]}]}):
        with pytest.raises(PlanError) as caught:
            parse({**SOURCE, "dut": dut, **varying})
        assert str(caught.value).startswith(said)


def test_the_headers_of_a_labs_device_are_its_own() -> None:
    """What 'ipv4' is there, only the device knows: MPLS, for one."""
    assert parse({**SOURCE, "dut": "lab:mpls", "modify": ["MPLS.label=list(16, 17)"]}).modify
    with pytest.raises(PlanError, match="there is no MPLS in"):
        parse({**SOURCE, "modify": ["MPLS.label=list(16, 17)"]})
