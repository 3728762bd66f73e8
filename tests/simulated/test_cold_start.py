"""A command loads what it needs. What is counted is `len(sys.modules)` at the end of a new interpreter: all modules, of
the standard library and of the interpreter itself too, of which `python -c pass` has about 33. Times are not tested,
because they depend on the host.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from keisoku.faces.cli.lazy_group import LazyGroup
from keisoku.faces.cli.main import GROUPS, keisoku
from keisoku.subjects.device.table import PROCEDURES, suites

LIGHT = 156
"""Commands that list or tell."""
SETTINGS = 480
"""Commands that make their options of settings (pydantic, and the values of numpy that settings contain)."""
PROCEDURE = 496
"""Commands of procedures: their options, and the generator and the plots that stand in the same entry."""
MOST = {
    "latency": PROCEDURE,
    **dict.fromkeys(suites(), 507),  # the entries of all procedures of a document
    "--help": LIGHT,
    "system": LIGHT,
    "clock": LIGHT,
    "path": LIGHT,
    "stream": LIGHT,
    "fpga": 160,
    "find": 165,
    "query": LIGHT,
    "serve": LIGHT,
    "devices": 300,
    "lab": 601,  # every lab device; and psutil, which pyroute2 loads where it is there, as with Dask
    "clean": 440,
    "replay": 705,
}
"""For the help of commands; all others: `SETTINGS`."""
FIRST_FRAME = 606
WHOLE_TRIAL = 701
COUNTED = """
import atexit, sys
counts = {}
@atexit.register
def say():
    kinds = sorted({name.partition(".")[0] for name in sys.modules})
    print({**counts, "end": len(sys.modules), "kinds": kinds}, file=sys.stderr)
"""
AT_ONCE = COUNTED + "from keisoku.faces.cli.main import main\nmain()\n"
AT_FIRST_FRAME = (
    COUNTED
    + """
from keisoku.subjects.device.engine.simulated import SimulatedEngine
start = SimulatedEngine.start
def counted(*given, **named):
    counts.setdefault("first frame", len(sys.modules))
    return start(*given, **named)
SimulatedEngine.start = counted
from keisoku.faces.cli.main import main
main()
"""
)


def modules_of(program: str, *arguments: str, folder: Path | None = None) -> dict[str, Any]:
    """The counts of a command that succeeds."""
    ended = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=folder, capture_output=True, text=True, timeout=600
    )
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = ast.literal_eval(ended.stderr.splitlines()[-1])
    return found


def test_modules_of_the_help_of_all_commands() -> None:
    counted = modules_of(AT_ONCE, "--help")
    assert counted["end"] <= LIGHT, counted


def test_ports_imports_538_modules() -> None:
    counted = modules_of(AT_ONCE, "ports")
    assert counted["end"] <= LIGHT, counted


COMMANDS = [name for names in GROUPS.values() for name in names]
OF_PROCEDURES = [procedure.command for procedure in PROCEDURES.values()]


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in OF_PROCEDURES] + ["latency"])
def test_modules_of_the_help_of_a_command(command: str) -> None:
    counted = modules_of(AT_ONCE, command, "--help")
    assert counted["end"] <= MOST.get(command, SETTINGS), counted


def test_modules_of_the_help_of_every_procedure() -> None:
    """In forks of one process that has what all need, so that each loads the rest itself."""
    program = f"""
import os, sys
from keisoku.faces.cli.main import keisoku
from keisoku.faces.cli import measuring
from keisoku.subjects.device import measurement
counts = {{}}
for name in {OF_PROCEDURES!r}:
    reading, writing = os.pipe()
    if os.fork() == 0:
        keisoku([name, "--help"], standalone_mode=False)
        os.write(writing, str(len(sys.modules)).encode())
        os._exit(0)
    assert os.wait()[1] == 0, name
    counts[name] = int(os.read(reading, 9))
print(counts, file=sys.stderr)
"""
    counted = modules_of(program)
    assert counted.keys() == set(OF_PROCEDURES)
    assert not [name for name, count in counted.items() if int(str(count)) > PROCEDURE], counted


def test_a_trial_of_a_simulated_device_imports_901_modules(tmp_path: Path) -> None:
    arguments = (
        "trial",
        "--dut",
        "sim:gs908e",
        "--size",
        "64",
        "--rate",
        "1kpps",
        "--duration",
        "0.1s",
        "--out",
        "run",
    )
    counted = modules_of(AT_FIRST_FRAME, *arguments, folder=tmp_path)
    first = counted["first frame"]
    assert isinstance(first, int) and first <= FIRST_FRAME, counted
    assert counted["end"] <= WHOLE_TRIAL, counted
    assert not {"pyroute2", "scipy", "duckdb", "pyarrow"} & set(counted["kinds"])


def test_the_lists_of_commands_say_the_first_sentence_of_each_help() -> None:
    context = click.Context(keisoku)
    for name in keisoku.list_commands(context):
        command = keisoku.get_command(context, name)
        assert command is not None
        assert keisoku.sentence(context, name) == command.get_short_help_str(limit=300)
        if isinstance(command, LazyGroup):
            for part in command.list_commands(context):
                within = command.get_command(context, part)
                assert within is not None
                said = within.get_short_help_str(limit=300)
                assert command.sentence(context, part) == said, f"{name} {part}"
