"""Explanations: each needs a figure that would refute it, and has a verdict of three."""

from __future__ import annotations

import random

import pytest

from keisoku.errors import PlanError
from keisoku.ground.run.result import FittedLine, Result, Row
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
        ('printed("", "c") + 0 * ours; at_least = 10; at_most = 10', "differs"),
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


def test_an_interval_that_contains_what_matters_agrees_with_nothing() -> None:
    """A slope of 9.6 ± 7.0 "agreed" with 4.43."""
    cell, _ = explained(gain=12.0, error=0.3)  # matters: 20 % of 10
    assert cell.agreement == "too wide"  # by the published error of 1
    text = FILE.replace("errors = [1]", "errors = [0.3]", 1)
    figures = {"gain": Quantity(value=10.5, unit="%", uncertainty=0.6)}
    results = {"a": Result(measurement="m", rows=[Row(case="c", figures=figures)])}
    assert cells(parse_study(text, "x"), results)[0].agreement == "agrees"
    narrower = text.replace('figure = "gain"', 'figure = "gain", matters = 0.5')
    assert cells(parse_study(narrower, "x"), results)[0].agreement == "too wide"
    # What differs beyond its interval differs, however wide it is.
    assert explained(gain=30.0, error=8.0)[0].agreement == "unexplained"
    (finding,) = study_findings(Outcome(parse_study(FILE, "x"), [cell], [], []))
    assert finding.notes[0].endswith("1 have an interval too wide to say.")


@pytest.mark.parametrize(("error", "agreement"), [(0.4, "agrees"), (0.6, "too wide")])
def test_a_figure_that_a_tolerance_could_not_fail_is_too_wide(error: float, agreement: str) -> None:
    """A median of 100 ± 60 % was within a tolerance of 1 % of the truth by chance alone."""
    truth = FILE.replace('title = "t"', 'title = "t"\ntruth = true', 1)
    figures = {"gain": Quantity(value=10.0, unit="%", uncertainty=2 * error)}
    results = {"a": Result(measurement="m", rows=[Row(case="c", figures=figures)])}
    assert cells(parse_study(truth, "x"), results)[0].agreement == agreement


def test_cells_that_follow_from_others_are_not_counted_again() -> None:
    """12 cells of E1 were 6; and two published rates agreed with one of ours."""
    columns = ', { name = "d", unit = "%", figure = "gain" }, { name = "e", unit = "%", figure = "gain" }]\nrow'
    text = FILE.replace(" }]\nrow", f" }}{columns}", 1).replace("[10]", "[10, 10, 30]").replace("[20]", "[20, 20, 20]")
    text = text.replace("errors = [1]", "errors = [0.1, 0.1, 0.1]")
    text += '[[table.follows]]\ncolumns = ["d"]\nof = "d is c"\n'
    study = parse_study(text, "x")
    figures = {"gain": Quantity(value=10.0, unit="%", uncertainty=0.2)}
    found = cells(study, {"a": Result(measurement="m", rows=[Row(case="c", figures=figures)])})
    assert [cell.agreement for cell in found[:3]] == ["agrees", "agrees", "unexplained"]
    (finding,) = study_findings(Outcome(study, found, [], []))
    # c and e are one figure of ours, which counts once, and by the worst.
    assert finding.notes[0].startswith("0 of 1 independent predictions agree")
    assert "Follows from others, and is not counted: d is c" in finding.notes
    assert [row[6] for row in finding.tables[0].rows[:3]] == ["prediction", "follows", "prediction"]
    assert [cell["basis"] for cell in study_json([Outcome(study, found, [], [])])["cells"]][1] == "follows"
    with pytest.raises(PlanError, match="no 'f'"):
        parse_study(text.replace('columns = ["d"]', 'columns = ["f"]'), "x")


def test_the_asymptotic_error_of_a_line_is_beside_the_published_one() -> None:
    """Its uncertainty allows for more: 1.3 times as much was beside E1's, to which the scatter had been fitted."""
    units = {"line.slope.error": "ns", "line.constant.error": "ns", "line.slope.error_percent": "%"}
    columns = [f'{{ name = "{name}", unit = "{unit}", figure = "{name}" }}' for name, unit in units.items()]
    text = FILE[: FILE.index("column")] + f"column = [{', '.join(columns)}]\n"
    text += 'row = [{ name = "r", step = "a", values = [3, 40, 37.5] }]\n'
    line = FittedLine(
        slope=Quantity(value=8.0, unit="ns", uncertainty=8.0),
        constant=Quantity(value=800.0, unit="ns", uncertainty=120.0),
        slope_error=3.0,
        constant_error=40.0,
        points=[],
    )
    found = cells(parse_study(text, "x"), {"a": Result(measurement="m", rows=[], line=line)})
    assert [cell.ours for cell in found] == [3.0, 40.0, 37.5]


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


@pytest.mark.parametrize("name", list(shipped()))
def test_a_run_could_refute_every_explanation_that_may_hold(name: str) -> None:
    """That of all standard errors of E1 compared what the model was made from with itself, so it held in every run."""
    (study,) = find_studies(name)
    for table in study.table:
        known = {(row.name, column.name): value for one, row, column, value in study.cells() if one.name == table.name}
        given = {(row.name, column.name) for row in table.row for column in table.column if table.input_of(row, column)}
        for row, column in ((row, column) for row in table.row for column in table.column):
            for one in table.explanations(row, column):
                if (row.name, column.name) in known and not one.untested:
                    at = row.name, column.name
                    assert any(by_a_run(check, at, known, given) for check in one.check), (at, one.text)


def by_a_run(
    check: Check, at: tuple[str, str], known: dict[tuple[str, str], float], given: set[tuple[str, str]]
) -> bool:
    """Whether figures of runs alone refute it, of which those that the model was made from are as published."""

    def place(arguments: tuple[object, ...]) -> tuple[str, str]:
        row, column = arguments or at
        return str(row or at[0]), str(column)

    for seed in range(3000):
        source, values = random.Random(seed), dict[tuple[str, object], Value]()

        def lookup(
            name: str,
            arguments: tuple[object, ...],
            source: random.Random = source,
            values: dict[tuple[str, object], Value] = values,
        ) -> Value:
            if name in ("published", "printed"):
                return Value(known[place(arguments)])
            if name in ("ours", "difference") and place(arguments) in given - {at}:
                return Value(known[place(arguments)])
            if name == "difference":
                return Value(lookup("ours", ()).value - known[at])
            if name == "error":
                return Value(abs(known[at]) * 0.01)
            near = abs(known[place(arguments)]) or 1.0 if name == "ours" else 1.0
            return values.setdefault((name, arguments), Value(near * 10 ** source.uniform(-3, 3)))

        if check.carried_out(lookup).verdict == "refuted":
            return True
    return False


def test_an_explanation_that_compares_published_figures_alone_never_holds() -> None:
    figure = 'printed("", "c"); at_least = 10'
    with pytest.raises(PlanError, match="no run refutes"):
        explained(figure)
    text = FILE + WHY.replace("FIGURE", 'printed("", "c")') + "at_least = 10\n"
    study = parse_study(text.replace('text = "TEXT"', 'text = "why"\nuntested = "nobody knows"'), "x")
    figures = {"gain": Quantity(value=20.0, unit="%", uncertainty=2.0)}
    found = cells(study, {"a": Result(measurement="m", rows=[Row(case="c", figures=figures)])})
    assert found[0].agreement == "undecided"
    (finding,) = study_findings(Outcome(study, found, [], []))
    assert finding.notes[-1] == "[1] why No run tries it: nobody knows"


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
