"""A bisection of XDP sources on the example's data plane: the commit that makes frames cost more is named."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.command_line import keisoku

pytestmark = [
    pytest.mark.lab,
    pytest.mark.alone,
    pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang and libbpf's headers"),
]
EXAMPLE = Path(__file__).parents[2] / "examples" / "ci"
STEPS = (200, 200, 200, 300, 300)
"""Of the loop of each commit; so many more are a third of the cost."""


def git(folder: Path, *words: str) -> str:
    names = ["-c", "user.name=keisoku", "-c", "user.email=keisoku@localhost"]
    return subprocess.run(["git", "-C", folder, *names, *words], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def slower(tmp_path: Path) -> Iterator[str]:
    """The slower commit of a repository in the test's folder, beside the data plane's ports."""
    source = (EXAMPLE / "dataplane" / "forward.c").read_text()
    git(tmp_path, "init", "--quiet")
    made = []
    for number, steps in enumerate(STEPS):
        text = source.replace("#define WORK 0", f"#define WORK {steps}")
        (tmp_path / "forward.c").write_text(f"/* Version {number}. */\n{text}")
        git(tmp_path, "add", "forward.c")
        git(tmp_path, "commit", "--quiet", "--message", f"change {number}")
        made.append(git(tmp_path, "rev-parse", "HEAD").strip())
    subprocess.run([EXAMPLE / "dataplane.sh", "up"], check=True)
    try:
        yield made[STEPS.index(300)]
    finally:
        subprocess.run([EXAMPLE / "dataplane.sh", "down"], check=True)


def test_the_commit_that_costs_more_is_named(slower: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    script = EXAMPLE / "dataplane.sh"
    command = ["bisect", "HEAD~4", "HEAD", "--tx", "xdp:kci0", "--rx", "xdp:kci1", "--size", "64", "--out", "run"]
    command += ["--build", f"{script} build forward.c $KEISOKU_BUILD/forward.o"]
    command += ["--load", f"{script} load $KEISOKU_BUILD/forward.o", "--within", "1min"]
    done = keisoku(*command, cwd=tmp_path, timeout_s=240)
    said = " ".join(done.stdout.split())
    if done.code == 2:  # the host was too restless to decide
        assert "undecided after " in said or "nothing was measured: " in said, done.stdout + done.stderr
    else:
        assert done.code == 0 and "which is worse" in said, done.stdout + done.stderr
        named = said.partition(" made CPU time a frame ")[0]
        if "is skipped" in done.stderr:  # a restless host never left it, or one beside it, alone
            assert slower[:12] in named, said
        else:
            assert named == f"{slower[:12]} (change 3)"
    assert list(tmp_path.glob("keisoku-bisect-*")) == []
