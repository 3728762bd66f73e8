"""`stream capacity` on paths of real namespaces whose rate is known, beside OB-UDPST where it is installed."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from keisoku.ground.entry import Work
from keisoku.ground.host.namespace import FOLDER
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.far_end import FarEnd
from keisoku.ground.lab.path.lab import PathLab
from keisoku.ground.lab.path.name import find_path
from keisoku.ground.run.result import Result
from keisoku.ground.run.settings import parsed
from keisoku.running.measurement.carry_out import carry_out
from keisoku.running.measurement.table import find

pytestmark = [pytest.mark.lab, pytest.mark.alone]

PATH = "path?hops=100M,10M/20M,100M&queue=60k&icmp=unlimited"
TRUTH = {"upload": 10e6, "download": 20e6}
UDPST = "KEISOKU_UDPST"
"""Variable of the environment with the program of OB-UDPST 9 (github.com/BroadbandForum/obudpst)."""
with_udpst = pytest.mark.skipif(not os.environ.get(UDPST), reason=f"{UDPST} names no program of OB-UDPST")


def measured(lab: PathLab, out: Path, **more: object) -> Result:
    measurement = find("stream capacity")
    host = f"{lab.target_address}@{lab.tester_namespace}"
    (result,) = carry_out(Work(measurement, parsed(measurement.settings, {"host": host, **more}), out)).results
    return result


def check(result: Result) -> None:
    """Both rates are within 2 % of the truth, with an interval."""
    assert {row.case for row in result.rows} == set(TRUTH)
    for row in result.rows:
        capacity = row.figures["capacity"]
        assert capacity.value == pytest.approx(TRUTH[str(row.case)], rel=0.02)
        assert capacity.uncertainty is not None and not capacity.bound
        assert f"{row.case} carries" in result.sentence


def far_of(lab: PathLab) -> Place:
    return Place(lab.target_address, lab.target_namespace)


def test_the_rates_of_a_path_are_found(tmp_path: Path) -> None:
    with find_path(PATH) as lab, FarEnd("stream", far_of(lab), "--capacity=0") as server:
        check(measured(lab, tmp_path / "run", port=server.ports[1], duration_s=3, sub_interval_s=0.5))


@with_udpst
@pytest.mark.parametrize("key", [None, "between us"])
def test_a_server_of_ob_udpst_measures_with_us(tmp_path: Path, key: str | None) -> None:
    more: dict[str, object] = {"duration_s": 5}
    if key is not None:
        (tmp_path / "key").write_text(key)
        more["key_file"] = str(tmp_path / "key")
    with find_path(PATH) as lab:
        wanted = ["-a", key] if key is not None else []
        command = [*_udpst(lab.target_namespace), "-v", *wanted, lab.target_address]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            assert any("Awaiting" in line for line in server.stdout)  # until it listens
            try:
                check(measured(lab, tmp_path / "run", **more))
            finally:
                server.terminate()


@with_udpst
@pytest.mark.parametrize("key", [None, "between us"])
@pytest.mark.parametrize(("option", "case"), [("-u", "upload"), ("-d", "download")])
def test_a_client_of_ob_udpst_measures_with_us(option: str, case: str, key: str | None, tmp_path: Path) -> None:
    signed = []
    if key is not None:
        (tmp_path / "key").write_text(key)
        signed = ["--key-file", str(tmp_path / "key")]
    with find_path(PATH) as lab:
        wanted = ["-a", key] if key is not None else []
        command = [*_udpst(lab.tester_namespace), *wanted, option, "-t", "5", "-f", "json", lab.target_address]
        with FarEnd("stream", far_of(lab), "--capacity", *signed):
            done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    said = json.loads(done.stdout)
    assert said["ErrorStatus"] == 0, done.stdout
    most_mbps = said["Output"]["AtMax"]["MaxIPLayerCapacity"]
    # The fastest sub-interval, which is faster than the path where the host stood still before it.
    assert most_mbps == pytest.approx(TRUTH[case] / 1e6, rel=0.05)


def _udpst(namespace: str) -> list[str]:
    return ["nsenter", f"--net={FOLDER / namespace}", os.environ[UDPST]]
