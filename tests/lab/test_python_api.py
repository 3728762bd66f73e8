"""The Python API on the lab's bridge: rows of frames as Arrow; the same call as on a simulated device."""

from __future__ import annotations

from pathlib import Path

import pytest

import keisoku as ks
from keisoku.ground.lab.available import available

pytestmark = [pytest.mark.lab, pytest.mark.skipif(available() is not None, reason=str(available()))]


def test_each_frame_has_a_row_whatever_became_of_it(tmp_path: Path) -> None:
    found = ks.measure(
        "trial",
        dut="lab:bridge",
        frame_bytes=128,
        rate_fps=2000,
        trial_s=0.5,
        waits_s=0.1,
        frames=True,
        out=tmp_path / "r",
    )
    (record,) = found.trials
    tracked = record.facts.tracked
    rows = found.arrow("frames")
    arrived = rows.filter(rows["lost"].to_numpy() == False)  # noqa: E712  # an array's own comparison
    assert len(arrived) == tracked.received_frames - tracked.foreign_frames
    assert sum(rows["lost"].to_pylist()) == tracked.lost_frames
    assert min(value for value in arrived["latency_ns"].to_pylist() if value is not None) > 0
    assert found.query("select count(*) as n from frames")["n"].to_pylist() == [len(rows)]
    assert "<svg" in found._repr_html_()
