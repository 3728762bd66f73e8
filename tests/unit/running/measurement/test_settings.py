"""What is wrong with a setting is said in plain words, whatever measurement it belongs to."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
from click.testing import CliRunner
from pydantic import Field, ValidationError

from keisoku.errors import PlanError
from keisoku.faces.cli.main import keisoku
from keisoku.ground.run.settings import Settings, parsed
from keisoku.running.measurement.table import MODULES, find
from keisoku.subjects.device.plan.plan import Plan, parse
from keisoku.subjects.system.simulated.file import read_system
from keisoku.units import duration_ns, rate

SOURCE = {"methods": ["trial"], "dut": "sim:gs908e", "frame_bytes": [64]}


class Inner(Settings):
    count: int = Field(1, ge=1, lt=9)


class Every(Settings):
    """A setting of each kind that our settings have."""

    whole: int = Field(1, ge=1, le=5)
    share: float = Field(0.5, gt=0, lt=1)
    yes: bool = False
    name: str = Field("a", min_length=1, max_length=3)
    sizes: tuple[int, ...] = Field((1,), min_length=1, max_length=2)
    maybe: tuple[int, ...] | None = None
    names: tuple[str, ...] = ()
    kind: Literal["one", "two"] = "one"
    inner: Inner = Inner()
    inners: tuple[Inner, ...] = ()
    wait_s: float = 0.0
    rate_fps: float | None = None
    rate_bps: float | None = None


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"whole": "x"}, "whole: 'x' is no whole number; give a whole number"),
        ({"whole": 1.5}, "whole: 1.5 is no whole number; give a whole number"),
        ({"whole": [1]}, "whole: [1] is no whole number; give a whole number"),
        ({"whole": 0}, "whole: 0 is below 1; give at least 1"),
        ({"whole": 6}, "whole: 6 is above 5; give at most 5"),
        ({"whole": 10**5000}, "whole: this number is above 5; give at most 5"),
        ({"share": "x"}, "share: 'x' is no number; give a number"),
        ({"share": {}}, "share: {} is no number; give a number"),
        ({"share": 0}, "share: 0 is not above 0; give more than 0"),
        ({"share": 1}, "share: 1 is not below 1; give less than 1"),
        ({"share": float("nan")}, "share: nan is not finite; give a finite number"),
        ({"yes": "x"}, "yes: 'x' is neither true nor false; give true or false"),
        ({"yes": []}, "yes: [] is neither true nor false; give true or false"),
        ({"name": 1}, "name: 1 is no text; write it in quotes"),
        ({"name": ""}, "name: '' is too short; give at least 1 characters"),
        ({"name": "abcd"}, "name: 'abcd' is too long; give at most 3 characters"),
        ({"sizes": "x"}, "sizes: 'x' is no list; write it in brackets: ['x']"),
        ({"sizes": ["x"]}, "sizes: 'x' is no whole number; give a whole number"),
        ({"sizes": []}, "sizes: 0 values are too few; give at least 1"),
        ({"sizes": [1, 2, 3]}, "sizes: 3 values are too many; give at most 2"),
        ({"names": "x"}, "names: 'x' is no list; write it in brackets: ['x']"),
        ({"kind": "three"}, "kind: there is no 'three'; use 'one' or 'two'"),
        ({"inner": 1}, "inner: 1 is no table; give a table of settings"),
        ({"inner": {"count": 9}}, "inner.count: 9 is not below 9; give less than 9"),
        ({"inners": [{}, {"count": 0}]}, "inners.1.count: 0 is below 1; give at least 1"),
        ({"other": 1}, "other: there is no such setting; remove it or correct its spelling"),
        ({"wait_s": 1e15}, "wait_s: 1000000000000000.0 is above 1e+09; give at most 1e+09"),
        ({"rate_fps": 1e20}, "rate_fps: 1e+20 is above 1e+10; give at most 1e+10"),
        ({"rate_bps": 1e20}, "rate_bps: 1e+20 is above 1e+14; give at most 1e+14"),
        ({"kind": "x" * 1000}, f"kind: there is no '{'x' * 58}…; use 'one' or 'two'"),
    ],
)
def test_the_validation_librarys_words_were_shown(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(PlanError) as caught:
        parsed(Every, wrong)
    assert str(caught.value) == said


def test_one_number_is_a_list_of_one() -> None:
    found = parsed(Every, {"sizes": 64, "maybe": 5})
    assert (found.sizes, found.maybe) == ((64,), (5,))
    with pytest.raises(PlanError, match="yes: 3 is neither"):
        parsed(Every, {"yes": 3})
    with pytest.raises(PlanError, match="sizes: True is no list"):
        parsed(Every, {"sizes": True})


def test_frame_bytes_of_64_was_refused() -> None:
    assert parse(SOURCE | {"frame_bytes": 64}).frame_bytes == (64,)


@pytest.mark.parametrize("seconds", [1e15, 1e300])
def test_a_trial_of_1e15_s_was_refused_in_serdes_words(seconds: float) -> None:
    with pytest.raises(PlanError, match=r"^trial\.trial_s: 1.* is above 1e\+09; give at most 1e\+09$"):
        parse(SOURCE | {"trial": {"trial_s": seconds}})


def test_a_rate_of_1e20_measured_nothing_with_exit_code_0() -> None:
    with pytest.raises(PlanError, match=r"^trial\.rate_fps: 1e\+20 is above 1e\+10"):
        parse(SOURCE | {"trial": {"rate_fps": 1e20}})


def test_a_rate_of_1e9_measured_nothing_with_exit_code_0(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'methods = ["trial"]\ndut = "sim:gs908e"\nframe_bytes = 64\n[trial]\ntrial_s = 0.01\nrate_fps = 1e9\n'
    )
    ended = CliRunner().invoke(keisoku, ["run", str(plan), "--out", str(tmp_path / "run")])
    assert ended.exit_code == 2
    said = "keisoku: nothing was measured: the tester offered 14881 of 10000000 frames\n"
    assert said in ended.stderr


@pytest.mark.parametrize("name", MODULES)
def test_every_measurements_settings_are_bounded_by_their_units(name: str) -> None:
    kind = find(name).settings
    fields = [one for one in kind.model_fields if one.endswith(("_s", "_fps", "_bps", "_rps"))]
    for field in fields:
        with pytest.raises(ValidationError) as caught:
            kind.model_validate({field: {"a": 1e30} if "dict" in str(kind.model_fields[field].annotation) else 1e30})
        said = [error["type"] for error in caught.value.errors() if error["loc"] == (field,)]
        assert said in (["less_than_equal"], ["less_than"])


def test_a_quantity_beyond_all_numbers_ended_in_a_traceback() -> None:
    for read in (duration_ns, rate):
        with pytest.raises(PlanError, match="'1e400' is too large"):
            read("--duration", "1e400")


def test_size_0_printed_the_validation_librarys_text() -> None:
    for protocol in ("tcp", "udp"):
        ended = CliRunner().invoke(keisoku, ["stream", protocol, "127.0.0.1", "--size", "0"])
        assert isinstance(ended.exception, PlanError)
        assert str(ended.exception).startswith("--size: '0' is below ")


def test_a_systems_file_is_refused_in_the_same_words(tmp_path: Path) -> None:
    path = tmp_path / "system.toml"
    path.write_text("client = []\n[server]\nrequest_s = 'x'\n")
    with pytest.raises(PlanError, match=r"server\.request_s: 'x' is no number; give a number"):
        read_system(path)


def test_a_plan_of_settings_that_were_read_is_read_again() -> None:
    plan = parse(SOURCE)
    assert Plan.model_validate(plan.plain()) == plan
