"""Explanations: each needs a figure that would refute it, and has a verdict of three."""

from __future__ import annotations

import random

import pytest

from keisoku.errors import PlanError
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.running.study.arithmetic import Value
from keisoku.running.study.cell import Cell, cells
from keisoku.running.study.explanation import Check, Explanation
from keisoku.running.study.file import Study, find_studies, parse_study, shipped
from keisoku.running.study.report import study_findings, study_json
from keisoku.running.study.run import Outcome

FILE = """
title = "x"
source = "y"
[[system]]
name = "a"
[[table]]
name = "t"
title = "t"
column = [{ name = "c", unit = "%", figure = "gain" }]
row = [{ name = "r", step = "a", values = [10], errors = [1] }, { name = "s", step = "a", values = [20], errors = [1] }]
[[table.input]]
rows = ["s"]
into = "copied"
"""
WHY = """
[[table.explanation]]
text = "TEXT"
[[table.explanation.check]]
says = "figure"
figure = '''FIGURE'''
"""


def explained(*checks: str, gain: float = 20.0, error: float = 1.0, more: str = "") -> list[Cell]:
    """Cells of a study with an explanation for each line 'FIGURE; at_least = …'."""
    text = FILE
    for number, check in enumerate(checks):
        figure, *limits = check.split(";")
        text += WHY.replace("TEXT", f"why {number}").replace("FIGURE", figure) + "\n".join(limits) + "\n"
    figures = {"gain": Quantity(value=gain, unit="%", uncertainty=2 * error)}
    return cells(parse_study(text + more, "x"), {"a": Result(measurement="m", rows=[Row(case="c", figures=figures)])})


@pytest.mark.parametrize(
    ("check", "agreement"),
    [
        ("ours; at_least = 15", "differs"),
        ("ours; at_most = 15", "refuted"),
        ("ours; at_most = 21", "undecided"),  # 20 ± 2
        ("ours; at_least = 17; at_most = 23", "differs"),
        ('figure("a", "*", "gain"); at_most = 15', "refuted"),
        ('value("a", "*", "gain"); at_most = 20.5', "differs"),  # without its error
        ('figure("a", "*", "not there"); at_most = 15', "undecided"),
        ('ours("s", "c") - published; at_least = 7', "differs"),
        ("difference / error; at_least = 5.0", "differs"),
        ('printed("", "c"); at_least = 10; at_most = 10', "differs"),
    ],
)
def test_the_verdict_is_that_of_the_interval(check: str, agreement: str) -> None:
    cell, other = explained(check)
    assert cell.agreement == agreement
    assert other.agreement == "agrees" and not other.explained


def test_the_first_explanation_that_is_not_refuted_counts() -> None:
    cell, _ = explained("ours; at_most = 15", "ours; at_most = 21", "ours; at_least = 15")
    assert cell.agreement == "differs" and cell.explanation is not None and cell.explanation.text == "why 2"
    cell, _ = explained("ours; at_most = 15", "ours; at_most = 21")
    assert cell.agreement == "undecided"
    assert [one.verdict for one in cell.explained] == ["refuted", "undecided"]


def test_one_refuted_check_refutes_an_explanation() -> None:
    more = '[[table.explanation.check]]\nsays = "other"\nfigure = "ours"\nat_most = 1\n'
    assert explained("ours; at_least = 15", more=more)[0].agreement == "refuted"


def test_an_explanation_without_a_figure_that_would_refute_it_is_refused() -> None:
    """Explanations excused 600 of 907 Mb/s, or anything at all."""
    with pytest.raises(PlanError, match="check"):
        parse_study(FILE + '[[table.explanation]]\ntext = "limited by the CPUs"\n', "x")
    with pytest.raises(PlanError, match="would refute it"):
        explained("ours")
    with pytest.raises(PlanError, match="above at_most"):
        explained("ours; at_least = 3; at_most = 2")
    with pytest.raises(PlanError, match="no cell 'z'"):
        explained('ours("z", "c"); at_most = 2')
    with pytest.raises(PlanError, match="no step 'z'"):
        explained('figure("z", "c", "gain"); at_most = 2')


def test_inputs_are_counted_apart_from_predictions() -> None:
    study = parse_study(FILE + WHY.replace("FIGURE", "ours") + "at_most = 15\n", "x")
    found = explained("ours; at_most = 15")
    (finding,) = study_findings(Outcome(study, found, [], []))
    assert finding.notes[:3] == [
        "0 of 1 independent predictions agree within two standard errors of the difference,"
        " 1 differ and their explanations are refuted.",
        "1 of 1 inputs of our models are found again, which confirms nothing about the device.",
        "Input: copied",
    ]
    table, checks = finding.tables
    assert [row[6:] for row in table.rows] == [["prediction", "DIFFERS, EXPLANATION REFUTED [1]"], ["input", "agrees"]]
    assert checks.rows[0][:4] == ["[1]", "r: c", "figure", "at most 15"] and checks.rows[0][-1] == "refuted"
    (first, second) = study_json([Outcome(study, found, [], [])])["cells"]
    assert (first["basis"], second["basis"]) == ("prediction", "input")
    assert first["checks"][0]["found"] == 20 and first["checks"][0]["verdict"] == "refuted"


@pytest.mark.parametrize("name", list(shipped()))
def test_every_explanation_that_comes_with_keisoku_can_be_refuted(name: str) -> None:
    """With figures of any magnitude, at least one check of each explanation leaves its range."""
    (study,) = find_studies(name)
    for table in study.table:
        for explanation in table.explanation:
            assert any(refutable(check) for check in explanation.check), explanation.text


def refutable(check: Check) -> bool:
    return any(verdict(check, random.Random(seed)) == "refuted" for seed in range(3000))


def verdict(check: Check, source: random.Random) -> str:
    """With figures of any magnitude, the same wherever one is asked for again."""
    values: dict[tuple[str, object], float] = {}
    return check.carried_out(
        lambda name, arguments: Value(values.setdefault((name, arguments), 10 ** source.uniform(-6, 9)))
    ).verdict


def test_the_explanations_of_e3_that_its_own_data_refute_are_gone() -> None:
    """'Now and then' was 72 % of all frames; one clock would have moved mean and maximum alike."""
    study: Study = find_studies("e3")[0]
    texts = " ".join(explanation.text for table in study.table for explanation in table.explanation)
    assert "now and then" not in texts
    (row,) = [row for row in study.table[0].row if row.name == "SF-4024FL, 64 byte"]
    waits = (row.values[5] - row.values[3]) / (row.values[4] - row.values[3])
    assert waits == pytest.approx(0.72, abs=0.01)
    clocks: list[Explanation] = [one for one in study.table[0].explanation if "clock difference" in one.text]
    assert len(clocks) == 6 and all(len(one.check) + (one.columns == ("mean",)) == 2 for one in clocks)
