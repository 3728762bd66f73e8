"""Campaigns on a Dask cluster in namespaces: whatever happens to a worker, each run is taken once, figures equal."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.command_line import keisoku
from support.dask_cluster import DaskCluster, certificates

pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
pytestmark = pytest.mark.lab
DEVICES = ("gs908e", "catalyst2960g", "ax3630s")
RESOURCES = [f"{device}-in=1 {device}-out=1" for device in DEVICES]
PLAN = """repetitions = {repetitions}
[measurements.loss]
methods = ["loss"]
frame_bytes = [64, 512]
[measurements.loss.loss]
trial_s = {trial_s}
"""
DEVICE = """[devices.{name}]
dut = "sim:{name}"
resources = ["{name}-in", "{name}-out"]
"""


def write_plan(folder: Path, trial_s: float, repetitions: int = 2) -> None:
    plan = PLAN.format(trial_s=trial_s, repetitions=repetitions)
    (folder / "plan.toml").write_text(plan + "".join(DEVICE.format(name=name) for name in DEVICES))


def attempts(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "runs.jsonl").read_text().splitlines()]


class Campaign:
    """`keisoku campaign` on a cluster, whose progress is read while it comes."""

    def __init__(self, cluster: DaskCluster) -> None:
        words = ("campaign", "plan.toml", "--cluster", cluster.address, "--out", "run")
        self.child: subprocess.Popen[str] = cluster.keisoku(*words)
        self.said: list[str] = []
        self._watched = threading.Condition()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def until(self, beginning: str) -> None:
        """Waits for a line of progress."""
        with self._watched:
            seen = self._watched.wait_for(lambda: any(line.startswith(beginning) for line in self.said), 200)
        assert seen, self.said

    def end(self) -> int:
        assert self.child.stdout
        with self.child.stdout:
            self.child.stdout.read()
        self._reader.join()
        return self.child.wait()

    def _read(self) -> None:
        assert self.child.stderr
        with self.child.stderr:
            for line in self.child.stderr:
                with self._watched:
                    self.said.append(line)
                    self._watched.notify_all()


def assert_all_once(folder: Path, repetitions: int = 2) -> None:
    """Every run is finished once, where its device is, and the whole is that of a single process, bit for bit."""
    finished = [line for line in attempts(folder / "run") if not line["failed"]]
    names = [f"{device}.loss.{number:03d}" for device in DEVICES for number in range(1, repetitions + 1)]
    assert Counter(line["run"] for line in finished) == Counter(names)
    assert keisoku("campaign", "plan.toml", "--out", "alone", cwd=folder).code == 0
    for name in names:
        for file in ("plan.toml", "result.json"):
            assert (folder / "run" / name / file).read_bytes() == (folder / "alone" / name / file).read_bytes()
    merged, alone = (json.loads((folder / run / "result.json").read_text()) for run in ("run", "alone"))
    assert merged[0] == alone[0]  # what was measured; behind it is the account of the attempts
    assert not list((folder / "run").glob("*.partial"))


def test_a_worker_that_is_killed_loses_and_doubles_nothing_and_tls_tells_nobody(tmp_path: Path) -> None:
    write_plan(tmp_path, 1.0)
    with DaskCluster(tmp_path, RESOURCES, certificates(tmp_path / "tls")) as cluster:
        strange = ("campaign", "plan.toml", "--cluster", cluster.address, "--out", "stranger")
        stranger = cluster.keisoku(*strange, environment=certificates(tmp_path / "another"))
        _, refused = stranger.communicate()
        assert stranger.returncode == 2 and "name certificates that both ends trust" in refused, refused
        assert "Traceback" not in refused
        campaign = Campaign(cluster)
        campaign.until("gs908e.loss: 0 of 2 runs finished")
        cluster.kill(0)
        assert campaign.end() == 0, campaign.said
        logs = cluster.logs()
    failed = [line for line in attempts(tmp_path / "run") if line["failed"]]
    assert [line["run"] for line in failed] == ["gs908e.loss.001"]
    assert "died or was cut off" in failed[0]["failed"]
    assert "trial_s" not in logs  # no plan is in the logs of Dask
    records = "".join(
        path.read_text() for path in (tmp_path / "run").rglob("*") if path.suffix in (".toml", ".jsonl", ".json")
    )
    for file in (tmp_path / "tls").iterdir():
        assert not any(each in text for each in (file.name, file.read_text()) for text in (logs, records))
    for device in range(3):
        own = {line["worker"] for line in attempts(tmp_path / "run") if line["run"].startswith(DEVICES[device])}
        assert {address.rpartition(":")[0] for address in own} == {f"tls://198.18.9.{device + 1}"}
    assert_all_once(tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("given_up", [False, True])
def test_a_worker_that_is_cut_off_for_20_s_loses_and_doubles_nothing(tmp_path: Path, given_up: bool) -> None:
    """With the 30 s of Dask nothing is lost; with 12 s, about its least, the run is lost, and made again."""
    write_plan(tmp_path, 4.0, repetitions=3)
    patience = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "12s"} if given_up else {}
    with DaskCluster(tmp_path, RESOURCES, patience) as cluster:
        campaign = Campaign(cluster)
        campaign.until("gs908e.loss: 0 of 3 runs finished")
        cluster.plug(0, "down")
        time.sleep(20)  # the fault itself
        cluster.plug(0, "up")
        if given_up:
            campaign.until("gs908e.loss waits for a worker")
            cluster.serve_again(0)
        assert campaign.end() == 0, campaign.said
    lost = [line for line in attempts(tmp_path / "run") if line["failed"]]
    assert bool(lost) == given_up and all("died or was cut off" in line["failed"] for line in lost)
    assert_all_once(tmp_path, repetitions=3)
