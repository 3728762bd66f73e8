"""A result: figures with their intervals, as JSON and back."""

from __future__ import annotations

import json
import math

import pytest
from pydantic import ValidationError
from support.path_result import RESULT

from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Interval, Quantity


def test_a_result_is_json_and_back() -> None:
    assert Result.model_validate(json.loads(RESULT.model_dump_json())) == RESULT


def test_an_interval_is_of_a_figure() -> None:
    with pytest.raises(ValidationError, match="intervals"):
        Row.model_validate({"case": "1", "figures": {}, "intervals": {"rate": {"lower": 0, "upper": 1}}})
    figure = Quantity(value=5.0, unit="ns", uncertainty=1.0, interval=Interval(lower=3.0, upper=9.0))
    assert figure.bounds == (3.0, 9.0)
    assert figure.model_copy(update={"interval": None}).bounds == (4.0, 6.0)
    assert Quantity(value=5.0, unit="ns").bounds is None


def test_a_bound_reaches_to_infinity_and_has_no_uncertainty() -> None:
    least = Quantity(value=5.0, unit="ns", bound="at least")
    assert least.bounds == (5.0, math.inf)
    assert Quantity(value=5.0, unit="ns", bound="at most").bounds == (-math.inf, 5.0)
    for more in ({"uncertainty": 0.0}, {"interval": {"lower": 4.0, "upper": 6.0}}):
        with pytest.raises(ValidationError, match="no uncertainty and no interval"):
            Quantity.model_validate({"value": 5.0, "unit": "ns", "bound": "at least", **more})


def test_json_names_a_bound_and_a_resolution_only_where_there_is_one() -> None:
    plain = Quantity(value=5.0, unit="ns", uncertainty=1.0)
    assert set(plain.model_dump()) == {"value", "unit", "uncertainty"}
    for figure in (Quantity(value=5.0, unit="ns", bound="at most"), plain.model_copy(update={"covers": "resolution"})):
        assert Quantity.model_validate_json(figure.model_dump_json()) == figure


def test_a_figure_in_another_unit_keeps_what_is_known_of_it() -> None:
    figure = Quantity(
        value=5.0, unit="frames/s", uncertainty=1.0, interval=Interval(lower=3.0, upper=9.0), covers="resolution"
    )
    bits = figure.scaled(512, "bit/s")
    assert (bits.value, bits.unit, bits.uncertainty, bits.covers) == (2560.0, "bit/s", 512.0, "resolution")
    assert bits.bounds == (1536.0, 4608.0)
    assert Quantity(value=5.0, unit="frames/s", bound="at least").scaled(2, "%").bound == "at least"


def test_rows_without_figures_are_not_measured_but_a_table_of_words_is_one() -> None:
    figures = {"throughput": Quantity(value=5.0, unit="frames/s")}
    missing = Row(frame_bytes=64, figures={}, remark="given up")
    words = Row(group="Clients", case="web", figures={}, remark="waits for the disk")
    result = Result(measurement="throughput", rows=[missing, Row(frame_bytes=128, figures=figures), words])
    assert result.not_measured == [missing]
    assert Result(measurement="throughput", rows=[missing]).not_measured == [missing]


def test_a_flag_is_found_by_its_name_and_rows_by_their_group() -> None:
    assert RESULT.flagged("token-bucket") and not RESULT.flagged("kink")
    assert {group: len(rows) for group, rows in RESULT.groups().items()} == {"Hop": 2, "Averaging time": 2}
