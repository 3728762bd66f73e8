"""The step of a study with TCP in bulk: how its cases are called and set beside the lines; and its file."""

from __future__ import annotations

import pytest

from keisoku.errors import PlanError
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.running.study.cell import FAILED, cells
from keisoku.running.study.file import LoadStep, find_studies, parse_study
from keisoku.running.study.load_step import with_lines


def result(group: str, case: str, mbps: float, cpu: float, of_alone: float | None = None) -> Row:
    figures = {
        "received": Quantity(value=1e6 * mbps, unit="bit/s", uncertainty=2e3),
        "cpu": Quantity(value=cpu, unit="%"),
    }
    if of_alone is not None:
        figures["of_alone"] = Quantity(value=of_alone, unit="%", uncertainty=1.0)
    return Row(group=group, case=case, figures=figures)


def measured(slow_mbps: float, at_once: float, fast_mbps: float = 3000, cpu: float = 99.0) -> Result:
    slow = "client1+client2+client3+client4"
    rows = [
        result("Alone", "client1, 1 stream", slow_mbps, cpu),
        result("Alone", "client5, 1 stream", fast_mbps, cpu),
        result(slow, "client1, 1 stream", slow_mbps * at_once, cpu, 100 * at_once),
        result("Together", "client1, 1 stream", slow_mbps * at_once, cpu, 100 * at_once),
        result("Together", "client5, 1 stream", 0.8 * fast_mbps, cpu, 80),
    ]
    step = LoadStep(name="x", slow_bps=round(slow_mbps * 1e6 * 1514 / 1448))
    return with_lines(Result(measurement="system load", rows=rows), step)


def hundredth(at_once: float = 1.0) -> Result:
    return measured(9.56, at_once, fast_mbps=95.6, cpu=40.0)


def test_e4s_cells_are_found_in_what_was_measured() -> None:
    (study,) = find_studies("e4-bulk")
    found = cells(study, {"gigabit": measured(941, 0.7), "hundredth": hundredth()})
    by_row = {(cell.table, cell.row): cell for cell in found}
    assert not [cell for cell in found if cell.agreement in FAILED]
    assert by_row["At once", "slow, four at once"].ours == pytest.approx(70)
    assert by_row["At once", "slow, four at once"].agreement == "differs"
    assert by_row["At once", "fast, with the slow ones"].agreement == "agrees"
    assert by_row["Truth of the lab", "slow, four at once"].ours == pytest.approx(100)


def test_a_low_rate_on_idle_cpus_is_not_excused_by_the_cpus() -> None:
    """'Limited by the CPUs' explained any rate: 341 of 941 Mb/s, and 30 % of 10 Gb/s."""
    (study,) = find_studies("e4-bulk")
    found = cells(study, {"gigabit": measured(600, 0.7, cpu=55.0), "hundredth": hundredth()})
    failed = {(cell.table, cell.row): cell.agreement for cell in found if cell.agreement in FAILED}
    assert failed == {
        ("Pairs", "1 Gb/s"): "refuted",
        ("Pairs", "10 Gb/s, untagged"): "refuted",
        ("At once", "slow, four at once"): "refuted",
        ("At once", "slow, with the fast one"): "refuted",
    }


def test_full_cpus_did_not_excuse_streams_that_starve_each_other() -> None:
    """A tenth of its rate alone for each of four was explained by busy CPUs, whatever became of their time."""
    (study,) = find_studies("e4-bulk")
    found = cells(study, {"gigabit": measured(941, 0.1), "hundredth": hundredth()})
    assert ("At once", "slow, four at once") in {
        (cell.table, cell.row) for cell in found if cell.agreement == "refuted"
    }


def test_a_line_that_is_not_filled_fails_the_study() -> None:
    (study,) = find_studies("e4-bulk")
    found = cells(study, {"gigabit": measured(941, 1.0), "hundredth": hundredth(0.9)})
    failed = {(cell.table, cell.row) for cell in found if cell.agreement == "unexplained"}
    assert failed == {
        ("Truth of the lab", "slow, four at once"),
        ("Truth of the lab", "slow, with the fast one"),
        # A stream that lost a frame was excused here for 15 %.
        ("At once", "slow, four at once, at a hundredth"),
        ("At once", "slow, with the fast one, at a hundredth"),
    }


def test_a_study_without_steps_names_all_kinds() -> None:
    table = 'name="a"\ntitle="a"\ncolumn=[{name="a",unit="%",figure="a"}]\nrow=[{name="r",step="x",values=[1]}]'
    with pytest.raises(PlanError, match=r"\[\[load\]\]"):
        parse_study(f'title = "t"\nsource = "s"\n[[table]]\n{table}', "x")
