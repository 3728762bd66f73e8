"""The help of commands with many options: one screen of the first ones, and all of them when asked."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from keisoku.faces.cli.help_sections import FIRST, MANY, SECTIONS
from keisoku.faces.cli.main import keisoku
from keisoku.faces.cli.measuring import command
from keisoku.subjects.device.table import PROCEDURES


def shown(*words: str) -> str:
    return CliRunner().invoke(keisoku, list(words), prog_name="keisoku", terminal_width=80).output


@pytest.mark.parametrize("name", PROCEDURES)
def test_the_help_of_a_procedure_fits_a_screen_and_names_its_own_options(name: str) -> None:
    text = shown(name.replace("_", "-"), "--help")
    assert len(text.splitlines()) <= 48
    assert text.index("--dut") < text.index("--out")
    own = {param.opts[0] for param in command(name).params if isinstance(param, click.Option)}
    own -= {param.opts[0] for param in command("trial").params}
    assert all(option in text for option in own)
    assert f"keisoku {name.replace('_', '-')} --help-all" in text.replace("\n", " ")


def test_all_options_are_shown_by_section_when_asked() -> None:
    text = shown("throughput", "--help-all")
    params = [param for param in command("throughput").params if isinstance(param, click.Option)]
    assert all(f"  {param.opts[0]}" in text for param in params if not param.hidden)
    titles = ["This measurement:", *(f"{title}:" for title in SECTIONS)]
    places = [text.index(title) for title in titles]
    assert places == sorted(places)


def test_sections_name_parameters_that_exist() -> None:
    every = {param.name for name in PROCEDURES for param in command(name).params}
    named = {*FIRST, *(name for names in SECTIONS.values() for name in names)}
    assert named <= every


def test_a_command_of_few_options_shows_them_all() -> None:
    text = shown("path", "delay", "--help")
    params = [param for param in command("path delay").params if isinstance(param, click.Option)]
    assert len(params) < MANY and "--help-all" not in text
    assert all(param.opts[0] in text for param in params if not param.hidden)


@pytest.mark.parametrize(
    ("words", "said"), [(["thruput"], "did you mean 'throughput'?"), (["path", "delayy"], "did you mean 'delay'?")]
)
def test_a_name_that_is_no_command_is_refused_with_the_nearest(words: list[str], said: str) -> None:
    assert said in shown(*words)
    assert "did you mean" not in shown("qqqqqq")
