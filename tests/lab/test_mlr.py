"""Loads that end at their first lost frame, on real ports, and a whole search there."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import keisoku, namespaces_of
from support.lab_trials import on_lab, plan_for, trial

from keisoku.ground.lab.device.faults import Faults
from keisoku.ground.lab.device.lab import Lab
from keisoku.subjects.device.record.facts import Facts

pytestmark = [pytest.mark.lab, pytest.mark.alone]
RATE = 4000
FRAMES = 3 * RATE


def carried(faults: Faults, engine: str, lost: int) -> Facts:
    plan = plan_for("faulty", frame_bytes=[64], engine=engine)
    with Lab("faulty", faults=faults) as lab:
        opened = on_lab(plan, lab)
        try:
            wanted = trial(plan, FRAMES, RATE).model_copy(update={"stop_after_lost": lost})
            opened.start(wanted, stream=1, seed=1)
            return opened.finish()[0]
        finally:
            opened.close()


@pytest.mark.parametrize("engine", ["xdp", "packet"])
def test_the_load_ends_after_the_frame_too_many(engine: str) -> None:
    facts = carried(Faults(drop=(400, 800), swap=(600,), stream=1), engine, 1)
    assert facts.stopped_for_loss
    assert not facts.interrupted
    # Not before the second is lost beyond doubt (50 ms after), and long before the end.
    assert 800 + RATE * 0.05 < facts.sent.offered_frames < FRAMES
    assert [(gap.first, gap.last) for gap in facts.tracked.lost] == [(400, 400), (800, 800)]
    assert facts.tracked.forwarded_frames == facts.sent.offered_frames - 2


def test_frames_that_are_only_late_or_few_enough_end_nothing() -> None:
    facts = carried(Faults(drop=(400,), swap=(600, 900), stream=1), "xdp", 1)
    assert not facts.stopped_for_loss
    # A busy machine may keep the tester from the last few frames, but not from the last tenth of the time.
    assert facts.sent.last_sent_ns > 0.9 * FRAMES / RATE * 1e9


def test_ndr_and_pdr_of_a_bridge(tmp_path: Path) -> None:
    lab = ["--dut", "lab:bridge", "--size", "64", "--duration", "0.3s", "--waits", "0.1s", "--initial", "0.1s"]
    loads = ["--maximum", "20kpps", "--minimum", "1kpps", "--controller", "descent"]
    ended = keisoku("mlr", *lab, *loads, cwd=tmp_path)
    ended.measured_or_said_why_not()
    assert "NDR" in ended.stdout
    assert "PDR 0.5 %" in ended.stdout
    assert namespaces_of(ended.pid) == []
