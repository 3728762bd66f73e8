"""Runs for CI: what is a failure, JUnit as its readers take it, Markdown and commands that no text can break."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from keisoku.ground.report.check import Check, checks
from keisoku.ground.report.github import MOST_ANNOTATIONS, markdown, workflow_commands
from keisoku.ground.report.junit import junit
from keisoku.ground.report.openmetrics import Measured, openmetrics
from keisoku.ground.run.comparison import figures_by_key, judge
from keisoku.ground.run.criterion import Verdict
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.difference import Margin
from keisoku.ground.statistics.quantity import Interval, Quantity

FAST = Quantity(value=1e6, unit="frames/s", uncertainty=1e3)
SLOW = Quantity(value=5e5, unit="frames/s", uncertainty=1e3)


def result(*rows: Row, sentence: str = "", **more: str) -> Result:
    return Result(measurement="throughput", rows=list(rows), sentence=sentence, **more)


def row(figure: Quantity | None = FAST, frame_bytes: int = 64, **more: str) -> Row:
    return Row(frame_bytes=frame_bytes, figures={} if figure is None else {"throughput": figure}, **more)


def outcomes(listed: list[Check]) -> list[tuple[str, str, str]]:
    return [(check.group, check.name, check.outcome) for check in listed]


def test_what_was_not_measured_is_skipped_with_its_cause() -> None:
    found = checks([result(row(), row(None, 128, remark="the host was busy"), row(SLOW, 256, invalid="it lagged"))], [])
    assert outcomes(found) == [
        ("throughput", "64 byte", "passed"),
        ("throughput", "128 byte", "skipped"),
        ("throughput", "256 byte", "skipped"),
    ]
    assert [check.text for check in found[1:]] == ["not measured: the host was busy", "not measured: it lagged"]


def test_a_measurement_that_gave_nothing_failed() -> None:
    found = checks([result(row(None, remark="no carrier"))], [])
    assert outcomes(found) == [("throughput", "throughput", "failed")] and "no carrier" in found[0].text
    assert outcomes(checks([result(row(), failure="undecided")], [])) == [("throughput", "throughput", "failed")]


def test_a_criterion_that_is_missed_or_undecided_failed() -> None:
    verdicts = [
        Verdict("a >= 1", True, FAST),
        Verdict("b >= 1", False, SLOW),
        Verdict("c >= 1", False, None, "a bound"),
    ]
    found = checks([], verdicts)
    assert [check.outcome for check in found] == ["passed", "failed", "failed"]
    assert "undecided" in found[2].text and "a bound" in found[2].text


def test_a_regression_failed_and_what_cannot_be_judged_is_skipped() -> None:
    unknown = Quantity(value=9e5, unit="frames/s")
    new, old = result(row(SLOW), row(FAST, 128), row(unknown, 256)), result(row(), row(FAST, 128), row(unknown, 256))
    judged, _ = judge("throughput", figures_by_key(new), figures_by_key(old), {}, Margin())
    found = [check for check in checks([new], [], judged) if check.group == "regressions"]
    assert outcomes(found) == [
        ("regressions", "throughput[64].throughput", "failed"),
        ("regressions", "throughput[128].throughput", "passed"),
        ("regressions", "throughput[256].throughput", "skipped"),
    ]
    assert "500.0 ± 1.0 kframes/s, earlier 1.0000 ± 0.0010 Mframes/s" in found[0].text


@given(st.text(), st.text(min_size=1), st.sampled_from(["passed", "failed", "skipped"]))
def test_junit_of_any_text_is_read_again(name: str, text: str, outcome: str) -> None:
    listed = [Check("g", name, outcome, text), Check("h", "other", "passed", "1")]  # type: ignore[arg-type]
    root = ElementTree.fromstring(junit(text, listed, [text]).encode())
    assert root.tag == "testsuites" and root.get("tests") == "2"
    suites = root.findall("testsuite")
    assert [suite.get("tests") for suite in suites] == ["1", "1"]
    cases = root.findall("testsuite/testcase")
    assert [sum(case.find(tag) is not None for case in cases) for tag in ("failure", "skipped")] == [
        int(outcome == "failed"),
        int(outcome == "skipped"),
    ]
    assert root.get("failures") == str(int(outcome == "failed"))


@given(st.text(), st.text(min_size=1))
def test_no_text_ends_an_annotation_or_a_row_of_markdown(name: str, text: str) -> None:
    listed = [Check("g", name, "failed", text)]
    [line] = workflow_commands("run", [], listed).split("\n")[:-1]
    assert line.startswith("::error title=") and "\r" not in line
    shown = markdown(text, [], listed)
    assert sum(line.startswith("- ❌ ") for line in shown.split("\n")) == 1


def test_github_gets_no_more_annotations_than_it_shows() -> None:
    listed = [Check("g", str(number), "failed", "slow") for number in range(MOST_ANNOTATIONS + 5)]
    lines = workflow_commands("run", [result(row(), sentence="It is 5 % slower.")], listed).splitlines()
    assert len(lines) == MOST_ANNOTATIONS + 1
    assert lines[-2].endswith("(and 5 more)") and lines[-1] == "::notice title=run::It is 5 %25 slower."


def test_markdown_has_the_table_and_failures_first() -> None:
    verdicts = [Verdict("good", True, FAST), Verdict("bad", False, SLOW)]
    results = [result(row(), sentence="It forwards.")]
    lines = markdown("bridge", results, checks(results, verdicts)).splitlines()
    assert lines[0] == "## bridge"
    assert [line[:3] for line in lines if line.startswith("- ")] == ["- ❌", "- ✅"]
    assert "| Frame size (byte) | Throughput (Mframes/s) |" in lines and "| 64 | 1.0000 ± 0.0010 |" in lines


def test_metrics_have_base_units_and_intervals_and_say_bounds() -> None:
    figures = {
        "p99": Quantity(value=2000, unit="ns", interval=Interval(lower=1500, upper=2600)),
        "loss": Quantity(value=50, unit="%", uncertainty=10),
        "lost": Quantity(value=7, unit="frames", uncertainty=0.0),
        "throughput": Quantity(value=1e5, unit="frames/s", bound="at least"),
    }
    run = Measured('a "bridge"\\\n', [result(Row(frame_bytes=64, figures=figures), row(None, 128))], 1e9)
    families = {family.name: family for family in text_string_to_metric_families(openmetrics([run]))}
    found = {
        sample.name: (sample.value, sample.labels.get("state"))
        for family in families.values()
        for sample in family.samples
        if sample.labels.get("frame_bytes") != "128"
    }
    assert found == {
        "keisoku_run_start_time_seconds": (1e9, None),
        "keisoku_row_measured": (1, None),
        "keisoku_p99_seconds": (2e-6, "measured"),
        "keisoku_p99_lower_seconds": (1.5e-6, "measured"),
        "keisoku_p99_upper_seconds": (2.6e-6, "measured"),
        "keisoku_loss_ratio": (0.5, "measured"),
        "keisoku_loss_lower_ratio": (0.4, "measured"),
        "keisoku_loss_upper_ratio": (0.6, "measured"),
        "keisoku_lost_frames": (7, "measured"),
        "keisoku_lost_lower_frames": (7, "measured"),
        "keisoku_lost_upper_frames": (7, "measured"),
        "keisoku_throughput_frames_per_second": (1e5, "at least"),
    }
    rows = {sample.labels["frame_bytes"]: sample.value for sample in families["keisoku_row_measured"].samples}
    assert rows == {"64": 1, "128": 0}
    assert families["keisoku_p99_seconds"].samples[0].labels["device"] == 'a "bridge"\\\n'
