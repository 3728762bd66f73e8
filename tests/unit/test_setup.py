"""What a build cannot do without is said in one sentence with the command, before anything is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """The programs that the script may find: what its shell needs, and an apt-get that tells of itself."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "sed", "cut", "sort", "head", "dirname", "id"):
        found = shutil.which(name)
        assert found
        (folder / name).symlink_to(found)
    _program(folder, "python3", f'exec {sys.executable} "$@"')
    _program(folder, "apt-get", f"touch {tmp_path}/installed")
    _program(folder, "dpkg-query", "true")
    return folder


def _program(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def _built(programs: Path, at: Path) -> subprocess.CompletedProcess[str]:
    command, only = ["sh", "setup.sh", "build"], {"PATH": str(programs)}
    return subprocess.run(command, cwd=at, env=only, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("version", "said"), [("", "Rust 1.88 or newer is needed: apt"), ("1.65.0", "needed, and this is 1.65.0: apt")]
)
def test_compilers_were_installed_for_82_s_before_rust_was_missed(
    programs: Path, tmp_path: Path, version: str, said: str
) -> None:
    if version:
        _program(programs, "cargo", f"echo cargo {version}")
        _program(programs, "rustc", f"echo 'rustc {version} (abcdef 2022-10-31)'")
    ended = _built(programs, ROOT)
    assert ended.returncode == 1 and not ended.stderr
    (line,) = ended.stdout.splitlines()
    assert said in line and "rustup default stable" in line
    assert not (tmp_path / "installed").exists()


def test_rustup_without_a_tool_chain_installs_one(programs: Path, tmp_path: Path) -> None:
    """It ended in a back trace of Rust."""
    kept = tmp_path / "calls"
    _program(programs, "cargo", f"[ -e {kept} ] || exit 1; echo cargo 1.95.0")
    _program(programs, "rustc", f"[ -e {kept} ] || exit 1; echo rustc 1.95.0")
    _program(programs, "rustup", f'echo "$@" >> {kept}')
    script = (ROOT / "setup.sh").read_text().replace("\n    debian ", "\n    exit 0 # ", 1)
    (tmp_path / "setup.sh").write_text(script)
    shutil.copy(ROOT / "Cargo.toml", tmp_path)
    ended = _built(programs, tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "installing Rust's stable tool chain by rustup" in ended.stdout
    assert kept.read_text().splitlines() == [
        "toolchain install --profile minimal --no-self-update stable",
        "override set stable",
    ]


def test_what_a_package_index_shows_links_to_no_file_and_names_every_extra_that_users_have() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    text = (ROOT / project["readme"]).read_text()
    assert not re.findall(r"\]\((?!https?://)", text)
    own = set(project["optional-dependencies"]) - {"board", "cluster", "dev", "docs", "fpga", "gnmi", "release"}
    assert set(re.findall(r"^\| `(\w+)` \|", text, re.M)) == own


def test_a_release_of_a_fresh_clone_had_no_environment() -> None:
    """What installs into the environment makes it first: 'make release' ended with '.venv/bin/pip: not found'."""
    rules = re.findall(r"^([\w-]+):([^\n=]*)\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.M)
    installing = {name: before for name, before, recipe in rules if "./setup.sh" in recipe}
    assert len(installing) > 10
    assert [name for name, before in installing.items() if "$(BUILT)" not in before] == []


def test_a_release_looked_for_a_crate_that_had_another_name() -> None:
    """It ended with StopIteration: the crate 'keisoku' is called 'keisoku-core' (`packaging/release.py`)."""
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
    locked = {each["name"]: each["version"] for each in tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]}
    crates = [f"keisoku-{member}" for member in workspace["members"]]
    assert {locked.get(name) for name in crates} == {workspace["package"]["version"]}
