"""--within and --profile: a plan fits its time, says what that buys, and keeps what it finished in it."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from support import tiny_measurement
from support.listening import Listening
from support.tiny_measurement import TickSettings

import keisoku as ks
from keisoku.errors import KeisokuError, PlanError
from keisoku.faces.cli import measuring, outcome
from keisoku.faces.cli.main import keisoku
from keisoku.ground.entry import Measurement, Work
from keisoku.ground.report.sentence import sentence
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.outcome import Outcome
from keisoku.ground.statistics.quantity import Quantity
from keisoku.running.measurement.carry_out import analyse, carry_out, resume
from keisoku.running.measurement.plan_values import DEVICE
from keisoku.running.measurement.table import MODULES, find
from keisoku.running.measurement.time_limit import fitted, no_longer_than
from keisoku.subjects.clock.stability.measurement import MEASUREMENT as STABILITY
from keisoku.subjects.clock.stability.settings import StabilitySettings
from keisoku.subjects.device.engine.simulated import SimulatedEngine
from keisoku.subjects.device.plan.plan import Plan, parse
from keisoku.subjects.device.procedure.rfc2544.latency import LatencySettings
from keisoku.subjects.device.procedure.rfc2544.loss import LossSettings
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.table import PROCEDURES

OWN = {"address_caching": {"ageing_s": 1, "most_addresses": 200, "addresses": 20, "settle_s": 0, "learning_fps": 1e4}}
OWN["address_learning"] = {"ageing_s": 1, "addresses": 20, "settle_s": 0}
OWN["group_delay"] = {"groups": 2, "stay_s": 0.2, "leave_s": 0.2}
OWN["group_capacity"] = {"groups": 16, "most_groups": 64, "leave_s": 0.2, "settle_s": 0}
OWN["connection_capacity"] = {"connections": 16, "most_connections": 64}
OWN["connection_rate"] = {"connections": 100}
OWN["connection_teardown"] = {"connections": 100, "repetitions": 3}
OWN["connection_throughput"] = {"connections": 100}
OWN["telemetry"] = {"trial_s": 2, "flows": 10}
OWN["incast"] = {"burst_frames": 8}
SECONDS = {"buffering": 60, "microburst": 60, "address_caching": 60, "address_learning": 60, "reset": 60}
SECONDS["group_capacity"] = 180
SECONDS |= {"qos": 6, "head_of_line": 4, "congestion": 4, "marking": 4}  # whose every frame is simulated one by one
NO_RESETS = {"reset", "forward_pressure"}
"""Of a device that cannot be reset, by a tester that cannot send gaps of 88 bits."""
IN_SHORT = {"throughput", "mlr", "latency", "loss", "back_to_back", "recovery", "sweep", "qos", "buffering", "port_map"}
IN_SHORT |= {"address_caching", "multicast", "connection_rate", "convergence", "changes"}
"""One or two of each way to spend time; the others in `make test-long`."""


def plan_of(name: str, within_s: float, **more: object) -> Plan:
    ports = {"ports": ["1", "2", "3", "4"]} if PROCEDURES[name].own_flows or PROCEDURES[name].pattern else {}
    sizes = [512, 1024, 1518] if PROCEDURES[name].own_flows else [64, 512, 1518]
    source = {"methods": [name], "dut": "sim:gs908e", "frame_bytes": sizes, name: OWN.get(name, {}), **ports}
    return parse(source | {"within_s": within_s} | more)


def spent_s(outcome: Outcome) -> float:
    return sum(json.loads(line)["engine_seconds"] for line in outcome.directory.lines("trials.jsonl"))


def measured(plan: Plan, out: Path) -> tuple[Outcome, list[str]]:
    observer = Listening()
    return carry_out(Work(find(DEVICE), plan, out, observer=observer)), observer.told


@pytest.mark.parametrize(
    "name",
    [
        name if name in IN_SHORT else pytest.param(name, marks=pytest.mark.long)
        for name in PROCEDURES
        if name not in NO_RESETS and name != "cost"  # which takes the CPU time of a real device
    ],
)
def test_every_procedure_fits_its_time_and_measures_every_size(name: str, tmp_path: Path) -> None:
    within_s = SECONDS.get(name, 20)
    outcome, said = measured(plan_of(name, within_s), tmp_path / "run")
    assert spent_s(outcome) <= 1.1 * within_s
    (result,) = outcome.results
    assert not [row for row in result.rows if "stopped" in row.remark]
    assert f" of {within_s} s" in said[0].replace("1 min", "60 s").replace("3 min", "180 s")


def test_what_it_buys_is_said_and_deviations_are_named(tmp_path: Path) -> None:
    outcome, said = measured(plan_of("latency", 30), tmp_path / "run")
    plan = parse(outcome.directory.plan)
    latency = plan.settings_of(LatencySettings)
    assert latency.trial_s < 5 and latency.repetitions >= 3
    buys = f"latency: trials of {latency.trial_s:g} s, {latency.repetitions} repetitions"
    (sentence,) = said
    assert sentence.startswith("latency, 3 sizes: ")
    assert sentence.endswith(f" of 30 s; {buys}; waits of {plan.phases.drain_s:g} s")
    assert f"RFC 2544 §26.2: the stream lasts {latency.trial_s:g} s instead of at least 120 s" in (
        outcome.results[0].deviations
    )


def test_more_time_buys_longer_trials(tmp_path: Path) -> None:
    plans = [
        parse(measured(plan_of("throughput", within_s), tmp_path / str(within_s))[0].directory.plan)
        for within_s in (10, 60, 600)
    ]
    lengths = [plan.throughput.trial_s for plan in plans]
    resolutions = [plan.throughput.resolution_percent for plan in plans]
    assert lengths == sorted(lengths) and lengths[0] < lengths[1] < lengths[2]
    assert resolutions == sorted(resolutions, reverse=True)


def test_a_time_that_is_long_enough_changes_nothing(tmp_path: Path) -> None:
    plan = plan_of("throughput", 36_000)
    outcome, _ = measured(plan, tmp_path / "run")
    assert parse(outcome.directory.plan) == plan


def test_what_is_given_is_kept(tmp_path: Path) -> None:
    plan = plan_of("latency", 60, latency={"trial_s": 3.0, "rate_fps": 1000}, phases={"rest_s": 1.0})
    outcome, _ = measured(plan, tmp_path / "run")
    found = parse(outcome.directory.plan)
    latency = found.settings_of(LatencySettings)
    assert (latency.trial_s, found.phases.rest_s) == (3.0, 1.0)
    assert latency.repetitions < 20 and found.phases.drain_s < 2
    assert spent_s(outcome) <= 66


def test_a_time_that_is_over_keeps_the_sizes_that_are_finished_and_goes_on_later(tmp_path: Path) -> None:
    given = {
        "phases": {"rest_s": 1.0, "drain_s": 1.0, "learning_wait_s": 1.0},
        "trial": {"trial_s": 3.0, "rate_fps": 1000},
    }
    plan = plan_of("trial", 14, **given)
    outcome, _ = measured(plan, tmp_path / "run")
    (result,) = outcome.results
    assert [(row.frame_bytes, bool(row.figures)) for row in result.rows] == [(64, True), (512, True), (1518, False)]
    assert result.rows[-1].remark == "stopped after 14 s"
    assert "stopped after 14 s: 2 of 3 sizes were measured" in result.remarks
    assert "loss" in result.rows[0].figures and isinstance(result.rows[0].figures["loss"], Quantity)
    assert spent_s(outcome) == 12
    again = resume(outcome.directory.path, {"within_s": 20})
    assert again.results[0].rows[-1].figures and not again.results[0].remarks
    assert spent_s(again) == 18


def test_loads_of_a_size_that_was_not_finished_are_shown(tmp_path: Path) -> None:
    """A loss rate that was cut in its only size showed nothing, though loads had been measured."""
    device = tmp_path / "slow.toml"
    device.write_text("[output]\nservice_bits_per_second = 3.7e8\nbuffer_bytes = 6400\n")
    given = {
        "phases": {"rest_s": 0.5, "drain_s": 0.5, "learning_wait_s": 0.0},
        "loss": {"trial_s": 1.0, "maximum_fps": 1e6},
    }
    plan = plan_of("loss", 7, dut=f"sim:{device}", frame_bytes=[64, 512], **given)
    outcome, _ = measured(plan, tmp_path / "run")
    (result,) = outcome.results
    loads = [(row.frame_bytes, row.figures["load"].value) for row in result.rows if row.figures]
    assert loads == [(64, 100), (64, 90), (64, 80)]
    assert [(row.frame_bytes, row.remark) for row in result.rows if not row.figures] == [
        (64, "stopped after 7 s"),
        (512, "stopped after 7 s"),
    ]
    assert "stopped after 7 s: 0 of 2 sizes were measured" in result.remarks
    again = resume(outcome.directory.path, {"within_s": 60})
    assert again.results[0].rows[:3] == result.rows[:3] and not again.results[0].remarks


def test_procedures_that_never_began_say_why(tmp_path: Path) -> None:
    given = {
        "trial": {"trial_s": 3.0, "rate_fps": 1000},
        "phases": {"rest_s": 0.0, "drain_s": 0.5, "learning_wait_s": 0.0},
    }
    plan = parse(
        {"methods": ["trial", "loss"], "dut": "sim:gs908e", "frame_bytes": [64, 512], "within_s": 11, **given}
        | {"loss": {"trial_s": 6.0}}
    )
    outcome, _ = measured(plan, tmp_path / "run")
    trial, loss = outcome.results
    assert all(row.figures for row in trial.rows)
    assert loss.nothing_because == "nothing was measured: stopped after 11 s"
    assert sentence(loss, "loss") == "Loss: nothing was measured: stopped after 11 s."


def test_a_time_in_which_no_size_can_be_measured_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="5 s is too short: the first frame size alone takes"):
        measured(plan_of("trial", 5, trial={"trial_s": 10.0, "rate_fps": 1000}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_python_takes_the_same_settings(tmp_path: Path) -> None:
    run = ks.measure("throughput", dut="sim:gs908e", frame_bytes=64, within_s=10, out=tmp_path / "run")
    assert run.results[0].rows[0].figures["throughput"].value > 1.48e6


def test_a_procedure_gets_the_time_that_the_ones_before_it_left(tmp_path: Path) -> None:
    """The search over a device that forwards everything ends after one trial a size."""
    source = {"methods": ["throughput", "latency"], "dut": "sim:gs908e", "frame_bytes": [64, 512, 1518], "within_s": 60}
    outcome, said = measured(parse(source), tmp_path / "run")
    plan = parse(outcome.directory.plan)
    lengths = [json.loads(line)["trial"] for line in outcome.directory.lines("trials.jsonl")]
    last_s = lengths[-1]["duration_ns"] / 1e9
    assert last_s > 1.2 * plan.settings_of(LatencySettings).trial_s
    assert f"latency: trials of {last_s:g} s" in said[1]
    assert 40 < spent_s(outcome) <= 60
    assert f"the stream lasts {last_s:g} s" in " ".join(outcome.results[1].deviations)
    assert all(row.figures for result in outcome.results for row in result.rows)
    assert analyse(outcome.directory).results == outcome.results


def test_a_procedure_after_slow_ones_has_shorter_trials_and_a_resumed_run_keeps_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host is busy for the first two trials, which take ten times as long as the forecast says."""
    source = {"methods": ["trial", "loss"], "dut": "sim:gs908e", "frame_bytes": [64, 512], "within_s": 60}
    finish, factors = SimulatedEngine.finish, iter((10, 10))

    def slowly(engine: SimulatedEngine) -> tuple[Facts, float]:
        facts, seconds = finish(engine)
        return facts, seconds * next(factors, 1)

    monkeypatch.setattr(SimulatedEngine, "finish", slowly)
    outcome, said = measured(parse(source), tmp_path / "run")
    records = [json.loads(line) for line in outcome.directory.lines("trials.jsonl")]
    plan = parse(outcome.directory.plan)
    length_s = records[-1]["trial"]["duration_ns"] / 1e9
    assert length_s < plan.settings_of(LossSettings).trial_s and f"frame loss rate: trials of {length_s:g} s" in said[1]
    assert spent_s(outcome) <= 60 and all(row.figures for result in outcome.results for row in result.rows)
    path = outcome.directory.path / "trials.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-3]))
    again = resume(outcome.directory.path)
    assert again.results == outcome.results


