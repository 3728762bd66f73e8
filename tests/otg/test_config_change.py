"""Changes of a part of a configuration, on plain documents."""

from __future__ import annotations

import copy

import pytest

from keisoku.errors import PlanError
from keisoku.faces.otg.control.config_change import appended, deleted, updated

BEFORE = {"ports": [{"name": "p"}], "flows": [{"name": "a", "size": {"fixed": 64}, "rate": {"pps": 1}}, {"name": "b"}]}


def test_an_update_changes_the_named_properties_only() -> None:
    kept = copy.deepcopy(BEFORE)
    flow = {"name": "a", "size": {"fixed": 99}, "rate": {"pps": 7}}
    after = updated(BEFORE, {"choice": "flows", "flows": {"property_names": ["size"], "flows": [flow]}})
    assert after["flows"][0] == {"name": "a", "size": {"fixed": 99}, "rate": {"pps": 1}}
    absent = updated(after, {"flows": {"property_names": ["rate"], "flows": [{"name": "a"}]}})
    assert absent["flows"][0] == {"name": "a", "size": {"fixed": 99}}
    assert kept == BEFORE


def test_flows_are_added_and_taken_away() -> None:
    after = appended(BEFORE, {"config_append_list": [{"choice": "flows", "flows": [{"name": "c"}]}]})
    assert [flow["name"] for flow in after["flows"]] == ["a", "b", "c"]
    less = deleted(after, {"config_delete_list": [{"choice": "flows", "flows": ["a", "c"]}]})
    assert less == {"ports": [{"name": "p"}], "flows": [{"name": "b"}]}


def test_what_is_not_there_is_refused_with_its_path() -> None:
    with pytest.raises(PlanError) as caught:
        deleted(BEFORE, {"config_delete_list": [{"flows": ["a"]}, {"flows": ["x"]}]})
    assert caught.value.field == "config_delete_list[1].flows"
    with pytest.raises(PlanError) as caught:
        updated(BEFORE, {"choice": "protocols", "protocols": {}})
    assert caught.value.field == "config_update.protocols"
