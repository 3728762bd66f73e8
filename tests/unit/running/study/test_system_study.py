"""Studies of a limited system: what a curve says is told rightly, and open tables show ours alone."""

import json
import math

import pytest

from keisoku.errors import PlanError
from keisoku.ground.observer import Observer
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.running.study.cell import cells
from keisoku.running.study.file import find_studies, parse_study
from keisoku.running.study.report import study_findings, study_json
from keisoku.running.study.run import Outcome
from keisoku.running.study.system_step import figures, measure_system, model
from keisoku.subjects.system.search.confirmation import gain
from keisoku.subjects.system.search.limit_curve import CurvePoint
from keisoku.subjects.system.search.search import LimitFound


def point(limit, fast, slow):
    return CurvePoint(limit, [0.0], [fast + slow], [fast], [0.0])


CURVE = [point(1e8, 1e5, 8e5), point(4e8, 5e5, 7e5), point(1e9, 8e5, 3e5), point(None, 8e5, 3e5)]
NONE = LimitFound(None, None, None, (), 0.01, "")


def test_curve_by_hand():
    found = figures(CURVE, NONE)
    assert {name: figure.value for name, figure in found.items()} == pytest.approx(
        {
            "total_without": 1.1e6,
            "total_at_best": 1.2e6,
            "gain": 100 / 11,
            "slow_at_best": 87.5,
            "fast_at_best": 62.5,
            "best_limit": 400,
        }
    )


def test_no_limit_is_best_where_nothing_gains():
    found = figures([point(1e8, 100.0, 800.0), point(1e9, 800.0, 300.0), point(None, 799.0, 300.0)], NONE)
    assert "best_limit" not in found and "advised" not in found


def test_what_chance_gains_is_no_gain():
    few = [point(1e8, 10.0, 90.0), point(1e9, 20.0, 85.0), point(None, 20.0, 80.0)]
    assert figures(few, NONE)["gain"].value == pytest.approx(5) and "best_limit" not in figures(few, NONE)


def test_what_a_search_advises_stands_beside():
    advised = LimitFound(4e8, 4e8, gain([0.09, 0.10, 0.11]), (), 0.01, "")
    found = figures(CURVE, advised)
    assert found["advised"].value == 400 and found["advised_gain"].value == pytest.approx(100 * math.expm1(0.1))


def test_systems_of_e4s_study_are_what_the_tables_say():
    (study,) = find_studies("e4-limit")
    steps = {step.name: step for step in study.system}
    assert len(model(steps["8-slow"]).clients) == 9
    assert {client.connections for client in model(steps["slow-300"]).clients} == {1000, 300}
    assert model(steps["dynamic"]).server.request_s == 0.001
    assert model(steps["151-byte"]).clients[0].file_bytes == 151
    assert model(steps["no-crowding"]).server.crowding(1e4) == pytest.approx(1)


def outcome(best):
    (study,) = find_studies("e4-limit")
    said = {
        "gain": Quantity(value=9.5, unit="%"),
        **({"best_limit": Quantity(value=best, unit="Mb/s")} if best else {}),
    }
    result = Result(measurement="system limit", rows=[Row(frame_bytes=1430, figures=said)])
    return Outcome(study, cells(study, {step.name: result for step in study.system}), [], [])


@pytest.mark.parametrize(("best", "verdict"), [(435, "agrees"), (500, "unexplained"), (None, "not found")])
def test_only_the_published_figure_can_agree_or_differ(best, verdict):
    found = outcome(best)
    assert [cell.agreement for cell in found.cells if cell.table == "Best limit"] == [verdict]
    assert {cell.agreement for cell in found.cells if cell.table != "Best limit"} == {"open"}


def test_open_tables_show_ours_alone():
    found = outcome(420)
    published, form, questions = study_findings(found)
    assert (
        "1 of 1 inputs of our models are found again" in published.notes[1] and not form.notes and not questions.notes
    )
    assert [head.title for head in questions.tables[0].heads] == ["Cell", "Unit", "Ours"]
    assert questions.tables[0].rows[0][2].startswith("420")
    texts = json.dumps(study_json([found]), allow_nan=False)
    assert '"published": null' in texts and '"published": 420' in texts


def test_step_is_swept_searched_and_kept(tmp_path):
    (study,) = find_studies("e4-limit")
    step = study.system[0].model_copy(update={"floor_bps": 4.2e8, "limits": 4})
    result = measure_system(step, tmp_path / "step", Observer())
    found = result.rows[0].figures
    assert found["best_limit"].value == pytest.approx(420) and found["fast_at_best"].value < 100
    assert (tmp_path / "step" / "report.html").exists() and (tmp_path / "step-search" / "result.json").exists()


FILE = """
title = "x"
source = "y"
[[system]]
name = "a"
[[table]]
name = "t"
title = "t"
open = true
column = [{ name = "limit", unit = "Mb/s", figure = "best_limit" }]
row = [{ name = "r", step = "a" }]
"""


def test_values_in_an_open_table_are_refused():
    assert len(list(parse_study(FILE, "x").cells())) == 1
    with pytest.raises(PlanError, match="none in an open table"):
        parse_study(FILE.replace('step = "a" }', 'step = "a", values = [1] }'), "x")
    with pytest.raises(PlanError, match="values"):
        parse_study(FILE.replace("open = true", "open = false"), "x")
