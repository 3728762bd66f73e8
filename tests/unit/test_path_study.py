"""Studies with steps on a path: every published cell finds its figure in what a comparison of sources gives."""

from __future__ import annotations

import pytest

from keisoku.errors import PlanError
from keisoku.path.source_comparison import ONE_PACKET, PAIRS
from keisoku.record.observation import Observation, ObservedRow
from keisoku.record.result import Quantity
from keisoku.study.cell import cells
from keisoku.study.file import find_studies, parse_study
from keisoku.study.path_step import as_result


def test_every_cell_of_e2_finds_ours_and_what_differs_is_explained() -> None:
    (study,) = find_studies("e2")
    figures = {
        "mean": Quantity(value=1.0, unit="Mb/s"),
        "variance": Quantity(value=2.0, unit="(Mb/s)²"),
        "coefficient_of_variation": Quantity(value=3.0, unit=""),
    }
    rows = tuple(
        ObservedRow(name=source, group=group, figures=figures)
        for group in (PAIRS, ONE_PACKET)
        for source in ("user-gettimeofday", "user-tsc", "kernel")
    )
    observation = Observation(kind="path-clocks", title="x", rows=rows)
    found = cells(study, {step.name: as_result(observation, 1500) for step in study.path})
    assert len(found) == 32 and {cell.agreement for cell in found} == {"differs"}
    assert {(step.rate_bps, step.repetitions) for step in study.path} == {(10**7, 10), (10**8, 10), (10**9, 10)}


def test_a_study_needs_a_step_of_either_kind() -> None:
    row = 'row = [{ name = "r", step = "s", values = [1.0] }]'
    table = '[[table]]\nname = "t"\ntitle = "t"\ncolumn = [{ name = "c", unit = "", figure = "mean" }]\n'
    with pytest.raises(PlanError, match=r"add a \[\[step\]\] or a \[\[path\]\]"):
        parse_study(f'title = "x"\nsource = "x"\n{table}{row}\n', "x")
