"""Run directories with a damaged file: every whole trial is kept, what cannot be read is named, nothing crashes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from support.command_line import keisoku
from support.malformed import damaged

from keisoku.errors import KeisokuError, PlanError
from keisoku.ground.run.directory import RunDirectory
from keisoku.running.measurement.carry_out import analyse, load, resume
from keisoku.subjects.device.record.trial_log import TrialLog

KINDS = {
    "device": "latency --dut sim:gs908e --size 64,1518 --duration 5ms --repetitions 3",
    "clock": "clock stability --duration 1s --every 10ms --clock realtime --reference raw",
    "system": "system limit --system sim:e4 --objective sum_requests --sweep 3 --repetitions 1 --floor 100M",
}
"""One for each form of raw rows: lines of JSON, and parts of a table of two kinds."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for name, command in KINDS.items():
        done = keisoku(*command.split(), "--out", name, cwd=folder)
        assert done.code == 0, done.stderr
    return folder


def read_every_way(path: Path) -> list[str]:
    """The sentences of what could not be read. Any other exception than ours is the failure that is looked for."""
    said = []
    for way in (load, lambda path: analyse(RunDirectory.open(path))):
        try:
            way(path)
        except KeisokuError as error:
            said.append(str(error))
    assert all(sentence and "\n" not in sentence for sentence in said)
    return said


@pytest.mark.parametrize("kind", KINDS)
def test_any_file_may_be_damaged(runs: Path, tmp_path: Path, kind: str, cases: Callable[[int, int], range]) -> None:
    files = sorted(str(path.relative_to(runs / kind)) for path in (runs / kind).rglob("*") if path.is_file())
    raw = [name for name in files if name.startswith(("trials", "plan", "context", "facts", "result")) or "/" in name]
    for seed in cases(20, 334):
        chance = Random(f"{kind} {seed}")
        copy = tmp_path / str(seed)
        shutil.copytree(runs / kind, copy)
        name = chance.choice(raw)
        if chance.random() < 0.1:
            (copy / name).unlink()
        else:
            (copy / name).write_bytes(damaged((copy / name).read_bytes(), chance))
        try:
            read_every_way(copy)
        except BaseException as error:
            raise AssertionError(f"{kind}, seed {seed}, {name}") from error
        shutil.rmtree(copy)


def test_every_whole_trial_of_a_log_that_was_cut_is_kept_and_the_run_goes_on(
    runs: Path, tmp_path: Path, cases: Callable[[int, int], range]
) -> None:
    whole = (runs / "device" / "trials.jsonl").read_bytes()
    result = (runs / "device" / "result.json").read_text()
    for seed in cases(5, 100):
        copy = tmp_path / str(seed)
        shutil.copytree(runs / "device", copy)
        kept = whole[: Random(seed).randrange(len(whole))]
        (copy / "trials.jsonl").write_bytes(kept)
        for name in ("result.json", "report.html"):
            (copy / name).unlink()
        records = TrialLog(RunDirectory.open(copy)).records()
        assert [record.model_dump_json().encode() for record in records] == whole.split(b"\n")[: kept.count(b"\n")]
        assert resume(copy).directory.path == copy
        assert (copy / "trials.jsonl").read_bytes().count(b"\n") == whole.count(b"\n")
        assert (copy / "result.json").read_text() == result, f"seed {seed}"
        shutil.rmtree(copy)


def test_a_part_that_is_damaged_is_named_and_the_others_are_read_without_it(tmp_path: Path) -> None:
    directory = RunDirectory.create(tmp_path / "run", "clock tick", {}, {})
    parts = [directory.append("readings", pa.table({"apart_ns": [number] * 100})) for number in range(3)]
    parts[1].write_bytes(parts[1].read_bytes()[:-9])
    with pytest.raises(PlanError, match=f"{parts[1].name} is damaged; remove that file"):
        directory.rows("readings")
    parts[1].unlink()
    assert directory.rows("readings")["apart_ns"].to_pylist() == [0] * 100 + [2] * 100
