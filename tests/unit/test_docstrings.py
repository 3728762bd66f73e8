"""What `tools/docstrings.py` finds in docstrings whose faults are known, and how it holds what is left of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools/docstrings.py"
ERRORS = '''"""Errors."""


class KeisokuError(Exception):
    """Base."""


class PlanError(KeisokuError):
    """One."""
'''
HEAD = '''"""A module."""

from numpy.typing import NDArray

from keisoku.errors import PlanError

Floats = NDArray[float]


class Occupied(PlanError):
    """One of its errors."""


'''


def read(root: Path, *options: str) -> tuple[int, list[str]]:
    ended = subprocess.run(
        [sys.executable, TOOL, "--root", root, *options], stdout=subprocess.PIPE, text=True, check=False
    )
    return ended.returncode, ended.stdout.splitlines()


def write(root: Path, *functions: str) -> None:
    (root / "keisoku").mkdir(exist_ok=True)
    (root / "tools").mkdir(exist_ok=True)
    (root / "keisoku/errors.py").write_text(ERRORS)
    (root / "keisoku/page.py").write_text(HEAD + "\n\n".join(functions))


NO_UNIT = 'def wait(time: float) -> None:\n    """Waits."""\n'
NO_SENTENCE = 'def wait() -> None:\n    """waits for nothing."""\n'
NO_END = 'def wait() -> None:\n    """Waits for nothing"""\n'
NO_RAISES = 'def wait() -> None:\n    """Waits."""\n    if True:\n        raise Occupied("a", "b", "c")\n'


@pytest.mark.parametrize(
    ("function", "fault"),
    [
        (NO_UNIT, "unit: wait: time"),
        ('def mean(of: Floats) -> float:\n    """The hop\'s mean."""\n', "unit: mean: of, return"),
        (
            'class Page:\n    """A page."""\n\n    def width(self) -> float | None:\n        """Its width."""\n',
            "Page.width",
        ),
        (NO_SENTENCE, "sentence: wait: waits for nothing."),
        (NO_END, "sentence: wait: Waits for nothing"),
        ('def rate() -> float:\n    """bit/s of a line."""\n', "sentence: rate: bit/s of a line."),
        (NO_RAISES, "raises: wait: Occupied"),
    ],
)
def test_a_fault_is_named_with_its_place(function: str, fault: str, tmp_path: Path) -> None:
    write(tmp_path, function)
    code, lines = read(tmp_path)
    assert code == 1
    (line,) = lines[1:]
    assert line.startswith("keisoku/page.py:1") and fault in line


@pytest.mark.parametrize(
    "function",
    [
        'def wait(time_s: float, most_ns: Floats) -> None:\n    """Waits."""\n',
        'def rate(of: Floats) -> float:\n    """The rate in bit/s."""\n',
        'def part(of: Floats) -> float:\n    """Share of what was sent."""\n',
        'def which(of: NDArray[bool]) -> None:\n    """Truths have no unit."""\n',
        'def _wait(time: float) -> None:\n    """private"""\n',
        'def read() -> None:\n    """iperf3\'s output.\n\n    raises nothing\n    """\n',
        NO_RAISES.replace("Waits.", "Waits. Raises Occupied."),
        'def wait() -> None:\n    """Waits."""\n    raise ValueError\n',
        'def wait() -> None:\n    """Waits."""\n\n    def inner() -> None:\n        raise PlanError("a", "b", "c")\n',
        '@main.command("wait")\n' + NO_RAISES,
    ],
)
def test_what_says_all_has_no_fault(function: str, tmp_path: Path) -> None:
    write(tmp_path, function)
    assert read(tmp_path) == (0, ["docstrings      0 faults: "])


def test_what_is_left_may_only_become_less(tmp_path: Path) -> None:
    write(tmp_path, NO_UNIT, NO_END)
    assert read(tmp_path, "--write")[0] == 0
    assert read(tmp_path)[0] == 0
    write(tmp_path, NO_UNIT, NO_END, NO_RAISES)
    assert read(tmp_path)[0] == 1
    assert read(tmp_path, "--write")[0] == 1, "the sum is never raised"
    write(tmp_path, NO_UNIT)
    code, lines = read(tmp_path)
    assert code == 1 and "1 of 2 are left" in lines[1]
    assert read(tmp_path, "--write")[0] == 0
    assert (tmp_path / "tools/docstrings_left.txt").read_text() == "1 keisoku/page.py\n"
    assert read(tmp_path)[0] == 0
