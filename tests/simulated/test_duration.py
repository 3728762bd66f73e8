"""--duration is the length of each trial of every procedure that has it; all others refuse it by name.

A sweep of --duration 0.5s once ran trials of 5 s, because the option was the length of a sample.
"""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from support.simulated_trials import carry_out

from keisoku.errors import PlanError
from keisoku.faces.cli import outcome
from keisoku.faces.cli.main import keisoku
from keisoku.ground.entry import Work
from keisoku.ground.simulated_device.device import parse_device
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.engine.simulated import SimulatedEngine
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.plan.plan import Plan, parse
from keisoku.subjects.device.record.trial import NS_PER_S, Trial
from keisoku.subjects.device.table import PROCEDURES

DURATION_S = 0.02
DEVICE = """
ports = 8
link_bits_per_second = 100_000_000
[output]
service_bits_per_second = 6e7
buffer_bytes = 20_000
"""
OTHERWISE = {
    "port_map": ("limit_trial_s", "whether the largest frame passes shows at once, so --limit-trial is short"),
    "qos": ("window_s", "one class, or two, are sent for --window each before all are sent together"),
    "marking": ("saturation_s", "what the queue holds shows at once, so --saturation is short"),
}
"""Procedures of which some trials have a length of their own, by its setting, and why."""
LENGTHS = {
    "back_to_back": "a trial is a burst of so many frames: --limit, and --search for the trials before it",
    "recovery": "a trial is an overload and the time after it: --overload and --watch, and --search",
    "reset": "a trial is the time before the reset and after it: --stable and --watch, and --search",
    "convergence": "a trial is the time before the event and after it: --stable and --watch",
    "balance": "a trial is as long as its flows need at the given rate; one with an event has --stable and --watch",
    "buffering": "a trial is as long as its extra frames need: --limit",
    "microburst": "a trial is as long as its burst: --limit",
    "group_delay": "a trial is as long as its joins and leaves take",
    "group_capacity": "a trial is as long as its groups need at the rate of messages",
    "connection_capacity": "a trial is as long as its connections need at the given rate",
    "connection_rate": "a trial is as long as its connections need at the rate that is tried",
    "connection_teardown": "a trial is as long as its connections need at the given rate",
    "address_caching": "a trial is as long as its addresses need at the given rates",
    "address_learning": "a trial is as long as its addresses need at the rate that is tried",
}
"""Procedures whose trials have no one length, and what sets it."""
BY_FLOWS = ("qos", "multicast")
"""Procedures of which a trial has parts: the load of each has the length, and what comes before it its own."""
OWN = {"incast": ("--burst-frames", "2", "--period", "5ms"), "qos": ("--window", "50ms", "--pause", "10ms")}
"""Options of procedures that would take long without them."""
NOT_SIMULATED = {"forward_pressure": "only the FPGA instrument sends gaps of 88 bits"}
WITH = [name for name in PROCEDURES if name not in LENGTHS and name not in NOT_SIMULATED]


def planned(monkeypatch: pytest.MonkeyPatch, procedure: Procedure, *arguments: str) -> Plan:
    """The plan of a command."""
    plans: list[Plan] = []

    def carry_out(work: Work[Plan]) -> None:
        plans.append(work.settings)

    monkeypatch.setattr("keisoku.running.measurement.carry_out.carry_out", carry_out)
    monkeypatch.setattr(outcome, "show", lambda *_: 0)
    ports = ["--ports", "1,2,3,4"] if procedure.own_flows or procedure.pattern else []
    given = ["--dut", "sim:gs908e", "--size", "64,1518", "--waits", "10ms", *ports, *arguments]
    done = CliRunner().invoke(keisoku, [procedure.name.replace("_", "-"), *given])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return plans[0]


def trials_of(plan: Plan) -> list[Trial]:
    return [record.trial for record in carry_out(plan, parse_device(DEVICE, "test"))[1]]


@pytest.mark.parametrize("name", WITH)
def test_every_trial_has_the_length_that_was_asked_for(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(monkeypatch, PROCEDURES[name], "--duration", f"{DURATION_S}s", *OWN.get(name, ()))
    found = trials_of(plan)
    assert found
    lengths = {trial.duration_ns for trial in found}
    if name in BY_FLOWS:
        lengths = {flow.duration_ns or trial.duration_ns for trial in found for flow in trial.flows if not flow.message}
    asked_ns = round(DURATION_S * NS_PER_S)
    assert asked_ns in lengths
    if name in OTHERWISE:
        lengths.discard(round(getattr(getattr(plan, name), OTHERWISE[name][0]) * NS_PER_S))
    assert lengths == {asked_ns}


def test_a_sweep_of_half_a_second_runs_half_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(monkeypatch, PROCEDURES["sweep"], "--duration", "0.5s")
    assert {trial.duration_ns for trial in trials_of(plan)} == {500_000_000}


@pytest.mark.parametrize("name", LENGTHS)
def test_what_has_no_one_length_refuses_the_option(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PlanError, match="no one length") as refused:
        planned(monkeypatch, PROCEDURES[name], "--duration", "1s")
    assert all(option in str(refused.value) for option in words(LENGTHS[name]))


@pytest.mark.parametrize("name", [name for name, why in LENGTHS.items() if "--search" in why])
def test_its_search_has_a_length_of_its_own(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert planned(monkeypatch, PROCEDURES[name], "--search", "20ms").throughput.trial_s == 0.02


def test_every_procedure_has_the_option_or_a_reason() -> None:
    without = {name for name, each in PROCEDURES.items() if "trial_s" not in each.settings.model_fields}
    assert without == LENGTHS.keys()


def words(text: str) -> list[str]:
    return [word.strip(",:") for word in text.split() if word.startswith("--")]


def test_a_series_has_an_interval_a_second_but_no_more_than_3600() -> None:
    """A trial of a day once had 86 400 intervals, and took half a gigabyte when they were written."""
    plan = parse({"methods": ["loss"], "dut": "sim:test"})
    inputs = MethodInput(plan, SimulatedEngine(parse_device(DEVICE, "test")).capabilities, Bias(exact=True))
    for seconds, interval_s in ((2.0, 0.1), (20.0, 1.0), (3600.0, 1.0), (86_400.0, 24.0)):
        assert inputs.trial("test", 64, 1000.0, seconds).interval_ns == interval_s * NS_PER_S
