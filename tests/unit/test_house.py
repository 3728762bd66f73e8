"""The measures of the house, on trees whose circles are known."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[2] / "tools/house.py"


def measured(root: Path, *options: str) -> tuple[int, list[str]]:
    ended = subprocess.run(
        [sys.executable, HOUSE, "--root", root, *options], stdout=subprocess.PIPE, text=True, check=False
    )
    return ended.returncode, ended.stdout.splitlines()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Two rooms of Python, one of which imports from the other, and a crate; no circle."""
    files = {
        "keisoku/__init__.py": "",
        "keisoku/top/__init__.py": "",
        "keisoku/top/page.py": "from keisoku.low import text\nfrom ..low.digits import shown\n",
        "keisoku/low/__init__.py": "",
        "keisoku/low/text.py": "from keisoku.low.digits import shown\n",
        "keisoku/low/digits.py": "import json\n\nshown = json.dumps\n",
        "core/src/lib.rs": "mod ring;\nmod port;\n",
        "core/src/ring.rs": "// use crate::port::Port;\npub struct Ring;\n",
        "core/src/port.rs": "mod packet;\npub struct Port;\nmod python {\n    use super::Port;\n}\n",
        "core/src/port/packet.rs": "use crate::{ring::Ring, account};\n",
        "far/src/main.rs": "mod table;\n",
        "far/src/table.rs": "pub struct Table;\n",
        "fpga/rtl/fifo.sv": "module fifo;\nendmodule\n",
        "tests/test_page.py": "assert True\n",
        "docs/page.md": "Five words of a page.\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_house_without_circles_is_measured(tree: Path) -> None:
    code, lines = measured(tree)
    assert code == 0
    assert [" ".join(line.split()) for line in lines] == [
        "Python 6 lines, 6 modules in 3 rooms (at most 3 in one), 3 floors, 1 arrows, 0 circles",
        "Rust 10 lines, 4 modules in 2 rooms (at most 3 in one), 2 floors, 1 arrows, 0 circles",
        "far end 2 lines, 2 modules in 1 rooms (at most 2 in one), 1 floors, 0 arrows, 0 circles",
        "RTL 2 lines",
        "tests 1 lines",
        "docs 5 words",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "from keisoku.top import page",
        "import keisoku.top.page",
        "def late():\n    from keisoku.top.page import shown\n    return shown",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..top.page import shown",
        'PAGE = {"page": "keisoku.top.page"}',
        'PAGE = "keisoku.top.page:shown"',
        'def late(kind):\n    return f"keisoku.top.{kind}"',
    ],
)
def test_each_way_to_name_a_module_closes_a_circle(tree: Path, text: str) -> None:
    (tree / "keisoku/low/digits.py").write_text(f"{text}\n")
    code, lines = measured(tree)
    assert code == 1
    way = "keisoku.low.digits → keisoku.top.page → keisoku.low.digits"
    assert lines[-1] == f"circle in Python, of 3 modules: {way}"


@pytest.mark.parametrize("text", ["use super::port::{self, Port};", "fn late() {\n    crate::port::packet::send();\n}"])
def test_a_circle_in_rust_is_found(tree: Path, text: str) -> None:
    (tree / "core/src/port.rs").write_text("mod packet;\nuse packet::Packet;\n")
    (tree / "core/src/ring.rs").write_text(f"{text}\n")
    code, lines = measured(tree)
    assert code == 1
    assert lines[-1].startswith("circle in Rust") and "crate::ring" in lines[-1]


def test_tests_and_declarations_close_no_circle_in_rust(tree: Path) -> None:
    (tree / "core/src/ring.rs").write_text("#[cfg(test)]\nmod tests {\n    use crate::port::packet::send;\n}\n")
    assert measured(tree)[0] == 0


def test_small_files_with_one_importer_are_listed(tree: Path) -> None:
    _, lines = measured(tree, "--small", "3")
    assert lines[6:] == ["small: keisoku.low.text (1 lines), which keisoku.top.page imports"]
