"""Every code block of the documentation: it runs, is read, or at least every option that it uses exists."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.doc_blocks import CHECKED, FILES, PAGES, PLAIN, ROOT, RUN, Block, blocks, check, commands
from support.doc_stage import DocStage

from keisoku.ground.lab.available import available
from keisoku.ground.lab.device.catalogue import find_device
from keisoku.ground.simulated_device.device import read_device
from keisoku.running.measurement.plan_file import read as read_plan
from keisoku.running.study.file import parse_study
from keisoku.subjects.system.network.net_file import read_net
from keisoku.subjects.system.simulated.file import read_system

ALL = [block for path in PAGES for block in blocks(path)]
GENERATED = [block for path in PAGES if "generated:" in path.read_text() for block in blocks(path, fill=True)]
SHELL = [block for block in ALL if block.language == "sh"]
OWN_DEVICE = ROOT / "tests" / "docs" / "my-switch.toml"


def of_pages(needs: tuple[str, ...]) -> list[list[Block]]:
    """The blocks of each page that run, in order: a later one may use what an earlier one left."""
    pages: dict[str, list[Block]] = {}
    for block in ALL:
        if block.language in ("sh", "python") and block.needs in needs:
            pages.setdefault(block.page, []).append(block)
    return list(pages.values())


def test_every_block_says_its_language_and_what_it_needs() -> None:
    unknown = [
        f"{block}: {block.language} {block.needs}"
        for block in ALL
        if not (
            (block.language in ("sh", "python") and block.needs in (*RUN, *CHECKED))
            or (block.language == "toml" and block.needs in FILES)
            or block.language in PLAIN
            or block.language.startswith("{")
        )
    ]
    assert not unknown


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_block_is_indented_code(path: Path) -> None:
    """Such a block has no language, so that nothing says how it is tried."""
    lines = re.sub(r"^( *)```.*?^\1```$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL).splitlines()
    before = ["", *lines]
    first = [n for n, line in enumerate(lines, 1) if line.startswith("    ") and not before[n - 1].strip()]
    assert not [n for n in first if not re.match(r" *[-*\d]", lines[n - 1])], path


@pytest.mark.parametrize("block", [each for each in ALL if each.language == "python"], ids=str)
def test_python_is_python(block: Block) -> None:
    ast.parse(block.text.replace("…", "..."))


@pytest.mark.parametrize("block", [*SHELL, *(each for each in GENERATED if each.language == "sh")], ids=str)
def test_a_shell_block_is_shell_and_every_option_exists(block: Block) -> None:
    done = subprocess.run(["sh", "-n"], input=block.text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for words in commands(block.text):
        check(words)


@pytest.mark.parametrize("block", [each for each in ALL if each.language == "console"], ids=str)
def test_a_command_before_its_output_exists(block: Block) -> None:
    found = [line for line in block.text.splitlines() if line.startswith("$ ")]
    assert found
    for line in found:
        for words in commands(line):
            check(words)


@pytest.mark.parametrize("block", [each for each in ALL if each.language == "toml"], ids=str)
def test_a_file_is_read(block: Block, tmp_path: Path) -> None:
    file = tmp_path / "file.toml"
    file.write_text(block.text)
    readers: dict[str, Callable[[Path], object]]
    readers = {
        "device": read_device,
        "network": lambda path: find_device(str(path)),
        "plan": read_plan,
        "ports": read_net,
        "system": read_system,
    }
    if block.needs == "study":
        parse_study(block.text, "mine")
    else:
        readers[block.needs](file)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("page", of_pages(("",)), ids=lambda page: page[0].page)
def test_blocks_that_need_nothing_run(page: list[Block], tmp_path: Path) -> None:
    shutil.copy(OWN_DEVICE, tmp_path)
    for block in page:
        _run(block, tmp_path)


@pytest.fixture(scope="module")
def stage(pytestconfig: pytest.Config) -> Iterator[DocStage]:
    if not pytestconfig.getoption("--long"):
        pytest.skip("runs with --long (make test-docs)")
    if reason := available():
        pytest.skip(reason)
    with DocStage() as made:
        yield made


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("page", of_pages(RUN[1:]), ids=lambda page: page[0].page)
def test_longer_blocks_run(page: list[Block], tmp_path: Path, stage: DocStage) -> None:
    shutil.copy(OWN_DEVICE, tmp_path)
    for block in page:
        _run(block, tmp_path, stage if block.needs == "lab" else None)


def _run(block: Block, folder: Path, stage: DocStage | None = None) -> None:
    """Raises AssertionError with what was said."""
    environment = os.environ | {"XDG_STATE_HOME": str(folder), "PYTHONPATH": str(ROOT), "PATH": _with_keisoku(folder)}
    if block.language == "python":
        command, text = [sys.executable, "-"], block.text
    else:
        command, text = ["sh", "-e"], block.text.replace("sudo ", "")
        newest = max((folder / "runs").glob("*"), default=None)  # a name begins with its date
        text = text if newest is None else text.replace("runs/…", str(newest))
    if stage is not None:
        ended = stage.run(command, text, folder, environment)
    else:
        ended = subprocess.run(
            command, input=text, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
    absent = re.search(r"needs the kernel module \S+|needs the program .*|is not installed.*", ended.stderr)
    if ended.returncode == 2 and absent:
        pytest.skip(f"{block}: {absent[0]}")
    if stage is not None and "nothing was measured: " in ended.stderr:
        return  # the host spoiled its trials, which is no fault of the page
    assert ended.returncode == 0, f"{block}: {ended.stdout[-3000:]}\n{ended.stderr[-3000:]}"


def _with_keisoku(folder: Path) -> str:
    """A PATH on which `keisoku` is this tree."""
    own = folder / "bin" / "keisoku"
    if not own.exists():
        own.parent.mkdir()
        own.write_text(f'#!/bin/sh\nexec {sys.executable} -m keisoku "$@"\n')
        own.chmod(0o755)
    return f"{own.parent}:{os.environ['PATH']}"
