"""A bisection of real commits on a simulated device: what is found, kept, skipped, continued and refused."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.command_line import keisoku, outcome_of, start

import keisoku as ks
from keisoku.errors import EngineError, KeisokuError, PlanError

Latencies = Sequence[int | None]
"""Of each commit's device in ns; None: a commit that cannot be built."""
QUICK = {"frame_bytes": 64, "rate_fps": 1000, "trial_s": 0.01, "repetitions": 1}
BUILD = "test -e device.toml && echo $KEISOKU_COMMIT >> ../../built && cp device.toml $KEISOKU_BUILD"
LOAD = "cp $KEISOKU_BUILD/device.toml now.toml"


def git(folder: Path, *words: str) -> str:
    names = ["-c", "user.name=keisoku", "-c", "user.email=keisoku@localhost"]
    return subprocess.run(["git", "-C", folder, *names, *words], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where everything of a test is, the cache of builds and the checkout too."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    (tmp_path / "repository").mkdir()
    git(tmp_path / "repository", "init", "--quiet")
    return tmp_path


def history(folder: Path, latencies: Latencies) -> list[str]:
    """The commits of a repository there, from the first one."""
    repository, made = folder / "repository", []
    device = repository / "device.toml"
    for number, latency_ns in enumerate(latencies):
        device.unlink(missing_ok=True)
        if latency_ns is not None:
            device.write_text(f'name = "n{number}"\n[forwarding]\nconstant_ns = {latency_ns}.0\n')
        (repository / "NOTES").write_text(f"{number}")
        git(repository, "add", "--all")
        git(repository, "commit", "--quiet", "--message", f"change {number}")
        made.append(git(repository, "rev-parse", "HEAD").strip())
    return made


def bisected(at: Path, commits: Sequence[str], **settings: Any) -> Any:
    given: dict[str, Any] = {"dut": f"sim:{at}/repository/now.toml", "build": BUILD, "load": LOAD, **QUICK}
    given |= {"folder": at / "repository", "good": commits[0], "bad": commits[-1], "out": at / "run"}
    return ks.bisect("latency", **given | settings)


def test_the_commit_is_found_and_the_repository_is_left_as_it_was(folder: Path) -> None:
    commits = history(folder, [3000] * 11 + [3300] * 6)
    (folder / "repository" / "NOTES").write_text("not committed")
    before = git(folder / "repository", "for-each-ref") + git(folder / "repository", "worktree", "list")
    found = bisected(folder, commits)
    said = found.results[0].sentence
    assert said.startswith(f"{commits[11][:12]} (change 11) made mean ") and "which is worse" in said
    answer, *rows = found.results[0].rows
    assert answer.case == "one change" and answer.figures["probability"].value >= 95
    assert [row.case for row in rows if row.remark == "the change"] == [f"{commits[11][:12]} (change 11)"]
    assert found.figure("change", case="one change").value == pytest.approx(8.5, abs=0.5)
    assert git(folder / "repository", "for-each-ref") + git(folder / "repository", "worktree", "list") == before
    assert (folder / "repository" / "NOTES").read_text() == "not committed"
    assert list(folder.glob("keisoku-bisect-*")) == []
    assert ks.load(folder / "run").results == found.results
    for line in ("analyse run", "report run", "query run"):
        sql = ["select count(*) from pairs"] if line.startswith("query") else []
        assert keisoku(*line.split(), *sql, cwd=folder).code == 0


def test_builds_are_kept_for_the_next_bisection(folder: Path) -> None:
    commits = history(folder, [3000] * 3 + [3300] * 2)
    noted = f"echo built >> {folder}/built && {BUILD.replace('../../built', '/dev/null')}"
    first = bisected(folder, commits, build=noted)
    builds = len((folder / "built").read_text().splitlines())
    assert 2 < builds <= len(commits)
    second = bisected(folder, commits, build=noted, out=folder / "second")
    assert len((folder / "built").read_text().splitlines()) == builds
    assert second.results[0].sentence == first.results[0].sentence


def test_no_change_and_a_faster_commit_are_said(folder: Path) -> None:
    commits = history(folder, [3000] * 5 + [2500] * 2)
    none = bisected(folder, commits[:5], out=folder / "none")
    assert none.results[0].sentence.startswith("none of these commits: mean of BAD is between")
    assert none.results[0].rows[0].case == "no change" and not none.outcome.failure
    faster = bisected(folder, commits)
    assert "% lower" in faster.results[0].sentence and "which is better" in faster.results[0].sentence


def test_two_changes_are_said(folder: Path) -> None:
    commits = history(folder, [3000] * 4 + [3300] * 5 + [3600] * 3)
    found = bisected(folder, commits)
    assert found.results[0].rows[0].case == "more than one change"
    assert found.results[0].sentence.startswith("more than one change of mean: in ")


def test_a_commit_that_cannot_be_built_is_skipped_and_said(folder: Path) -> None:
    commits = history(folder, [3000] * 4 + [None, None] + [3300] * 4)
    found = bisected(folder, commits)
    (result,) = found.results
    said = f"one of 3 commits from {commits[4][:12]} to {commits[6][:12]} made mean"
    assert result.sentence.startswith(said), result.sentence
    skipped = [remark for remark in result.remarks if "is skipped: it cannot be built (exit code 1" in remark]
    assert len(skipped) == 2 and skipped[0].startswith(f"{commits[4][:12]} (change 4)")


def test_it_goes_on_where_it_was_interrupted(folder: Path) -> None:
    commits = history(folder, [3000] * 9 + [3300] * 4)
    whole = bisected(folder, commits, out=folder / "whole")
    git(folder / "repository", "branch", "moving", commits[-1])
    stops = f"test ! -e {folder}/run/pair-005 -o -e {folder}/again || kill -INT $PPID; {LOAD}"
    with pytest.raises(KeisokuError, match="--resume"):
        bisected(folder, commits, bad="moving", load=stops)
    kept = (folder / "run" / "runs.jsonl").read_bytes()
    git(folder / "repository", "branch", "--force", "moving", commits[3])
    (folder / "again").touch()
    done = ks.resume(folder / "run")
    assert (folder / "run" / "runs.jsonl").read_bytes().startswith(kept)
    assert done.results[0].sentence == whole.results[0].sentence


def test_the_checkout_of_a_killed_bisection_is_removed_by_the_next(folder: Path) -> None:
    commits = history(folder, [3000, 3000, 3300])
    line = ["bisect", commits[0], commits[-1], "trial", "--dut", "sim:gs908e", "--load", "true"]
    killed = outcome_of(start(*line, "--build", "kill -9 $PPID", cwd=folder / "repository"))
    assert killed.code == -9 and len(list(folder.glob("keisoku-bisect-*"))) == 1
    bisected(folder, commits)
    assert list(folder.glob("keisoku-bisect-*")) == []


def test_a_budget_that_is_too_small_is_undecided(folder: Path) -> None:
    commits = history(folder, [3000] * 20 + [3300] * 20)
    found = bisected(folder, commits, pairs=4)
    assert found.outcome.failure.startswith("undecided after 4 pairs: the change is most probably in one of ")


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"good": "v9"}, PlanError, "GOOD: there is no commit 'v9'; give a branch"),
        ({"good": "--all"}, PlanError, "GOOD: there is no commit '--all'"),
        ({"bad": 0}, PlanError, "BAD: it is the same commit as GOOD"),
        ({"good": 2, "bad": 0}, PlanError, "is no ancestor of .*; give the older one first"),
        (
            {"build": "exit 3"},
            EngineError,
            "--build: .* \\(change 0\\) cannot be built: exit code 3: it printed nothing",
        ),
        ({"load": "echo no >&2; exit 4"}, EngineError, "--load: .* ended with exit code 4: no"),
        ({"figure": "throughput"}, None, "nothing was measured: no run has any of the figures throughput"),
        ({"frame_bytes": (64, 128)}, PlanError, "it follows one figure, and a run has 2; give one frame size"),
        ({"folder": Path("/")}, PlanError, "/ is in no git repository"),
    ],
)
def test_what_cannot_be_bisected_is_said(
    folder: Path, change: dict[str, Any], error: type[KeisokuError] | None, said: str
) -> None:
    commits = history(folder, [3000, 3000, 3300])
    given = {key: commits[value] if isinstance(value, int) else value for key, value in change.items()}
    if error is None:
        assert bisected(folder, commits, **given).outcome.failure.startswith(said)
        return
    with pytest.raises(error, match=said):
        bisected(folder, commits, **given)


