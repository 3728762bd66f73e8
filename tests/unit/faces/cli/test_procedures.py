"""What is said of procedures is complete: docs/procedures.md shows a row for each."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click
import generated
import pytest

from keisoku.faces.cli.main import GROUPS, keisoku
from keisoku.subjects.device.table import PROCEDURES


def test_every_procedure_has_its_row_in_the_documentation() -> None:
    text = generated.filled((Path(__file__).parents[4] / "docs" / "procedures.md").read_text(encoding="utf-8"))
    rows = re.findall(r"^\| \[`([\w-]+)`\]\(measurements/", text, re.MULTILINE)
    assert {each.command for each in PROCEDURES.values()} == set(rows)
    assert len(rows) == len(set(rows))


def test_help_shows_every_command_once() -> None:
    shown = [name for names in GROUPS.values() for name in names]
    assert sorted(shown) == keisoku.list_commands(click.Context(keisoku))


def _commands(group: click.Group, path: str = "keisoku") -> dict[str, click.Command]:
    context = click.Context(group)
    found: dict[str, click.Command] = {}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None and command.name == name
        found[f"{path} {name}"] = command
        if isinstance(command, click.Group):
            found |= _commands(command, f"{path} {name}")
    return found


COMMANDS = _commands(keisoku)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_option_of_a_command_hides_another(name: str) -> None:
    """errored-frames once had two options --maximum: a size and a rate."""
    given = [option for parameter in COMMANDS[name].params for option in parameter.opts]
    assert len(given) == len(set(given))


def test_a_command_imports_nothing_of_the_others() -> None:
    """All commands together took 1.4 s of CPU before the first of them began."""
    loaded = "import sys, keisoku.faces.cli.main; print(*{'numpy', 'scipy', 'pydantic', 'pyroute2'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", loaded], capture_output=True, check=True).stdout.split() == []
