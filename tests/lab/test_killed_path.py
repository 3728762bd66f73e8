"""A two-ended measurement that is killed with SIGKILL: its run says what is there, and what is missing."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from support.command_line import keisoku, start

from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.far_end import FarEnd
from keisoku.ground.lab.path.hop import Hop
from keisoku.ground.lab.path.lab import PathLab

pytestmark = pytest.mark.lab
PATIENCE_S = 60


@pytest.mark.parametrize(
    ("command", "parts", "groups", "says"),
    [
        (["packet-pair", "--pairs", "400"], 3, {"Direction"}, "packet sizes reverse, and the data of"),
        (["clocks", "--repetitions", "1000"], 2, {"Packet pairs", "One packet"}, "of 1000 repetitions, and the data"),
        (["delay", "--packets", "1000000"], 1, {"Packets", "Delay"}, "of 1000000 packets"),
    ],
)
def test_what_was_measured_before_a_kill_is_kept(
    command: list[str], parts: int, groups: set[str], says: str, tmp_path: Path
) -> None:
    with PathLab([Hop(100_000_000)]) as lab:
        end = Place(lab.target_address, lab.target_namespace)
        with FarEnd("reflect" if command[0] == "delay" else "path", end) as server:
            name, *options = command
            host = f"{lab.target_address}@{lab.tester_namespace}"
            port = ["--port", str(server.port), "--out", "run"]
            child = start("path", name, host, *options, *port, cwd=tmp_path)
            until_s = time.monotonic() + PATIENCE_S
            while len(list(tmp_path.glob("run/packets/*.parquet"))) < parts and time.monotonic() < until_s:
                assert child.poll() is None, child.communicate()
                time.sleep(0.02)
            child.kill()
            child.communicate()
    done = keisoku("analyse", "run", "--json", cwd=tmp_path)
    assert done.code == 0, done.stderr
    (found,) = json.loads(done.stdout)["results"]
    assert {row["group"] for row in found["rows"]} >= groups
    (flag,) = (flag for flag in found["flags"] if flag["name"] == "unfinished")
    assert flag["text"].startswith("the measurement was stopped before its end: nothing was measured of ")
    assert says in flag["text"]
