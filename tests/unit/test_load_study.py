"""The step of a study with TCP in bulk: how its cases are called and set beside the lines; and its file."""

from __future__ import annotations

import pytest

from keisoku.analysis.quantity import Quantity
from keisoku.errors import PlanError
from keisoku.run.result import Result, Row
from keisoku.study.cell import cells
from keisoku.study.file import LoadStep, find_studies, parse_study
from keisoku.study.load_step import with_lines


def result(group: str, case: str, mbps: float, of_alone: float | None = None) -> Row:
    figures = {"received": Quantity(value=1e6 * mbps, unit="bit/s", uncertainty=2e6)}
    if of_alone is not None:
        figures["of_alone"] = Quantity(value=of_alone, unit="%", uncertainty=1.0)
    return Row(group=group, case=case, figures=figures)


def measured(slow_mbps: float, at_once: float) -> Result:
    slow = "client1+client2+client3+client4"
    rows = [
        result("Alone", "client1, 1 stream", slow_mbps),
        result("Alone", "client5, 1 stream", 3000),
        result(slow, "client1, 1 stream", slow_mbps * at_once, 100 * at_once),
        result("Together", "client1, 1 stream", slow_mbps * at_once, 100 * at_once),
        result("Together", "client5, 1 stream", 2400, 80),
    ]
    step = LoadStep(name="x", slow_bps=round(slow_mbps * 1e6 * 1514 / 1448))
    return with_lines(Result(measurement="app load", rows=rows), step)


def test_e4s_cells_are_found_in_what_was_measured() -> None:
    (study,) = find_studies("e4-bulk")
    found = cells(study, {"gigabit": measured(941, 0.7), "hundredth": measured(9.56, 1.0)})
    by_row = {(cell.table, cell.row): cell for cell in found}
    assert not [cell for cell in found if cell.agreement in ("not found", "unexplained")]
    assert by_row["At once", "slow, four at once"].ours == pytest.approx(70)
    assert by_row["At once", "slow, four at once"].agreement == "differs"
    assert by_row["At once", "fast, with the slow ones"].agreement == "agrees"
    assert by_row["Truth of the lab", "slow, four at once"].ours == pytest.approx(100)


def test_a_line_that_is_not_filled_fails_the_study() -> None:
    (study,) = find_studies("e4-bulk")
    found = cells(study, {"gigabit": measured(941, 1.0), "hundredth": measured(9.56, 0.9)})
    failed = {(cell.table, cell.row) for cell in found if cell.agreement == "unexplained"}
    assert failed == {("Truth of the lab", "slow, four at once"), ("Truth of the lab", "slow, with the fast one")}


def test_a_study_without_steps_names_all_kinds() -> None:
    table = 'name="a"\ntitle="a"\ncolumn=[{name="a",unit="%",figure="a"}]\nrow=[{name="r",step="x",values=[1]}]'
    with pytest.raises(PlanError, match=r"\[\[load\]\]"):
        parse_study(f'title = "t"\nsource = "s"\n[[table]]\n{table}', "x")
