"""The pages of the manual: there is one of each command, groff takes it, and a wheel installs it."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import zipfile
from pathlib import Path

import manual
import pytest

from keisoku.faces.cli.main import GROUPS


def test_each_command_has_a_page_with_its_examples_and_options() -> None:
    found = manual.pages()
    names = [name for group in GROUPS.values() for name in group]
    assert {f"keisoku-{name}.1" for name in names} <= found.keys()
    page = found["keisoku-path-one-packet.1"]
    assert "keisoku\\-path\\-one\\-packet \\- Measures bandwidth" in page
    assert "keisoku path one\\-packet 192.0.2.7" in page
    assert "\\fB\\-\\-budget TIME\\fR" in page
    assert page.endswith("\\fBkeisoku\\-path\\fR(1)\n")
    assert all(f"keisoku\\-{name.replace('-', chr(92) + '-')}\\fR(1)" in found["keisoku.1"] for name in names)


def test_no_line_of_text_is_a_request() -> None:
    assert manual._escaped(".SH of a text") == "\\&.SH of a text"
    assert manual._escaped("C:\\x -v") == "C:\\ex \\-v"


def test_groff_takes_every_page_without_a_warning(tmp_path: Path) -> None:
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("no groff")
    manual.write(tmp_path)
    for page in sorted(tmp_path.iterdir()):
        done = subprocess.run(
            [groff, "-K", "utf8", "-man", "-ww", "-z", "-T", "utf8", page], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), page.name


def test_a_wheel_lists_its_pages_and_has_each_once(tmp_path: Path) -> None:
    wheel = tmp_path / "keisoku-0.1.0-cp311-abi3-any.whl"
    with zipfile.ZipFile(wheel, "w") as made:
        made.writestr("keisoku/__init__.py", "")
        made.writestr("keisoku-0.1.0.dist-info/RECORD", "keisoku/__init__.py,,\nkeisoku-0.1.0.dist-info/RECORD,,\n")
    for _ in range(2):
        manual.add_to_wheel(wheel)
    with zipfile.ZipFile(wheel) as made:
        names = made.namelist()
        own = "keisoku-0.1.0.data/data/share/man/man1/keisoku-throughput.1"
        listed = {
            line.split(",")[0]: line for line in made.read("keisoku-0.1.0.dist-info/RECORD").decode().splitlines()
        }
        digest = base64.urlsafe_b64encode(hashlib.sha256(made.read(own)).digest()).decode().rstrip("=")
        assert listed[own] == f"{own},sha256={digest},{len(made.read(own))}"
    assert sorted(names) == sorted(listed) and len(names) == len({*names})
    assert names[-1] == "keisoku-0.1.0.dist-info/RECORD"
