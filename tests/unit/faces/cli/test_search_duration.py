"""--duration of a method that looks for the throughput first is the length of those trials, too."""

import pytest
from click.testing import CliRunner

from keisoku.faces.cli import outcome
from keisoku.faces.cli.main import keisoku
from keisoku.ground.entry import Work
from keisoku.subjects.device.plan.plan import Plan


def plan_of_command(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Plan:
    plans: list[Plan] = []

    def carry_out(work: Work[Plan]) -> None:
        plans.append(work.settings)

    monkeypatch.setattr("keisoku.running.measurement.carry_out.carry_out", carry_out)
    monkeypatch.setattr(outcome, "show", lambda *_: 0)
    done = CliRunner().invoke(keisoku, [*arguments, "--tx", "fpga:sim#0", "--rx", "fpga:sim#1"])
    assert done.exit_code == 0, f"{done.output}\n{done.exception!r}"
    return plans[0]


@pytest.mark.parametrize(
    "method", ["clock-mismatch", "delay-variation", "latency --tag-after 1ms", "delay --tag-after 1ms"]
)
def test_the_search_lasts_as_long_as_what_follows(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert plan_of_command(monkeypatch, *method.split(), "--duration", "2ms").throughput.trial_s == 0.002


@pytest.mark.parametrize("method", ["back-to-back", "recovery", "reset"])
def test_where_trials_have_no_one_length_it_has_its_own(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert plan_of_command(monkeypatch, method, "--search", "2ms").throughput.trial_s == 0.002


@pytest.mark.parametrize("method", ["back-to-back", "recovery --overload 2ms", "loss --duration 2ms"])
def test_otherwise_it_lasts_as_the_rfc_says(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert plan_of_command(monkeypatch, *method.split()).throughput.trial_s == 60
