"""`keisoku qos` on simulated devices whose classes, weights, policers and shapers are known."""

from __future__ import annotations

import random
from typing import Any

import pytest
from support.simulated_trials import carry_out, device, plan

from keisoku.errors import PlanError
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.subjects.device.procedure.rfc4689.qos import CLASSES, LIMITS, SHARING

LINK = "link_bits_per_second = 100_000_000\nports = 3\n[output]\nbuffer_bytes = 1_000_000\n"
NOT_TOLD = "not known against 46: one of the two did not always have frames waiting"
QUICK = {"trial_s": 0.5, "window_s": 0.25, "pause_s": 0.15}


def queue(code: int, rest: str = "") -> str:
    return f"[[queue]]\ncodes = [{code}]\nbuffer_bytes = 60_000\n{rest}\n"


def measured(toml: str, classes: list[int], ports: int = 3, size: int = 512, **settings: Any) -> Result:
    numbers = [str(port + 1) for port in range(ports)]
    own = plan("qos", ports=numbers, frame_bytes=(size,), qos={"classes": classes, **QUICK, **settings})
    return carry_out(own, device(LINK + toml))[0]


def rows(result: Result, group: str) -> dict[str, Row]:
    return {row.case: row for row in result.rows if row.group == group}


def inside(figure: Quantity, truth: float) -> bool:
    assert figure.interval is not None
    return figure.interval.lower <= truth <= figure.interval.upper


def test_strict_priority_is_told_from_weights_and_the_weights_are_found() -> None:
    toml = (
        queue(46, "priority = 2")
        + queue(34, "priority = 1\nweight = 4.0")
        + queue(18, "priority = 1\nweight = 2.0")
        + queue(0, "priority = 1\nweight = 1.0")
    )
    result = measured(toml, [46, 34, 18, 0])
    order = rows(result, SHARING)
    assert [order[f"DSCP {code}"].figures["level"].value for code in (46, 34, 18, 0)] == [1, 2, 2, 2]
    assert "strict priority" in order["DSCP 46"].remark
    for code, weight in ((34, 4.0), (18, 2.0)):
        figure = order[f"DSCP {code}"].figures["weight"]
        assert inside(figure, weight)
        assert figure.value == pytest.approx(weight, rel=0.02)
    assert order["DSCP 0"].figures["weight"].value == 1
    together = rows(result, CLASSES)
    shares = [together[f"DSCP {code}"].figures["share"].value for code in (46, 34, 18, 0)]
    assert sum(shares) == pytest.approx(100)
    # Both ports send a quarter of each class: 50 % of the output, and the rest by weight.
    assert shares == pytest.approx([50, 200 / 7, 100 / 7, 50 / 7], abs=1)
    assert together["DSCP 46"].figures["loss"].value == 0
    assert together["DSCP 0"].figures["loss"].value > 50


def test_weights_are_told_beside_a_class_that_its_policer_keeps_from_competing() -> None:
    policed = "priority = 2\npolicer = { bits_per_second = 7_000_000, burst_bytes = 20_000 }"
    toml = queue(46, policed) + queue(18, "weight = 3.0") + queue(0, "weight = 1.0")
    order = rows(measured(toml, [46, 18, 0]), SHARING)
    assert not order["DSCP 46"].figures and "not known against" in order["DSCP 46"].remark
    assert inside(order["DSCP 18"].figures["weight"], 3.0) and order["DSCP 0"].figures["weight"].value == 1
    assert all(order[name].remark == f"shared by weight; {NOT_TOLD}" for name in ("DSCP 18", "DSCP 0"))


def test_the_least_latency_of_a_class_is_not_less_certain_than_it_is_large() -> None:
    """It is that of the first frame, which meets an empty queue: 5.6 µs ± 161 ms in a class
    whose most was 9.8 ms. The resolution of the stamps comes on top."""
    for row in rows(measured(queue(8) + queue(0), [8, 0], size=700), CLASSES).values():
        least = row.figures["min"]
        assert least.uncertainty is not None and 0 < least.uncertainty <= 1.01 * least.value


def test_the_latency_of_a_class_is_that_of_all_its_frames_and_not_of_its_ports_as_repetitions() -> None:
    row = rows(measured(queue(8) + queue(0), [8, 0], size=700), CLASSES)["DSCP 0"]
    low, mean, p99, high = (row.figures[name] for name in ("min", "mean", "p99", "max"))
    assert low.value <= mean.value <= p99.value <= high.value
    for figure in (mean, p99, high):
        assert figure.uncertainty is not None and figure.uncertainty < high.value / 4, row


def test_the_mean_jitter_of_a_class_is_as_uncertain_as_its_parts_vary() -> None:
    """By the largest difference alone it was ± 150 % of the figure in the median."""
    toml = queue(8) + queue(0) + "[jitter]\ndistribution = 'uniform'\nspread_ns = 20_000.0\n"
    own = plan("qos", ports=["1", "2", "3"], frame_bytes=(700,), qos={"classes": [8, 0], **QUICK})
    runs = [carry_out(own.model_copy(update={"seed": seed}), device(LINK + toml))[0] for seed in range(8)]
    figures = [row.figures["jitter"] for one in runs for row in rows(one, CLASSES).values()]
    mean = sum(figure.value for figure in figures) / len(figures)
    ends = [figure.bounds or (0.0, 0.0) for figure in figures]
    assert sum(low <= mean <= high for low, high in ends) >= 13
    assert all(figure.uncertainty and figure.uncertainty < 0.2 * figure.value for figure in figures)


