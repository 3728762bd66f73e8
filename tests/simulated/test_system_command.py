"""`keisoku system` on simulated systems: what is found, kept, computed again, continued, and refused in a sentence."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

import keisoku as ks
from keisoku.errors import KeisokuError
from keisoku.faces.cli.main import keisoku
from keisoku.ground.entry import Work
from keisoku.ground.run.directory import RunDirectory
from keisoku.running.measurement.carry_out import carry_out, resume
from keisoku.running.measurement.table import find
from keisoku.subjects.system.interval_log import kept_intervals
from keisoku.subjects.system.search.asking import again, evaluations
from keisoku.subjects.system.settings import GovernSettings, LimitSettings
from keisoku.subjects.system.simulated.virtual import VirtualSystem

E4 = ["--system", "sim:e4", "--objective", "sum_requests", "--floor", "100M"]


def command(*words):
    return CliRunner().invoke(keisoku, list(map(str, words)), catch_exceptions=False)


def run(*words):
    return command("system", *words)


def result(done):
    (found,) = json.loads(done.stdout)["results"]
    return found


def rows(found, group):
    return {row["case"]: row for row in found["rows"] if row["group"] == group}


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    out = tmp_path_factory.mktemp("system") / "run"
    found = run("limit", *E4, "--budget", 14, "--repetitions", 2, "--seed", 3, "--json", "--out", out)
    return out, result(found)


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
    assert result(command("analyse", out, "--json")) == found


def test_a_criterion_on_the_gain_decides_the_exit_code(searched, tmp_path):
    words = ["limit", *E4, "--budget", 14, "--repetitions", 2, "--seed", 3]
    done = run(*words, "--require", "gain_over_no_limit[advised] >= 5 %", "--out", tmp_path / "met")
    assert done.exit_code == 0 and "met     gain_over_no_limit[advised] >= 5 %" in done.stdout
    done = run(*words, "--require", "requests[no limit] > 1000000 requests/s", "--out", tmp_path / "missed")
    assert done.exit_code == 1 and "MISSED" in done.stdout
    # Made again from its rows, a run is judged again.
    assert command("analyse", tmp_path / "missed").exit_code == 1


def test_runs_on_systems_are_compared_reported_and_queried_like_any_other(tmp_path):
    for seed in (1, 2):
        words = ["--sweep", 3, "--repetitions", 2, "--seed", seed, "--out", tmp_path / str(seed)]
        assert run("limit", *E4, *words).exit_code == 0
    both = [tmp_path / "1", tmp_path / "2"]
    compared = json.loads(command("compare", both[1], "--against", both[0], "--margin", "20%", "--json").stdout)
    assert {one["figure"] for one in compared["figures"]} >= {"requests", "forwarded", "limit"}
    assert command("report", *both, "--out", tmp_path / "both.html").exit_code == 0
    assert "limit, Mb/s (no limit at the right end)" in (tmp_path / "both.html").read_text()
    counted = command("query", both[0], "SELECT count(DISTINCT interval) AS n FROM intervals WHERE used")
    assert counted.stdout.split()[-1] == "8"
    assert ks.load(both[0]).directory == both[0] and ks.load(both[0]).result("system limit").flagged("best-limits")


def interrupted(monkeypatch, kind, after, *asked):
    """Carries out a measurement that is interrupted before the observation number `after`."""
    observe, seen = VirtualSystem.observe, []

    def observed(self, seconds):
        seen.append(seconds)
        if len(seen) > after:
            raise KeyboardInterrupt
        return observe(self, seconds)

    with monkeypatch.context() as patched:
        patched.setattr(VirtualSystem, "observe", observed)
        return carry_out(Work(find(kind), *asked))


@pytest.mark.parametrize("after", [2, 30])
def test_an_interrupted_search_is_continued_with_what_it_kept(after, monkeypatch, tmp_path):
    settings = LimitSettings(
        system="sim:e4", objective="sum_requests", floor_bps=100e6, budget=14, repetitions=2, seed=3
    )
    with pytest.raises(KeisokuError, match=r"interrupted; what was measured is kept.*--resume"):
        interrupted(monkeypatch, "system limit", after, settings, tmp_path / "run")
    kept = kept_intervals(RunDirectory.open(tmp_path / "run"))
    assert len(kept) == after
    (found,) = resume(tmp_path / "run").results
    intervals = kept_intervals(RunDirectory.open(tmp_path / "run"))
    assert intervals[:after] == kept and found.flagged("limit")
    assert len(evaluations(intervals)) >= 14 and sum(one.purpose == "look" and one.used for one in intervals) == 3


def test_a_governor_without_a_duration_ends_when_it_is_interrupted(monkeypatch, tmp_path):
    settings = GovernSettings(system="sim:e4", objective="sum_requests", floor_bps=100e6)
    (found,) = interrupted(monkeypatch, "system govern", 20, settings, tmp_path / "run").results
    assert found.flagged("searching")


def test_interrupted_run_says_so_and_shows_what_it_has(searched, tmp_path):
    out, _ = searched
    before = RunDirectory.open(out)
    cut = RunDirectory.create(tmp_path / "cut", before.measurement, before.plan, before.context)
    cut.append("intervals", before.rows("intervals").slice(0, 50))
    found = result(command("analyse", cut.path, "--json"))
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
    found = result(run("limit", *E4, *words))
    limits = rows(found, "Limit")
    assert len(limits) == 18 and list(limits)[-1] == "no limit"
    assert all(row["figures"]["evaluations"]["value"] == 2 for row in limits.values())
    assert 300e6 < rows(found, "Answer")["best of the sweep"]["figures"]["limit"]["value"] < 600e6
    assert [flag["name"] for flag in found["flags"]] == ["best-limits"]


def test_governor_finds_and_holds_and_says_why(tmp_path):
    words = ["--duration", "90s", "--json", "--out", tmp_path / "governed"]
    done = run("govern", *E4, *words)
    found = result(done)
    assert "look: no limit: this system has not been observed yet" in done.stderr and "hold: " in done.stderr
    assert [flag["name"] for flag in found["flags"]] == ["held"]
    held = next(iter(rows(found, "Held from").values()))
    assert held["figures"]["requests"]["value"] > 58_000 and "Mb/s: it gains" in held["remark"]
    assert set(rows(found, "Client")) == {"fast", "slow1", "slow2", "slow3", "slow4"}
    states = rows(found, "State")
    assert sum(row["figures"]["believed_for"]["value"] for row in states.values()) == pytest.approx(90e9)
    assert result(command("analyse", tmp_path / "governed", "--json")) == found


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--system", "sim:e5"], "no simulated system 'e5'"),
        (["--client", "faster"], "no port leads to 'faster'"),
        (["--objective", "luck"], "--objective: .*luck"),
        (["--weight", "fast"], "'fast' has no value"),
        (["--weight", "faster=2"], "no port leads to 'faster'"),
        (["--weight", "fast=much"], "'much' is no number"),
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
    code = "import sys, keisoku.faces.cli.main; print('keisoku.subjects.system.search.search' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"
