import pytest

from keisoku.errors import PlanError
from keisoku.ground.report.verdict import verdict_text
from keisoku.ground.run.criterion import parse
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity

ROWS = [
    Row(frame_bytes=64, figures={"throughput": Quantity(value=6e5, unit="frames/s")}),
    Row(frame_bytes=128, figures={"throughput": Quantity(value=4e5, unit="frames/s")}),
]
FIGURES = {"throughput": "throughput"}
RESULTS = [Result(measurement="throughput", rows=ROWS)]


@pytest.mark.parametrize(
    ("text", "met", "measured"),
    [
        ("throughput[64] >= 0.5 Mpps", True, 6e5),
        ("throughput[64] > 0.6 Mpps", False, 6e5),
        ("throughput >= 0.5 Mpps", False, 4e5),
        ("throughput[64].throughput <= 600 kframes/s", True, 6e5),
        ("throughput[1518] >= 1", False, None),
    ],
)
def test_a_criterion_is_judged_by_its_worst_row(text: str, met: bool, measured: float | None) -> None:
    verdict = parse(text, FIGURES).judge(RESULTS)
    assert verdict.met is met
    assert (verdict.measured and verdict.measured.value) == measured


@pytest.mark.parametrize(
    "text",
    [
        "throughput",
        "throughput[64] => 1",
        "speed[64] >= 1",
        "throughput[64] >= fast",
        "throughput[64] >= 1 apple",
    ],
)
def test_what_is_no_criterion_is_refused(text: str) -> None:
    with pytest.raises(PlanError, match="require"):
        parse(text, FIGURES)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("throughput[64] >= 5 ms", "no such figure is in ms: write one of fps, pps, frames/s"),
        ("latency[64].p99 <= 50", "the criterion has no unit, and the figure has: write one of ns, us"),
    ],
)
def test_a_unit_of_another_kind_decides_nothing_and_withholds_no_result(text: str, said: str) -> None:
    """It was an error behind the last trial: neither a result nor a report could be made of the run, ever."""
    latency = Row(frame_bytes=64, figures={"p99": Quantity(value=900, unit="ns")})
    results = [*RESULTS, Result(measurement="latency", rows=[latency])]
    verdict = parse(text, FIGURES | {"latency": "mean"}).judge(results)
    assert verdict.word == "undecided" and verdict.undecided.startswith(said) and verdict.measured is not None


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ("throughput[best] >= 90 Mb/s", True),
        ("throughput[65536 byte] >= 90 Mb/s", True),
        ("throughput >= 90 Mb/s", False),
        ("stream tcp[best].throughput < 90 Mb/s", False),
        ("throughput[worst] >= 1 kb/s", False),
    ],
)
def test_a_row_is_named_by_its_case_or_its_group(text: str, met: bool) -> None:
    rows = [
        Row(group=group, case=case, figures={"throughput": Quantity(value=value, unit="bit/s")})
        for group, case, value in (
            ("Best", "65536 byte", 95e6),
            ("Message", "65536 byte", 95e6),
            ("Message", "64 byte", 5e6),
        )
    ]
    assert (
        parse(text, {"stream tcp": "throughput"}, alone=True).judge([Result(measurement="stream tcp", rows=rows)]).met
        is met
    )