def test_commits_of_two_lines_of_history_are_refused(folder: Path) -> None:
    commits = history(folder, [3000, 3000])
    git(folder / "repository", "checkout", "--quiet", "--detach", commits[0])
    (other,) = history(folder, [3300])
    with pytest.raises(PlanError, match="give commits of one line of history"):
        bisected(folder, [commits[1], other])


def test_of_a_merge_only_the_first_parent_is_followed(folder: Path) -> None:
    commits = history(folder, [3000] * 3)
    repository = folder / "repository"
    git(repository, "checkout", "--quiet", "-b", "side", commits[0])
    (repository / "device.toml").write_text('name = "side"\n[forwarding]\nconstant_ns = 3300.0\n')
    git(repository, "commit", "--quiet", "--all", "--message", "on the side")
    git(repository, "checkout", "--quiet", "--detach", commits[-1])
    git(repository, "merge", "--quiet", "--strategy-option", "theirs", "--no-edit", "side")
    merge = git(repository, "rev-parse", "HEAD").strip()
    found = bisected(folder, [commits[0], merge])
    assert found.results[0].sentence.startswith(merge[:12])
    assert found.results[0].title == "3 commits: latency"


def test_the_command_measures_cost_if_nothing_is_named(folder: Path) -> None:
    history(folder, [3000, 3000, 3300])
    words = ["bisect", "HEAD~2", "HEAD", "--dut", "sim:gs908e", "--build", "true", "--load", "true"]
    done = keisoku(*words, cwd=folder / "repository")
    assert done.code == 2 and "cost" in done.stderr, done.stderr
    refused = keisoku("bisect", "HEAD~2", "HEAD", "report", "--build", "true", "--load", "true", cwd=folder)
    assert refused.code == 2 and "'report' is no command that measures" in refused.stderr
    assert sorted(each.name for each in (folder / "repository").iterdir()) == [".git", "NOTES", "device.toml"]
