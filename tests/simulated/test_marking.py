"""`keisoku marking` on simulated devices whose curves are known."""

from __future__ import annotations

import random
from typing import Any

import pytest
from support.simulated_trials import Spoil, carry_out, device, plan, untouched

from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.subjects.device.procedure.rfc3168.marking import CURVE, QUEUE
from keisoku.subjects.device.record.facts import Facts, StreamFacts
from keisoku.subjects.device.record.trial import Trial

DEVICE = "ports = 3\n[output]\nbuffer_bytes = 400_000\n[[queue]]\n"


def measured(
    marking: str, ports: int = 3, size: int = 1000, toml: str = DEVICE, spoil: Spoil = untouched, **settings: Any
) -> Result:
    numbers = [str(port + 1) for port in range(ports)]
    own = plan("marking", ports=numbers, frame_bytes=(size,), marking={"trial_s": 1.0, "saturation_s": 0.1, **settings})
    return carry_out(own, device(toml + marking), spoil)[0]


def the_curve(result: Result) -> Row:
    return next(row for row in result.rows if row.group == CURVE)


def inside(figure: Quantity, truth: float) -> bool:
    assert figure.interval is not None
    return figure.interval.lower <= truth <= figure.interval.upper


def recovered(row: Row, least: int, most: int, share: float) -> bool:
    kept = inside(row.figures["kmin"], least) and inside(row.figures["kmax"], most)
    return kept and (least == most or inside(row.figures["pmax"], 100 * share))


def hidden(chance: random.Random, step: bool) -> tuple[int, int, float]:
    """A curve somewhere in a queue of 400 kB."""
    if step:
        threshold = chance.randrange(20_000, 300_000)
        return threshold, threshold, 1.0
    least = chance.randrange(10_000, 150_000)
    return least, least + chance.randrange(50_000, 200_000), chance.uniform(0.05, 0.9)


def test_20_hidden_curves_are_recovered() -> None:
    chance = random.Random(60)
    hits = 0
    for number in range(20):
        least, most, share = hidden(chance, number % 4 == 0)
        own = f"marking = {{ least_bytes = {least}, most_bytes = {most}, most_ratio = {share} }}"
        row = the_curve(measured(own))
        hits += recovered(row, least, most, share)
        assert row.figures["kmax"].value == pytest.approx(most, rel=0.02)
    assert hits >= 19


def test_remarking_has_the_same_curve() -> None:
    own = 'marking = { least_bytes = 60_000, most_bytes = 180_000, most_ratio = 0.2, action = "remark" }'
    assert recovered(the_curve(measured(own, mark="class")), 60_000, 180_000, 0.2)


def test_of_wred_it_is_told_where_losses_begin() -> None:
    own = 'marking = { least_bytes = 60_000, most_bytes = 180_000, most_ratio = 0.8, action = "drop" }'
    row = the_curve(measured(own, mark="loss"))
    assert inside(row.figures["kmin"], 60_000)
    assert "kmax" not in row.figures and "Pmax are not known" in row.remark


def test_of_wred_whose_losses_do_not_hold_the_queue_the_whole_curve_is_told() -> None:
    own = 'marking = { least_bytes = 60_000, most_bytes = 180_000, most_ratio = 0.2, action = "drop" }'
    row = the_curve(measured(own, mark="loss"))
    assert recovered(row, 60_000, 180_000, 0.2)
    assert "every frame is lost" in row.remark


def test_a_step_says_so_and_its_points_go_from_none_to_all() -> None:
    result = measured("marking = { least_bytes = 100_000, most_bytes = 100_000 }")
    assert "every frame is marked with CE" in the_curve(result).remark
    shares = [row.figures["marked"].value for row in result.rows if row.group == QUEUE]
    assert shares[0] == 0 and shares[-1] == 100
    assert all(row.at is not None for row in result.rows if row.group == QUEUE)


def test_one_sender_in_front_of_a_slower_output_is_enough() -> None:
    toml = "ports = 2\n[output]\nbuffer_bytes = 400_000\nservice_bits_per_second = 200_000_000\n[[queue]]\n"
    own = "marking = { least_bytes = 50_000, most_bytes = 200_000, most_ratio = 0.3 }"
    assert recovered(the_curve(measured(own, ports=2, toml=toml)), 50_000, 200_000, 0.3)


@pytest.mark.parametrize("by", ["pie", "codel"])
def test_a_controller_is_not_taken_for_a_curve(by: str) -> None:
    own = f'marking = {{ by = "{by}", target_ns = 300_000, interval_ns = 3_000_000 }}'
    row = the_curve(measured(own))
    assert "kmin" not in row.figures
    assert "does not follow from the queue" in row.remark


def held_up(facts: Facts) -> Facts:
    """As if the device had stood still while its queue was filled, and had forwarded little in the second half."""

    def seldom(stream: StreamFacts) -> StreamFacts:
        series = [
            one.model_copy(update={"forwarded_frames": one.forwarded_frames // 16}) for one in stream.tracked.series
        ]
        return stream.model_copy(update={"tracked": stream.tracked.model_copy(update={"series": series})})

    return facts.model_copy(update={"streams": [seldom(stream) for stream in facts.streams]})


CODEL = 'marking = { by = "codel", target_ns = 300_000, interval_ns = 3_000_000 }'


def test_a_device_that_stood_still_while_its_queue_was_filled_is_measured_again() -> None:
    """One of six runs on a real line made four marks and said that no frame was marked: the queue did not rise later,
    because the rate of the output was that of a line whose program had no CPU."""
    row = the_curve(measured(CODEL, spoil=lambda index, trial, facts: held_up(facts) if index == 0 else facts))
    assert "does not follow from the queue" in row.remark


def test_a_device_that_stands_still_whenever_its_queue_is_filled_has_no_curve() -> None:
    def spoil(index: int, trial: Trial, facts: Facts) -> Facts:
        return held_up(facts) if trial.purpose.startswith("full queue") else facts

    row = the_curve(measured(CODEL, spoil=spoil))
    assert not row.figures and "less than half of the intended length" in row.remark


def test_a_device_that_marks_nothing_has_no_curve() -> None:
    row = the_curve(measured(""))
    assert "no frame was marked" in row.remark and set(row.figures) == {"longest"}


def test_an_output_that_is_not_overloaded_is_no_queue() -> None:
    row = the_curve(measured("", ports=2))
    assert not row.figures and "no frame waited" in row.remark


def test_frames_that_are_not_capable_of_ecn_are_lost_where_others_are_marked() -> None:
    own = "marking = { least_bytes = 60_000, most_bytes = 60_000 }"
    row = the_curve(measured(own, mark="loss"))
    assert inside(row.figures["kmin"], 60_000)
