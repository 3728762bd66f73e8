"""NDR and PDR by both controllers on devices whose truth is known; the controller as a generator."""

import math
import threading
from typing import Any

import pytest
from support.one_stream import facts_of
from support.simulated_trials import carry_out, device, plan

from keisoku.ground.run.result import Result
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.engine.simulated import SimulatedEngine
from keisoku.subjects.device.method.method import begin
from keisoku.subjects.device.procedure.rfc9971.controller import mlrsearch
from keisoku.subjects.device.procedure.rfc9971.descent import descent
from keisoku.subjects.device.procedure.rfc9971.search_goal import Goal, Question, TrialResult
from keisoku.subjects.device.procedure.rfc9971.settings import PRESETS
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord

SLOW = "link_bits_per_second = 1e6\n"
LINE = 1e6 / (84 * 8)
NO_WAITS = {"learning": False, "drain_s": 3, "rest_s": 0}
IRREGULAR = "{} (an irregular result, RFC 9971 §4.8.4.2)"
CONTROLLERS = ["mlrsearch", "descent"]
NDR = {"loss_percent": [0]}
HARD = SLOW + "[output]\nservice_bits_per_second = 0.63e6\nbuffer_bytes = 128"


def searched(toml: str, **settings: Any) -> tuple[Result, list[TrialRecord]]:
    return carry_out(plan("mlr", frame_bytes=[64], mlr=settings, phases=NO_WAITS), device(toml))


def bounds(result: Result, row: int = 0) -> tuple[float, float]:
    figures = result.rows[row].figures
    return figures["lower_bound"].value, figures["upper_bound"].value


def meets_the_definition(result: Result, records: list[TrialRecord]) -> bool:
    """RFC 2544's goal: a clean trial of 60 s at the lower bound, loss at the upper one and at none below the lower."""
    lower, upper = bounds(result)
    clean = [one.trial for one in records if one.loss_ratio == 0 and one.trial.duration_ns == 60e9]
    lossy = [one.trial.frames_per_second for one in records if one.loss_ratio > 0]
    return (
        any(trial.frames_per_second == lower for trial in clean)
        and min(lossy) == upper
        and lower >= upper * (1 - 0.005) * (1 - 1e-9)
    )


@pytest.mark.parametrize("controller", CONTROLLERS)
@pytest.mark.parametrize(
    ("toml", "least", "most"),
    [
        (HARD, 0.62, 0.637),
        # All passes for 50 s at the line rate, for 59 s but for the last second at a load of 0.99.
        (SLOW + "[output]\nservice_bits_per_second = 0.98e6\nbuffer_bytes = 94080", 0.97, 0.9998),
        # A stall every 30 s that a buffer of 16 frames rides out below 53 % of the line.
        (
            SLOW + "[stall]\nperiod_ns = 30_000_000_000\nduration_ns = 20_000_000\n[output]\nbuffer_bytes = 1024",
            0.45,
            0.6,
        ),
        (SLOW + "[loss]\nratio = 0.001\n[faults]\nduplicate_ratio = 0.05", 0, 0.1),
    ],
    ids=["faster in than out", "late", "stall", "duplicates"],
)
def test_the_load_without_loss_is_found(controller: str, toml: str, least: float, most: float) -> None:
    result, records = searched(toml, controller=controller, **NDR)
    lower, _ = bounds(result)
    assert least * LINE <= lower <= most * LINE
    assert meets_the_definition(result, records)
    assert all(record.valid for record in records)


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_a_device_of_wire_rate_meets_the_goal_at_the_ceiling(controller: str) -> None:
    result, _ = searched(SLOW, controller=controller)
    assert [row.remark for row in result.rows] == [IRREGULAR.format("the highest load met the goal")] * 2
    assert [row.figures["throughput"].value for row in result.rows] == [pytest.approx(0.9998 * LINE)] * 2
    assert [row.figures["throughput"].bound for row in result.rows] == ["at least"] * 2
    # PDR needs no trial of its own: those of NDR answer it.
    assert result.rows[1].figures["trials"].value == 0


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_a_device_that_always_loses_meets_none(controller: str) -> None:
    result, records = searched(SLOW + "[loss]\nratio = 1.0", controller=controller)
    assert [row.remark for row in result.rows] == [IRREGULAR.format("no load met the goal")] * 2
    assert [row.figures["throughput"].bound for row in result.rows] == ["at most"] * 2
    assert len(records) < 30


