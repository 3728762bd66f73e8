"""The critical load on devices whose curve is known, and on devices beyond the loads that can be tried."""

import random
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from support.one_stream import facts_of
from support.simulated_trials import carry_out, device, plan

from keisoku.ground.run.result import Result
from keisoku.subjects.device.analysis.clean_curve import CleanCurve
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.engine.simulated import SimulatedEngine
from keisoku.subjects.device.method.method import begin
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord

LINK = "link_bits_per_second = 1e7\n"
LINE = 1e7 / (84 * 8)
HARD = LINK + "[output]\nservice_bits_per_second = 6.3e6\nbuffer_bytes = 640"
PHASES = {"learning": False, "drain_s": 0.2, "rest_s": 0}
Spoil = Callable[[int, Trial, Facts], Facts]


def estimated(toml: str, spoil: Spoil | None = None, **settings: Any) -> tuple[Result, list[TrialRecord]]:
    wanted = plan("critical_load", frame_bytes=[64], critical_load={"trial_s": 0.2} | settings, phases=PHASES)
    return carry_out(wanted, device(toml), spoil) if spoil else carry_out(wanted, device(toml))


def noisy(spread: float, seed: int) -> Spoil:
    """The device's limit is another one in each trial, 60 % of the line on average."""
    chance = random.Random(seed)

    def judge(index: int, trial: Trial, facts: Facts) -> Facts:
        lossy = trial.frames_per_second > 0.6 * LINE * chance.gauss(1, spread)
        offered = facts.sent.offered_frames
        counts = {"received_frames": offered - lossy, "forwarded_frames": offered - lossy, "lost_frames": int(lossy)}
        return facts_of(facts.sent, facts.tracked.model_copy(update=counts))

    return judge


def test_a_sharp_limit_is_found() -> None:
    result, records = estimated(HARD)
    figures = result.rows[0].figures
    low, high = figures["critical_load"].bounds or (0, 0)
    # The buffer of ten frames hides an overload of 50 frames/s for 0.2 s.
    assert high >= 0.63 * LINE
    assert low <= 0.63 * LINE + 60
    assert high - low < 0.02 * LINE * 0.63
    assert figures["spread"].bound == "at most"
    assert figures["spread"].value < 1.5
    assert len(records) == 30
    assert any(record.facts.stopped_for_loss for record in records)
    assert not records[0].facts.stopped_for_loss


def test_intervals_contain_the_truth_of_noisy_devices() -> None:
    """`benchmarks/accuracy/critical_load.py` shows it with 200 runs a device."""
    critical, spread = 0, 0
    for seed in range(20):
        figures = estimated(LINK, noisy(0.03, seed), resolution_percent=2)[0].rows[0].figures
        low, high = figures["critical_load"].bounds or (0, 0)
        assert (high - low) / 2 <= 0.02 * figures["critical_load"].value
        critical += low <= 0.6 * LINE <= high
        low, high = figures["spread"].bounds or (0, 0)
        spread += low <= 3 <= high
    assert critical >= 17
    assert spread >= 17


def test_the_shares_of_the_curve_fall_with_the_load() -> None:
    result, _ = estimated(LINK, noisy(0.03, 1))
    loads = [row.figures["load"].value for row in result.rows if row.group == "Clean trials"]
    assert len(loads) == 9
    assert loads == sorted(loads)
    assert loads[4] == pytest.approx(result.rows[0].figures["critical_load"].value)


def test_a_device_of_wire_rate_has_only_a_lower_bound() -> None:
    result, _ = estimated(LINK)
    figure = result.rows[0].figures["critical_load"]
    assert figure.bound == "at least" and figure.value == pytest.approx(0.9998 * LINE)
    assert len(result.rows) == 1


def test_a_device_that_always_loses_has_only_an_upper_bound() -> None:
    result, _ = estimated(LINK + "[loss]\nratio = 1.0")
    assert result.rows[0].figures["critical_load"].bound == "at most"


def test_a_tester_that_cannot_offer_the_load_gives_a_lower_bound_at_its_own_limit() -> None:
    def half_the_tester(index: int, trial: Trial, facts: Facts) -> Facts:
        able = int(0.5 * LINE * trial.duration_ns / 1e9)
        if facts.sent.offered_frames <= able:
            return facts
        sent = facts.sent.model_copy(update={"offered_frames": able})
        return facts_of(sent, facts.tracked.model_copy(update={"forwarded_frames": able, "received_frames": able}))

    result, _ = estimated(LINK, half_the_tester)
    figure = result.rows[0].figures["critical_load"]
    assert figure.bound == "at least"
    assert 0.45 * LINE < figure.value <= 0.5 * LINE
    assert result.rows[0].remark == "limited by the tester"


def test_a_trial_that_the_tester_spoils_is_left_out_whatever_was_lost() -> None:
    undisturbed, _ = estimated(HARD)

    def every_third(index: int, trial: Trial, facts: Facts) -> Facts:
        dropped = facts.receivers[0].model_copy(update={"tester_dropped_frames": 1})
        return facts.model_copy(update={"receivers": [dropped]}) if index % 3 == 1 else facts

    result, records = estimated(HARD, every_third)
    assert sum(not record.valid for record in records) == 15
    assert "64 byte: 15 invalid trials were left out" in " ".join(result.remarks)
    assert result.rows[0].figures["critical_load"].value == pytest.approx(
        undisturbed.rows[0].figures["critical_load"].value, rel=0.01
    )


def test_a_tester_that_is_always_disturbed_gives_no_figure() -> None:
    result, records = estimated(HARD, lambda index, trial, facts: facts_of(facts.sent, facts.tracked, dropped=1))
    assert not result.rows[0].figures
    assert result.rows[0].remark.startswith("given up: every trial was invalid, the last because the tester itself")
    assert len(records) == 20


def test_the_end_of_the_time_is_said() -> None:
    result, _ = estimated(LINK, noisy(0.2, 1), limit_s=2)
    assert any("of load with an interval of ±" in text and "instead of 1 %" in text for text in result.remarks)


def test_it_goes_on_from_its_records() -> None:
    wanted = plan("critical_load", frame_bytes=[64], critical_load={"trial_s": 0.2}, phases=PHASES)
    result, records = carry_out(wanted, device(HARD))
    method = begin("critical_load", wanted, SimulatedEngine(device(HARD)).capabilities, Bias(exact=True), {})
    trial = next(method)
    for record in records[:-1]:
        assert trial == record.trial
        trial = method.send(record)
    with pytest.raises(StopIteration) as stop:
        method.send(records[-1])
    assert stop.value.value == result


def test_a_curve_is_the_same_in_whatever_order_its_trials_come() -> None:
    """The grid follows the trials, so it is another one; the posterior must not be."""
    chance, normal = random.Random(1), NormalDist()
    loads = [chance.uniform(0.5, 0.7) for _ in range(80)]
    trials = [(load, chance.random() < normal.cdf((0.6 - load) / 0.03)) for load in loads]
    found = []
    for order in (trials, sorted(trials), trials[::-1]):
        curve = CleanCurve(1e-3, 1.0, 1e-4)
        for load, clean in order:
            curve.add(load, clean)
        found.append([curve.critical_fps().lower, curve.critical_fps().upper, curve.spread().median])
    np.testing.assert_allclose(found[1], found[0], rtol=2e-3)
    np.testing.assert_allclose(found[2], found[0], rtol=2e-3)