@pytest.mark.parametrize("kind", ["drr", "wfq"])
def test_weights_of_20_random_schedulers_are_inside_their_intervals(kind: str) -> None:
    chance = random.Random(40)
    hits = 0
    for _ in range(10):
        weights = [1.0, *(round(chance.uniform(1.2, 9), 2) for _ in range(2))]
        toml = f'[scheduler]\nkind = "{kind}"\n'
        toml += "".join(queue(code, f"weight = {weight}") for code, weight in enumerate(weights))
        order = rows(measured(toml, [0, 1, 2]), SHARING)
        smallest = [code for code in range(3) if order[f"DSCP {code}"].figures["weight"].value == 1]
        assert smallest == [0]
        hits += all(inside(order[f"DSCP {code}"].figures["weight"], weights[code]) for code in (1, 2))
    assert hits >= 9


def test_20_hidden_policers_are_recovered_to_1_percent() -> None:
    chance = random.Random(50)
    hits = 0
    for _ in range(5):
        truths = [(chance.uniform(2e6, 8e7), chance.randrange(3_000, 120_000)) for _ in range(4)]
        toml = "".join(
            queue(code, f"policer = {{ bits_per_second = {rate:.0f}, burst_bytes = {burst} }}")
            for code, (rate, burst) in enumerate(truths)
        )
        limits = rows(measured(toml, [0, 1, 2, 3], window_s=1.0), LIMITS)
        for code, (rate, burst) in enumerate(truths):
            row = limits[f"DSCP {code}"]
            assert "policer" in row.remark
            assert row.figures["rate"].value == pytest.approx(rate, rel=0.01)
            assert row.figures["burst"].value == pytest.approx(burst, rel=0.01)
            hits += inside(row.figures["rate"], round(rate)) and inside(row.figures["burst"], burst)
    assert hits >= 19


def test_a_shaper_is_told_from_a_policer_and_its_rate_burst_and_buffer_are_found() -> None:
    toml = (
        queue(0, "shaper = { bits_per_second = 20_000_000, burst_bytes = 30_000 }")
        + queue(8, "policer = { bits_per_second = 20_000_000, burst_bytes = 30_000 }")
        + queue(16)
    )
    limits = rows(measured(toml, [0, 8, 16]), LIMITS)
    shaped, policed, free = (limits[f"DSCP {code}"] for code in (0, 8, 16))
    assert "frames wait" in shaped.remark
    assert "loses frames and delays none" in policed.remark
    assert "neither" in free.remark and free.figures["rate"].bound == "at least"
    for row in (shaped, policed):
        assert inside(row.figures["rate"], 2e7)
        assert row.figures["burst"].value == pytest.approx(30_000, abs=512)
    assert shaped.figures["buffer"].value == pytest.approx(60_000, abs=2 * 512)
    assert free.figures["buffer"].value == pytest.approx(60_000, abs=2 * 512)
    assert "buffer" not in policed.figures


def test_classes_by_pcp_have_a_tag() -> None:
    toml = '[scheduler]\ncode = "pcp"\n' + queue(5, "priority = 1") + queue(1)
    order = rows(measured(toml, [5, 1], field="pcp"), SHARING)
    assert [order[f"PCP {code}"].figures["level"].value for code in (5, 1)] == [1, 2]


def test_classes_behind_a_slower_output_compete_with_one_sender() -> None:
    toml = "service_bits_per_second = 20_000_000\n" + queue(0, "weight = 1.0") + queue(8, "weight = 3.0")
    result = measured(toml, [0, 8], ports=2)
    assert inside(rows(result, SHARING)["DSCP 8"].figures["weight"], 3.0)
    assert any("one port sends" in remark for remark in result.remarks)


def test_nothing_is_said_of_an_order_that_no_congestion_showed() -> None:
    result = measured(queue(0) + queue(8), [0, 8], ports=2)
    assert not rows(result, SHARING)["DSCP 0"].figures
    assert any("nothing was congested" in remark for remark in result.remarks)


def test_marks_of_each_class_are_counted() -> None:
    marks = "marking = { least_bytes = 10_000, most_bytes = 10_000 }"
    together = rows(measured(queue(0, marks) + queue(8), [0, 8]), CLASSES)
    assert together["DSCP 0"].figures["marked"].value > 90
    assert together["DSCP 8"].figures["marked"].value == 0


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"classes": [0]}, "qos.classes"),
        ({"classes": [1, 1]}, "qos.classes"),
        ({"classes": [0, 9], "field": "pcp"}, "qos"),
    ],
)
def test_what_cannot_be_sent_is_refused(settings: dict[str, Any], field: str) -> None:
    with pytest.raises(PlanError, match=field):
        plan("qos", ports=["1", "2"], qos=settings)


def test_frames_with_headers_of_their_own_are_refused() -> None:
    own = plan("qos", ports=["1", "2", "3"], headers="ethernet", frame_bytes=(512,), qos={"classes": [0, 8]})
    with pytest.raises(PlanError, match="headers"):
        carry_out(own, device(LINK))