@pytest.mark.parametrize("controller", CONTROLLERS)
@pytest.mark.parametrize("toml", [SLOW, HARD, SLOW + "[loss]\nratio = 0.0001", SLOW + "[loss]\nratio = 1.0"])
def test_no_load_is_outside_the_given_ones(controller: str, toml: str) -> None:
    """RFC 9971 §4.6.8.1 and §4.6.8.2: Max Load and Min Load."""
    _, records = searched(toml, controller=controller, maximum_fps=1200, minimum_fps=300, **NDR)
    loads = [record.trial.frames_per_second for record in records]
    assert max(loads) == 1200
    assert min(loads) >= 300


def test_the_report_states_what_rfc_9971_requires() -> None:
    result, _ = searched(HARD, trial_s=10, **NDR)
    said = " ".join(result.remarks + result.deviations)
    assert (
        "final trial duration 10 s, duration sum 10 s, exceed ratio 0 %, initial trial duration 1 s, width 0.5 %"
        in said
    )
    assert "loads and throughputs are of one sending port" in said
    assert "its effective duration (RFC 9971 §4.5.8) is the time until then" in said
    assert "frames that the tester did not offer are not counted as lost" in said
    assert result.rows[0].figures["throughput"].covers == "resolution"


def test_ndr_and_pdr_of_a_device_that_leaks() -> None:
    result, records = searched(SLOW + "[loss]\nratio = 0.003")
    ndr, pdr = (row.figures["throughput"].value for row in result.rows)
    assert ndr < 0.05 * LINE
    assert pdr == pytest.approx(0.9998 * LINE * 0.997, rel=0.002)
    assert [row.case for row in result.rows] == ["NDR", "PDR 0.5 %"]
    # What loses less than its goal allows is never cut short.
    assert not any(record.facts.stopped_for_loss for record in records if record.trial.purpose.startswith("PDR"))


def test_stopping_changes_no_bound_but_the_time() -> None:
    found = [searched(HARD, stop_at_loss=stop, **NDR) for stop in (True, False)]
    assert bounds(found[0][0]) == bounds(found[1][0])
    seconds = [result.rows[0].figures["seconds"].value for result, _ in found]
    assert seconds[0] < 0.75 * seconds[1]


def test_where_several_trials_decide_none_is_stopped() -> None:
    result, records = searched(HARD, goals="csit")
    assert {record.trial.duration_ns for record in records} == {10**9}
    assert not any(record.facts.stopped_for_loss for record in records)
    assert "of the 21 s that classify a load, 50 % may" in " ".join(result.deviations)
    lower, upper = bounds(result)
    assert upper * 0.99 < lower < 0.65 * LINE


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_a_search_goes_on_from_its_records(controller: str) -> None:
    wanted = plan("mlr", frame_bytes=[64], mlr={"controller": controller}, phases=NO_WAITS)
    result, records = carry_out(wanted, device(HARD))
    method = begin("mlr", wanted, SimulatedEngine(device(HARD)).capabilities, Bias(exact=True), {})
    trial = next(method)
    for record in records[:-1]:
        assert trial == record.trial
        trial = method.send(record)
    with pytest.raises(StopIteration) as stop:
        method.send(records[-1])
    assert stop.value.value == result


