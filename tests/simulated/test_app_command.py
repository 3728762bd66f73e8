"""`keisoku app` on simulated systems: what is found, kept, computed again, and refused in a sentence."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner
from keisoku.system.search.run import again

from keisoku.cli.main import keisoku
from keisoku.errors import KeisokuError
from keisoku.run.directory import RunDirectory
from keisoku.system.interval_log import kept_intervals
from keisoku.system.settings import LimitSettings

E4 = ["--system", "sim:e4", "--objective", "sum_requests", "--floor", "100M"]


def run(*words):
    return CliRunner().invoke(keisoku, ["app", *map(str, words)], catch_exceptions=False)


def rows(observation, group):
    return {row["name"]: row for row in observation["rows"] if row["group"] == group}


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    out = tmp_path_factory.mktemp("app") / "run"
    found = run("limit", *E4, "--budget", 14, "--blocks", 2, "--seed", 3, "--json", "--out", out)
    return out, json.loads(found.stdout)


def test_limit_of_e4_is_found_confirmed_and_shown(searched):
    out, found = searched
    assert [flag["name"] for flag in found["flags"]] == ["limit"]
    advised = rows(found, "Answer")["advised"]["figures"]
    assert advised["limit"]["value"] == pytest.approx(420e6, rel=0.07)
    assert 5 < advised["gain_over_no_limit"]["value"] < 15
    limits = rows(found, "Limit")
    assert "no limit" in limits and limits["no limit"]["figures"]["evaluations"]["value"] >= 5
    page = (out / "report.html").read_text()
    assert "limit, Mb/s (no limit at the right end)" in page and "believed" in page


def test_analysis_again_gives_the_same(searched):
    out, found = searched
    assert json.loads(run("analyse", out, "--json").stdout) == found


def test_interrupted_run_says_so_and_shows_what_it_has(searched, tmp_path):
    out, _ = searched
    before = RunDirectory.open(out)
    cut = RunDirectory.create(tmp_path / "cut", before.kind, before.settings, before.context)
    cut.append("intervals", before.rows("intervals").slice(0, 50))
    found = json.loads(run("analyse", cut.path, "--json").stdout)
    assert [flag["name"] for flag in found["flags"]] == ["interrupted"]
    assert rows(found, "Limit") and not rows(found, "Answer")


def test_run_of_other_settings_is_not_taken_for_this_one(searched):
    out, _ = searched
    directory = RunDirectory.open(out)
    other = LimitSettings.model_validate(directory.plan | {"seed": 4})
    with pytest.raises(KeisokuError, match="would have asked"):
        again(other, kept_intervals(directory))


def test_sweep_shows_the_curve_and_names_the_limits_that_are_alike(tmp_path):
    words = ["--sweep", 17, "--repetitions", 2, "--settle", "500ms", "--json", "--out", tmp_path / "sweep"]
    found = json.loads(run("limit", *E4, *words).stdout)
    limits = rows(found, "Limit")
    assert len(limits) == 18 and list(limits)[-1] == "no limit"
    assert all(row["figures"]["evaluations"]["value"] == 2 for row in limits.values())
    assert 300e6 < rows(found, "Answer")["best of the sweep"]["figures"]["limit"]["value"] < 600e6
    assert [flag["name"] for flag in found["flags"]] == ["best-limits"]


def test_governor_finds_and_holds_and_says_why(tmp_path):
    words = ["--for", "90s", "--json", "--out", tmp_path / "governed"]
    done = run("govern", *E4, *words)
    found = json.loads(done.stdout)
    assert "look: no limit: nothing is known" in done.stderr and "hold: " in done.stderr
    assert [flag["name"] for flag in found["flags"]] == ["held"]
    held = next(iter(rows(found, "Held from").values()))
    assert held["figures"]["requests"]["value"] > 58_000 and "Mb/s: it gains" in held["remark"]
    assert set(rows(found, "Client")) == {"fast", "slow1", "slow2", "slow3", "slow4"}
    states = rows(found, "State")
    assert sum(row["figures"]["believed_for"]["value"] for row in states.values()) == pytest.approx(90e9)
    assert json.loads(run("analyse", tmp_path / "governed", "--json").stdout) == found


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--system", "sim:e5"], "no simulated system 'e5'"),
        (["--port", "faster"], "no port leads to 'faster'"),
        (["--objective", "luck"], "--objective: 'luck'"),
        (["--weight", "fast"], "names no client"),
        (["--weight", "fast=much"], "not a number"),
        (["--weight", "fast=-1"], "a weight is negative"),
        (["--keep", "fast=soon"], "--keep"),
        (["--floor", "20G"], "not between zero and line rate"),
        (["--budget", "2"], "--budget"),
        (["--interval", "2 days"], "--interval"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_set(words, problem, tmp_path):
    given = ["limit", *E4, *words, "--out", tmp_path / "run"]
    with pytest.raises(KeisokuError, match=problem):
        run(*given)
    assert not (tmp_path / "run").exists()


def test_other_commands_do_not_load_what_searches():
    code = "import sys, keisoku.cli.main; print('keisoku.system.search.search' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"
