"""Methods on a model that somebody else serves: over TCP, and on a pseudo-terminal as if it were a serial line."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support.fpga_bench import needs_model

from keisoku.faces.cli.main import keisoku
from keisoku.ground.fpga.cable import model_of
from keisoku.ground.fpga.sim_server import SimServer
from keisoku.ground.simulated_device.device import find_device

pytestmark = needs_model


@pytest.mark.parametrize(
    ("is_terminal", "method"),
    [(False, ["sweep", "--size", "64,1518", "--sample", "100us"]), (True, ["throughput", "--size", "512"])],
    ids=["tcp", "terminal"],
)
def test_a_served_model_is_measured_as_a_board_is(
    is_terminal: bool, method: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("serial")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    out = tmp_path / "run"
    with model_of(find_device("gs908e"), 1) as model, SimServer(model) as server:
        place = server.open_terminal() if is_terminal else ":".join(map(str, server.listen()))
        ports = ["--tx", f"fpga:{place}#0", "--rx", f"fpga:{place}#1"]
        short = ["--duration", "300us", "--waits", "50us", "--out", str(out), "--json"]
        done = CliRunner().invoke(keisoku, [*method, *ports, *short])
    assert done.exit_code == 0, f"{done.output}\n{done.exception!r}"
    result: dict[str, Any] = json.loads(done.stdout)["results"][0]
    trials = [json.loads(line)["facts"] for line in (out / "trials.jsonl").read_text().splitlines()]
    for facts in trials:
        for stream in facts["streams"]:
            assert stream["tracked"]["forwarded_frames"] == stream["offered_frames"] > 0
    if is_terminal:
        assert result["rows"][0]["figures"]["throughput"]["value"] > 0.99 * 234_962
    else:
        least, most = (row["figures"]["latency"]["value"] for row in result["rows"])
        assert (most - least) / (1518 - 64) == pytest.approx(8.0, abs=0.02)
