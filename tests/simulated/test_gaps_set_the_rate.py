"""Gaps from a file are a rate: what asks for another one was measured with the gaps and called by the other rate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import keisoku as ks
from keisoku.errors import PlanError
from keisoku.subjects.device.record.trial import Bursts

GAPS = {"kind": "gaps", "gaps_ns": [100_000, 200_000]}
WHAT: dict[str, Any] = {"dut": "sim:gs908e", "frame_bytes": 64, "pacing": GAPS}


@pytest.mark.parametrize(
    "how", [{}, {"rate_fps": 6667}, {"streams": 3}, {"ports": ["1", "2"], "pattern": "bidirectional"}]
)
def test_a_trial_has_the_rate_of_its_gaps(tmp_path: Path, how: dict[str, Any]) -> None:
    run = ks.measure("trial", **WHAT, trial_s=0.3, out=tmp_path / "run", **how)
    (record,) = run.trials
    streams = how.get("streams", 1)
    assert record.trial.frames_per_second == pytest.approx(streams * 20_000 / 3)
    assert record.offered_fps == pytest.approx(streams * 20_000 / 3, rel=0.01)
    for sender in record.facts.transmitters:
        assert sender.sent.offered_frames == pytest.approx(streams * 2000, abs=streams)


@pytest.mark.parametrize(
    ("method", "how", "said"),
    [
        ("trial", {"rate_fps": 1000}, "trial is to have 1000 frames/s, and the gaps make 6666.6667"),
        ("trial", {"rate_fps": "50%"}, "744047.62 frames/s, and the gaps make 6666.6667"),
        ("latency", {"rate_fps": 6700}, "latency is to have 6700 frames/s"),
        ("loss", {}, "loss chooses its loads"),
        ("throughput", {}, "throughput chooses its loads"),
        ("mlr", {}, "mlr chooses its loads"),
    ],
)
def test_a_load_that_gaps_do_not_make_was_measured(tmp_path: Path, method: str, how: dict[str, Any], said: str) -> None:
    """6689 frames/s were called 1000, and 100 % and 90 % of the line were the same load."""
    with pytest.raises(PlanError, match=said):
        ks.measure(method, **WHAT, out=tmp_path / "run", **how)


def test_streams_whose_gaps_do_not_fit_their_weights_are_refused(tmp_path: Path) -> None:
    other = {"pacing": {"kind": "gaps", "gaps_ns": [300_000]}}
    fitting = [{"pacing": GAPS, "weight": 2}, other]
    what = {"dut": "sim:gs908e", "frame_bytes": 64, "trial_s": 0.1}
    run = ks.measure("trial", **what, stream=fitting, out=tmp_path / "one")
    assert run.trials[0].trial.frames_per_second == pytest.approx(10_000)
    with pytest.raises(PlanError, match="do not fit their shares"):
        ks.measure("trial", **what, stream=[{"pacing": GAPS}, other], out=tmp_path / "two")
    mixed = [{"pacing": GAPS}, {"pacing": Bursts(burst_frames=8, gap_ns=0).model_dump()}]
    run = ks.measure("trial", **what, stream=mixed, out=tmp_path / "three")
    assert run.trials[0].trial.frames_per_second == pytest.approx(2 * 20_000 / 3)