def test_sizes_of_a_search_share_the_time_where_trials_take_longer_than_thought(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of seven sizes were measured on a busy host, finely, and the others not at all."""
    device = tmp_path / "slow.toml"
    device.write_text("[output]\nservice_bits_per_second = 3.7e8\nbuffer_bytes = 6400\n")
    sizes = [64, 128, 256, 512, 1024, 1280, 1518]
    plan = plan_of("throughput", 60, dut=f"sim:{device}", frame_bytes=sizes)
    finish = SimulatedEngine.finish

    def slowly(engine: SimulatedEngine) -> tuple[Facts, float]:
        facts, seconds = finish(engine)
        return facts, 6 * seconds

    monkeypatch.setattr(SimulatedEngine, "finish", slowly)
    outcome, _ = measured(plan, tmp_path / "run")
    (result,) = outcome.results
    assert all(row.figures for row in result.rows), [row.remark for row in result.rows]
    assert any("share of the time was over" in remark for remark in result.remarks)
    assert spent_s(outcome) <= 60
    path = outcome.directory.path / "trials.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[: len(lines) // 2]))
    part = analyse(outcome.directory).results[0].rows
    finished = [row.frame_bytes for row in part if row.remark != "the run was ended before"]
    assert finished and part[: len(finished)] == result.rows[: len(finished)]
    assert resume(outcome.directory.path).results == outcome.results


# Profiles


def latency_of(plan: Plan) -> tuple[float, int]:
    latency = plan.settings_of(LatencySettings)
    return latency.trial_s, latency.repetitions


def test_a_profile_shortens_what_is_not_given() -> None:
    source = {"methods": ["latency"], "dut": "sim:gs908e"}
    quick, short, rfc = (parse({**source, "profile": profile}) for profile in ("quick", "short", "rfc"))
    assert latency_of(quick) == (0.5, 3) and quick.phases.rest_s == 0.1
    assert latency_of(short) == (2.0, 5) and short.phases.rest_s == 0.4
    assert quick.throughput.trial_s == 0.5 and quick.throughput.resolution_percent == 0.99
    assert rfc == parse(source) and latency_of(rfc)[0] == 120
    kept = parse({**source, "profile": "quick", "latency": {"trial_s": 7.0}, "phases": {"drain_s": 2.0}})
    assert latency_of(kept) == (7.0, 3)
    assert (kept.phases.drain_s, kept.phases.rest_s) == (2.0, 0.1)
    assert parse(quick.plain()) == quick


@pytest.mark.parametrize("name", PROCEDURES)
def test_a_profile_lengthens_nothing_and_every_procedure_has_one(name: str) -> None:
    ports = {"ports": ["1", "2", "3", "4"]} if PROCEDURES[name].own_flows or PROCEDURES[name].pattern else {}
    source = {"methods": [name], "dut": "sim:gs908e", **ports}
    quick, rfc = getattr(parse({**source, "profile": "quick"}), name), getattr(parse(source), name)
    for field, value in rfc:
        if isinstance(value, int | float) and not isinstance(value, bool):
            if field.endswith("_percent"):
                assert getattr(quick, field) >= value
            else:
                assert getattr(quick, field) <= value


def typed(monkeypatch: pytest.MonkeyPatch, *arguments: str, terminal: bool = False) -> Plan:
    plans: list[Plan] = []
    monkeypatch.setattr("keisoku.running.measurement.carry_out.carry_out", lambda work: plans.append(work.settings))
    monkeypatch.setattr(outcome, "show", lambda *_: 0)
    monkeypatch.setattr(measuring, "somebody_waits", lambda: terminal)
    done = CliRunner().invoke(keisoku, ["throughput", *arguments])
    assert done.exit_code == 0, f"{done.output}\n{done.exception!r}"
    return plans[0]


def test_quick_is_the_default_of_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    real = ("--tx", "xdp:eth1", "--rx", "xdp:eth2")
    assert typed(monkeypatch, *real).profile == "rfc"
    assert typed(monkeypatch, *real, terminal=True).profile == "quick"
    assert typed(monkeypatch, *real, "--profile", "rfc", terminal=True).throughput.trial_s == 60
    assert typed(monkeypatch, *real, "--within", "5min", terminal=True).profile == "rfc"
    # A simulated device's time is virtual: nobody waits for it.
    assert typed(monkeypatch, "--dut", "sim:gs908e", terminal=True).profile == "rfc"


def test_options_win_over_the_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = typed(monkeypatch, "--dut", "sim:gs908e", "--profile", "quick", "--duration", "7s", "--waits", "1s")
    assert (plan.throughput.trial_s, plan.phases.rest_s, plan.throughput.resolution_percent) == (7.0, 1.0, 0.99)


def test_a_plan_file_has_both_and_run_takes_a_time(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text('methods = ["throughput"]\ndut = "sim:gs908e"\nprofile = "short"\n')
    command = ["run", str(tmp_path / "plan.toml"), "--within", "10s", "--out", str(tmp_path / "run"), "--json"]
    done = CliRunner().invoke(keisoku, command)
    assert done.exit_code == 0, done.output
    plan = RunDirectory.open(tmp_path / "run").plan
    assert (plan["profile"], plan["within_s"], plan["throughput"]["trial_s"]) == ("short", 10.0, 2.0)


# Every other measurement


def test_a_log_is_as_long_as_its_time() -> None:
    shorter = fitted(STABILITY, StabilitySettings(within_s=60))
    assert 40 <= shorter.duration_s <= 54
    assert fitted(STABILITY, StabilitySettings(within_s=60, duration_s=120)).duration_s == 120
    assert fitted(STABILITY, StabilitySettings(duration_s=120)).duration_s == 120


@pytest.mark.parametrize("name", [name for name in MODULES if name != DEVICE])
def test_every_measurement_has_the_option(name: str) -> None:
    shown = CliRunner().invoke(keisoku, [*name.split(), "--help"]).output
    assert "--within TIME" in shown


@pytest.mark.parametrize("name", MODULES)
def test_what_may_be_shortened_are_settings(name: str) -> None:
    entry = find(name)
    assert set(entry.shortens) <= entry.settings.model_fields.keys()
    assert not entry.shortens or entry.seconds is not None


def endless(rows: bool) -> Measurement[TickSettings]:
    def measure(work: Work[TickSettings]) -> None:
        if rows:
            tiny_measurement.measure(work)
        else:
            work.begin({})
        threading.Event().wait()

    entry = tiny_measurement.MEASUREMENT
    return Measurement(entry.name, entry.title, entry.settings, measure, entry.analyse, entry.summary, figure="mean")


def test_what_takes_longer_is_ended_and_analysed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODULES, tiny_measurement.NAME, tiny_measurement.__name__)
    began_s, observer = time.monotonic(), Listening()
    outcome = carry_out(Work(endless(rows=True), TickSettings(within_s=3), tmp_path / "run", observer=observer))
    assert 2.8 <= time.monotonic() - began_s < 10
    assert outcome.results[0].rows[0].figures["mean"].value > 0
    assert observer.warned[-1] == "the time of 3 s is over: what was measured until now is analysed"


def test_the_start_of_the_program_and_the_answer_count_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line took 60.6 and 61.4 s of "at most 60": the start was not counted, nor an answer that is slow to come."""
    asked = StabilitySettings.model_validate({"within_s": 60.0})
    assert Work(STABILITY, asked, waited_s=2.0).left_s() == pytest.approx(0.95 * (60 - 2.75 * 2), abs=0.5)
    assert fitted(STABILITY, asked, 2.0).duration_s < fitted(STABILITY, asked).duration_s
    monkeypatch.setitem(MODULES, tiny_measurement.NAME, tiny_measurement.__name__)
    began_s = time.monotonic()
    carry_out(Work(endless(rows=True), TickSettings(within_s=8), tmp_path / "run", waited_s=1.4))
    assert time.monotonic() - began_s < 7


def test_what_measured_nothing_in_its_time_says_so(tmp_path: Path) -> None:
    with pytest.raises(KeisokuError, match=r"the time of 0\.2 s is over, and nothing was measured"):
        carry_out(Work(endless(rows=False), TickSettings(within_s=0.2), tmp_path / "run"))


def test_a_time_that_is_not_over_interrupts_nothing() -> None:
    with no_longer_than(0.05):
        pass
    time.sleep(0.1)
