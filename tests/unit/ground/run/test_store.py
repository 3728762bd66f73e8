"""The store of runs: every version of the run directory is read, and a damaged one is a sentence, never a crash."""

from __future__ import annotations

import json
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from click.testing import CliRunner

from keisoku.errors import KeisokuError
from keisoku.faces.cli.main import keisoku
from keisoku.faces.service.web import listing
from keisoku.ground.run.directory import FORMAT, RunDirectory
from keisoku.ground.run.store import MAY_RUN, Prune, listed, prunable, raw_rows, stored_run
from keisoku.running.measurement.carry_out import findings_of, load
from keisoku.running.measurement.query import query

VERSIONS = Path(__file__).parents[2] / "runs"
"""A small run of each version of the run directory, as the version that wrote it left it."""
LATER = datetime(2100, 1, 1, tzinfo=UTC)
CUT = 1000


def command(*words: str | Path) -> str:
    done = CliRunner().invoke(keisoku, [*map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def copied(path: Path, started_at: str = "2026-01-14T10:15:00+00:00", device: str = "a switch") -> Path:
    """The kept run of the present version, as another one."""
    shutil.copytree(VERSIONS / f"format-{FORMAT}", path)
    context = json.loads((path / "context.json").read_text())
    (path / "context.json").write_text(json.dumps({**context, "started_at": started_at, "device": device}))
    return path


def with_rows(path: Path) -> Path:
    """The same, with raw rows in Parquet."""
    directory = RunDirectory.open(copied(path))
    for number in range(3):
        directory.append("readings", pa.table({"apart_ns": [number] * 1000}))
    return path


def test_a_run_of_each_version_is_kept() -> None:
    assert sorted(path.name for path in VERSIONS.iterdir()) == [f"format-{number}" for number in range(1, FORMAT + 1)]


@pytest.mark.parametrize("path", sorted(VERSIONS.iterdir()), ids=lambda path: path.name)
def test_a_run_of_each_version_says_what_it_said(path: Path) -> None:
    run = stored_run(path)
    assert (run.state, run.measurement, run.device) == ("finished", "device", "simulated CentreCOM GS908E")
    assert [*run.sentences] == ["Mean: 64 byte: 1.3230000 ± 0.0000006 µs."]
    (old,), (new,) = load(path).results, findings_of(RunDirectory.open(path)).results
    for was, now in zip(old.rows, new.rows, strict=True):
        assert {name: figure.value for name, figure in was.figures.items()} == pytest.approx(
            {name: figure.value for name, figure in now.figures.items() if name in was.figures}
        )
    assert query(path, "select count(*) from trials where valid").rows == [(3,)]


def test_a_thousand_runs_that_were_cut_off_are_listed_and_shown(tmp_path: Path) -> None:
    whole = with_rows(tmp_path / "whole")
    folder = tmp_path / "runs"
    files = sorted(path.relative_to(whole) for path in whole.rglob("*") if path.is_file())
    chance = Random(21)
    cuts = {}
    for number in range(CUT):
        name = chance.choice(files)
        path = folder / f"{number:04d}"
        shutil.copytree(whole, path, copy_function=os.link)  # links, of which the file that is cut becomes its own
        content = (whole / name).read_bytes()
        (path / name).unlink()
        (path / name).write_bytes(content[: chance.randrange(len(content))])
        cuts[path.name] = name
    runs = listed(folder)
    assert len(runs) == CUT
    for run in runs:
        cut = cuts[run.name]
        assert "\n" not in run.problem and (run.problem == "") == (run.state != "damaged")
        if cut.name == "context.json":
            assert run.state == "damaged"
        elif cut.name == "result.json":
            # Only the last end of line may be missing without harm.
            assert run.state == "damaged" or json.loads((run.path / cut).read_text())
        elif cut.name != "plan.toml":
            assert run.state == "finished"
        if run.measurement:
            damaged = [name for rows in raw_rows(run.path) for name in rows.damaged]
            assert damaged == ([cut.name] if cut.suffix == ".parquet" else [])
    assert sum(run.state == "damaged" for run in runs) > CUT / 5
    assert command("runs", "list", folder).count("\n") == CUT + 1
    for run in runs[::10]:
        shown = CliRunner().invoke(keisoku, ["runs", "show", str(run.path)])
        assert shown.exit_code == 0 or isinstance(shown.exception, KeisokuError), shown.exception
        try:
            query(run.path, "select count(*) from trials")
        except KeisokuError as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize("content", ["[]", "5", "null", '"text"', "{}", "[[[[" * 10_000])
@pytest.mark.parametrize("name", ["context.json", "result.json"])
def test_json_that_is_none_of_ours_is_a_sentence(tmp_path: Path, name: str, content: str) -> None:
    run = copied(tmp_path / "run")
    (run / name).write_text(content)
    (found,) = listed(tmp_path)
    assert found.state == "damaged" or content in ("{}", "[]")


def test_the_command_and_the_page_list_the_same(tmp_path: Path) -> None:
    copied(tmp_path / "older", "2026-01-14T10:15:00+00:00")
    copied(tmp_path / "newer", "2026-02-01T00:00:00+00:00")
    (copied(tmp_path / "open", "2026-01-20T00:00:00+00:00") / "result.json").unlink()
    (copied(tmp_path / "broken") / "context.json").write_text("{")
    (tmp_path / "no run").mkdir()
    lines = command("runs", "list", tmp_path).splitlines()
    assert [line.split()[0] for line in lines] == ["run", "newer", "open", "older", "broken"]
    assert "holds no run" in lines[-1]
    plain = json.loads(command("runs", "list", tmp_path, "--json"))
    page = listing.listed(tmp_path, [])
    assert [(run.name, run.state) for run in page] == [(Path(run["run"]).name, run["state"]) for run in plain]
    assert page[0].sentences == plain[0]["sentences"] and page[-1].sentences == [plain[-1]["problem"]]


def test_a_changed_run_is_read_again(tmp_path: Path) -> None:
    run = copied(tmp_path / "run")
    assert stored_run(run).state == "finished"
    (run / "result.json").unlink()
    assert stored_run(run).state == "unfinished"


def test_show_says_what_a_run_holds(tmp_path: Path) -> None:
    run = with_rows(tmp_path / "run")
    (run / "readings" / "00000001.parquet").write_bytes(b"PAR1")
    said = command("runs", "show", run)
    for words in ("a switch", "finished", "trials.jsonl", "readings", "2000", "damaged: 00000001.parquet"):
        assert words in said


def test_prune_removes_what_its_rules_name_and_nothing_else(tmp_path: Path) -> None:
    for day in range(1, 6):
        copied(tmp_path / f"a{day}", f"2026-01-0{day}T00:00:00+00:00")
    copied(tmp_path / "b1", "2026-01-01T00:00:00+00:00", "another switch")
    (copied(tmp_path / "open") / "result.json").unlink()
    (tmp_path / "notes").mkdir()
    said = command("runs", "prune", tmp_path, "--keep", "2", "--state", "unfinished")
    assert "3 runs" in said and "--yes" in said and len(listed(tmp_path)) == 7, "nothing is removed without --yes"
    said = command("runs", "prune", tmp_path, "--keep", "2", "--state", "unfinished", "--yes")
    assert "removed 3 runs" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a4", "a5", "b1", "notes", "open"]


def test_an_unfinished_run_that_may_still_be_measured_is_kept(tmp_path: Path) -> None:
    (copied(tmp_path / "open") / "result.json").unlink()
    runs, rules, now = listed(tmp_path), Prune(states=("unfinished",)), datetime.now(UTC)
    assert prunable(runs, rules, now) == []
    assert prunable(runs, rules, now + MAY_RUN + timedelta(minutes=1)) == runs
    assert prunable(runs, Prune(older=timedelta(days=1)), LATER) == runs


def test_prune_wants_a_rule(tmp_path: Path) -> None:
    done = CliRunner().invoke(keisoku, ["runs", "prune", str(tmp_path)])
    assert isinstance(done.exception, KeisokuError) and "no rule" in str(done.exception)
