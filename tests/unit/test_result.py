"""A result: figures with their intervals, as JSON and back."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError
from support.path_result import RESULT

from keisoku.analysis.quantity import Interval, Quantity
from keisoku.run.result import Result, Row


def test_a_result_is_json_and_back() -> None:
    assert Result.model_validate(json.loads(RESULT.model_dump_json())) == RESULT


def test_an_interval_is_of_a_figure() -> None:
    with pytest.raises(ValidationError, match="intervals"):
        Row.model_validate({"case": "1", "figures": {}, "intervals": {"rate": {"lower": 0, "upper": 1}}})
    figure = Quantity(value=5.0, unit="ns", uncertainty=1.0, interval=Interval(lower=3.0, upper=9.0))
    assert figure.bounds == (3.0, 9.0)
    assert figure.model_copy(update={"interval": None}).bounds == (4.0, 6.0)
    assert Quantity(value=5.0, unit="ns").bounds is None


def test_a_flag_is_found_by_its_name_and_rows_by_their_group() -> None:
    assert RESULT.flagged("token-bucket") and not RESULT.flagged("kink")
    assert {group: len(rows) for group, rows in RESULT.groups().items()} == {"Hop": 2, "Averaging time": 2}