@pytest.mark.parametrize(
    ("bound", "comparison", "said"),
    [
        ("at least", ">= 0.5 Mpps", "met"),
        ("at least", ">= 0.6 Mpps", "met"),
        ("at least", ">= 0.7 Mpps", "undecided"),
        ("at least", "> 0.6 Mpps", "undecided"),
        ("at least", "<= 0.7 Mpps", "undecided"),
        ("at least", "<= 0.6 Mpps", "undecided"),
        ("at least", "< 0.6 Mpps", "missed"),
        ("at least", "<= 0.5 Mpps", "missed"),
        ("at least", "== 0.6 Mpps", "undecided"),
        ("at least", "== 0.5 Mpps", "missed"),
        ("at most", "<= 0.7 Mpps", "met"),
        ("at most", "<= 0.5 Mpps", "undecided"),
        ("at most", ">= 0.5 Mpps", "undecided"),
        ("at most", ">= 0.7 Mpps", "missed"),
        ("at most", "== 0.7 Mpps", "missed"),
        ("at most", "== 0.5 Mpps", "undecided"),
    ],
)
def test_a_bound_meets_only_what_it_shows(bound: str, comparison: str, said: str) -> None:
    figure = Quantity.model_validate({"value": 6e5, "unit": "frames/s", "bound": bound})
    results = [Result(measurement="throughput", rows=[Row(frame_bytes=64, figures={"throughput": figure})])]
    verdict = parse(f"throughput[64] {comparison}", FIGURES).judge(results)
    assert (verdict.word, verdict.met) == (said, said == "met")
    assert bool(verdict.undecided) == (said == "undecided")
    assert f"{bound} 600 kframes/s" in verdict_text(verdict)
    assert ("does not decide the criterion" in verdict_text(verdict)) == (said == "undecided")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("throughput >= 0.3 Mpps", "undecided"),
        ("throughput[64] >= 0.3 Mpps", "met"),
        ("throughput >= 0.5 Mpps", "missed"),
        ("throughput[256] >= 0.3 Mpps", "undecided"),
    ],
)
def test_a_row_that_was_not_measured_leaves_a_criterion_on_every_row_open(text: str, said: str) -> None:
    rows = [*ROWS, Row(frame_bytes=256, figures={}, remark="given up: the tester could not offer the load")]
    verdict = parse(text, FIGURES).judge([Result(measurement="throughput", rows=rows)])
    assert verdict.word == said
    if said == "undecided":
        assert verdict_text(verdict) == (
            "nothing; 256 byte was not measured: given up: the tester could not offer the load"
        )


def test_only_where_one_measurement_is_alone_its_name_may_be_left_out() -> None:
    figures = {"path packet-pair": "capacity"}
    rows = [Row(case="Forward", figures={"capacity": Quantity(value=94e6, unit="bit/s")})]
    results = [Result(measurement="path packet-pair", rows=rows)]
    for text in ("capacity[forward] > 90 Mb/s", "path-packet-pair[forward] > 90 Mb/s", "path packet-pair > 90 Mb/s"):
        assert parse(text, figures, alone=True).judge(results).met, text
    with pytest.raises(PlanError, match="'capacity' is not measured in this run; use one of path packet-pair"):
        parse("capacity[forward] > 90 Mb/s", figures)


def took(*values_ns: float) -> list[list[Result]]:
    """Repetitions in which a figure had these values; it was not measured where the value is not a number."""
    rows = [
        Row(frame_bytes=64, figures={} if value != value else {"p99": Quantity(value=value, unit="ns")})
        for value in values_ns
    ]
    return [[Result(measurement="latency", rows=[row])] for row in rows]


@pytest.mark.parametrize(
    ("met", "missed", "open_", "said"),
    [
        (367, 0, 0, "undecided"),
        (368, 0, 0, "met"),
        (20, 0, 0, "undecided"),
        (20, 3, 0, "missed"),
        (398, 1, 1, "undecided"),
        (40, 1, 0, "undecided"),
        (0, 1, 0, "missed"),
        (0, 0, 9, "undecided"),
        (9, 9, 2, "missed"),
    ],
)
def test_a_share_of_repetitions_is_judged_by_what_they_show(met: int, missed: int, open_: int, said: str) -> None:
    criterion = parse("latency.p99 <= 50 us in 99 %", {"latency": "mean"})
    assert (criterion.limit, criterion.share) == ("50 us", 99.0)
    verdict = criterion.judge_each(took(*[1e3] * met, *[9e4] * missed, *[float("nan")] * open_))
    assert verdict.word == said
    assert verdict.measured is not None and verdict.measured.value == pytest.approx(100 * met / (met + missed + open_))
    assert ("; 368 that all meet it decide" in verdict.undecided) is (said == "undecided")


def test_a_share_stands_behind_any_limit() -> None:
    criterion = parse("loss[64] <= 1 % in 99.5 % ", {"loss": "loss"})
    assert (criterion.limit, criterion.share) == ("1 %", 99.5)


@pytest.mark.parametrize("share", ["0", "100", "101", "1.2.3"])
def test_a_share_that_no_repetitions_show_is_refused(share: str) -> None:
    with pytest.raises(PlanError, match="require: repetitions cannot show"):
        parse(f"latency <= 50 us in {share} %", {"latency": "mean"})
