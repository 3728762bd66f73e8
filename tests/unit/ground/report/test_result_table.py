"""Tables of a result whose rows are no frame sizes, and what a terminal shows of it."""

from __future__ import annotations

import pytest
from rich.console import Console
from support.path_result import RESULT

from keisoku.ground.report import digits
from keisoku.ground.report.table import tables
from keisoku.ground.report.text import print_results
from keisoku.ground.statistics.quantity import Interval, Quantity


def test_tables_have_a_head_for_each_figure_and_a_unit_for_each_cell_that_needs_it() -> None:
    hops, times = tables(RESULT)
    assert [(head.title, head.unit) for head in hops.heads] == [
        ("Hop", ""),
        ("Forward rate", "Mb/s"),
        ("Latency", "µs"),
        ("Remark", ""),
    ]
    assert hops.rows == [["1", "99.5 (98.0 … 103.0)", "1.2†", ""], ["2", "50†", "", "mixed paths"]]
    assert times.rows == [["1 s", "5.40 ± 0.10 ppb"], ["1000 s", "5.40 ± 0.10 ×10⁻¹⁵"]]


@pytest.mark.parametrize(
    ("value", "lower", "upper", "shown"),
    [
        (5.4, 5.1, 5.9, "5.4 (5.1 … 5.9)"),
        (5.4, 5.4, 5.9, "5.4 (5.4 … 5.9)"),
        (5.4, 5.4, 5.4, "5.4†"),
        (5.4, 5.5, 5.9, "5.4†"),
        (5.4, 4.0, float("inf"), "5.4†"),
        (-2.0, -7.0, 1.0, "−2 (−7 … 1)"),
    ],
)
def test_an_interval_is_rounded_to_its_narrower_side(value: float, lower: float, upper: float, shown: str) -> None:
    figure = Quantity(value=value, unit="ppb", interval=Interval(lower=lower, upper=upper))
    assert digits.digits(figure).compact == shown


def test_the_terminal_shows_flags_and_remarks(capsys: pytest.CaptureFixture[str]) -> None:
    print_results([RESULT], Console(width=60))
    shown = capsys.readouterr().out
    assert "Path to <192.0.2.1>" in shown
    assert "99.5 (98.0 … 103.0)" in shown
    assert "† uncertainty not known" in shown
    assert "flag token-bucket: An isolated packet passes at once (Burst 15\u202f000 byte (exact))" in shown
    assert "remark: rate limit met" in shown