def test_a_tester_that_cannot_offer_the_load_sets_the_limit() -> None:
    def half_the_tester(index: int, trial: Trial, facts: Facts) -> Facts:
        able = int(0.5 * LINE * trial.duration_ns / 1e9)
        if facts.sent.offered_frames <= able:
            return facts
        sent = facts.sent.model_copy(update={"offered_frames": able})
        return facts_of(sent, facts.tracked.model_copy(update={"forwarded_frames": able, "received_frames": able}))

    wanted = plan("mlr", frame_bytes=[64], mlr=NDR, phases=NO_WAITS)
    result, records = carry_out(wanted, device(SLOW), half_the_tester)
    assert "limited by the tester" in result.remarks[1]
    assert bounds_of_lower(result) == pytest.approx(0.485 * LINE, rel=0.01)
    assert not records[0].valid


def bounds_of_lower(result: Result) -> float:
    return result.rows[0].figures["lower_bound"].value


def test_a_search_on_a_machine_that_is_always_busy_comes_to_an_end() -> None:
    def busy(index: int, trial: Trial, facts: Facts) -> Facts:
        return facts_of(facts.sent, facts.tracked, dropped=1)

    result, records = carry_out(plan("mlr", frame_bytes=[64], mlr=NDR, phases=NO_WAITS), device(SLOW), busy)
    # Four trials at each of four loads, of which each is a quarter of the one before.
    assert [round(record.trial.frames_per_second) for record in records[::4]] == [1488, 372, 93, 23]
    assert len(records) == 16
    assert result.rows[0].remark.startswith("given up: the last trial is invalid because the tester itself dropped")
    assert "throughput" not in result.rows[0].figures


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "keisoku-mlrsearch"]


def goal() -> Goal:
    return Goal(0.0, PRESETS["rfc2544"], 0.005)


def test_descent_extrapolates_an_overload_that_a_buffer_hides() -> None:
    """Losses come later at each lower load, so trials of a minute need not be tried all the way down."""
    capacity, buffer = 1e5, 2e5
    search, seconds, losses = descent(goal(), 1e2, 1e6), 0.0, 0
    question = next(search)
    while True:
        first_s = buffer / (question.fps - capacity) if question.fps > capacity else math.inf
        lossy = first_s < question.seconds
        spent_s = first_s + 0.075 if lossy and not question.for_rate else question.seconds
        seconds, losses = seconds + spent_s, losses + lossy
        lost = round(question.fps * question.seconds * 0.8) if question.for_rate else int(lossy)
        try:
            question = search.send(
                TrialResult(question.seconds, spent_s, round(question.fps * question.seconds), lost * lossy)
            )
        except StopIteration as stop:
            bounds = stop.value
            break
    threshold = capacity + buffer / 60
    assert bounds.lower_fps <= threshold < bounds.upper_fps
    assert bounds.lower_fps >= bounds.upper_fps * 0.995
    # A clean trial and one that loses late take two minutes.
    assert seconds < 300


def test_a_closed_controller_leaves_no_thread_behind() -> None:
    search = mlrsearch(goal(), 1.0, 1000.0)
    question = next(search)
    assert question == Question(1.0, 1000.0, for_rate=True)
    search.send(TrialResult(1.0, 1.0, 1000, 400))
    assert threads()
    search.close()
    assert not threads()


def test_a_method_that_is_dropped_ends_its_controller() -> None:
    engine = SimulatedEngine(device(HARD))
    method = begin("mlr", plan("mlr", frame_bytes=[64]), engine.capabilities, Bias(exact=True), {})
    next(method)
    assert threads()
    method.close()
    assert not threads()


def test_what_the_controller_raises_is_raised_here() -> None:
    with pytest.raises(ValueError, match="must be bigger"):
        next(mlrsearch(goal(), 10.0, 1.0))
    search = mlrsearch(goal(), 1.0, 1000.0)
    next(search)
    with pytest.raises(AttributeError):
        search.send("no answer")  # type: ignore[arg-type]
    assert not threads()
