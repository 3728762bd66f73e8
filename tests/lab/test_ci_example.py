"""The CI example from a commit to its annotations: it finds a slower data plane, and calls an equal one not slower."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from keisoku.ground.host.namespace import FOLDER

pytestmark = [
    pytest.mark.lab,
    pytest.mark.alone,
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang and libbpf's headers"),
]
EXAMPLE = Path(__file__).parents[2] / "examples" / "ci"
SOURCE = "forward.c"


def git(folder: Path, *words: str) -> str:
    names = ["-c", "user.name=keisoku", "-c", "user.email=keisoku@localhost"]
    return subprocess.run(["git", "-C", folder, *names, *words], capture_output=True, text=True, check=True).stdout


def commit(folder: Path, source: str) -> str:
    (folder / SOURCE).write_text(source)
    git(folder, "add", SOURCE)
    git(folder, "commit", "--quiet", "--message", "change")
    return git(folder, "rev-parse", "HEAD").strip()


def judged(folder: Path, old: str, new: str, margin: str) -> tuple[int, str, ElementTree.Element, str]:
    """Exit code and annotations, the test report, and the summary of the script that the workflow calls."""
    environment = dict(os.environ, DATAPLANE=SOURCE, KEISOKU=f"{sys.executable} -m keisoku")
    command = [str(EXAMPLE / "measure.sh"), old, new, "--pairs", "16", "--margin", margin]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    results = folder / "ci-results"
    assert (results / "ab" / "report.html").exists(), done.stdout + done.stderr
    report = ElementTree.parse(results / "junit.xml").getroot()
    return done.returncode, (results / "annotations.txt").read_text(), report, (results / "summary.md").read_text()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet")
    return tmp_path


@pytest.mark.parametrize("slower", [True, False], ids=["slower", "equal"])
def test_a_commit_is_judged_as_it_is(repository: Path, slower: bool) -> None:
    """The slower one makes a thousand steps more a frame; the equal one changes a comment."""
    source = (EXAMPLE / "dataplane" / SOURCE).read_text()
    old = commit(repository, source)
    new = commit(repository, source.replace("#define WORK 0", "#define WORK 1000") if slower else f"/* A. */\n{source}")
    code, annotations, report, summary = judged(repository, old, new, "25%")
    failed = list(report.iter("failure"))
    if slower:
        assert code == 1, summary
        assert "::error" in annotations and "worse" in annotations
        assert failed and "higher" in summary
    else:
        assert code in (0, 2), summary  # 2: the host was too restless to decide
        assert code == 2 or (not failed and "::error" not in annotations)
    assert not (FOLDER / "keisoku-ci").exists() and not Path("/sys/class/net/kci0").exists()
