"""CPU time of the threads of a process, by its number or its name."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from keisoku.errors import PlanError
from keisoku.ground.host.cpu_time import of_processes

NAME = "keisoku-data-plane"


@pytest.fixture
def program(tmp_path: Path) -> Iterator[int]:
    """The number of a process with a name of more than 15 characters, of which the kernel keeps 15."""
    shutil.copy("/bin/sleep", tmp_path / NAME)
    with subprocess.Popen([tmp_path / NAME, "1000"]) as process:
        yield process.pid
        process.kill()


@pytest.mark.parametrize("name", [NAME, NAME[:15]])
def test_a_process_is_found_by_its_whole_name(program: int, name: str) -> None:
    while Path(f"/proc/{program}/comm").read_text().strip() != NAME[:15]:
        os.sched_yield()
    found = of_processes([name])
    assert {(process, thread) for process, thread, of in found if of == NAME[:15]} == {(program, program)}
    assert set(found) == set(of_processes([str(program)]))


def test_another_name_of_the_same_length_is_not_there(program: int) -> None:
    with pytest.raises(PlanError, match="no process has the name or number 'keisoku-data-x'"):
        of_processes([str(program), "keisoku-data-x"])
