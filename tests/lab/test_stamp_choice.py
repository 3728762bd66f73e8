"""What became of the choice of stamps on real ports: in the record, and where the driver goes back on its offer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.lab_trials import on_lab, plan_for, trial

from keisoku.errors import EngineError
from keisoku.ground.lab.device.lab import Lab
from keisoku.subjects.device.engine.stamps import StampOffer, choose
from keisoku.subjects.device.engine.wired import WiredEngine
from keisoku.subjects.device.plan_testbed import wanted_testbed, wanted_traffic
from keisoku.subjects.device.testbed.lab import LabTestbed, lab_port

pytestmark = pytest.mark.lab


def test_a_chosen_hardware_clock_that_the_driver_refuses_is_never_passed_off() -> None:
    plan = plan_for("cable", engine="packet", frame_bytes=[64])
    with Lab("cable") as lab:
        software = on_lab(plan, lab)
        software.close()
        assert isinstance(software, WiredEngine)
        context: Any = software.context()
        _, receiver = context["ports"]
        assert receiver["stamps"]["receive"] == "kernel"
        assert "no hardware timestamps" in receiver["stamps"]["reason"]

        ports = [lab_port(port, "packet") for port in lab.ports]
        engine = WiredEngine([ports[0], replace(ports[1], phc=0)], software._traffic, None, {})
        try:
            assert engine.capabilities.receive_stamp != software.capabilities.receive_stamp
            engine.start(trial(plan), stream=1, seed=0)
            with pytest.raises(EngineError, match=r"t2: the driver refused hardware timestamps: .*--stamps software"):
                engine.finish()
        finally:
            engine.close()


@pytest.mark.parametrize("wanted", ["best", "hardware"])
def test_the_best_timestamps_fall_back_to_the_kernels_where_the_driver_takes_none(wanted: Any) -> None:
    """The run ended with "give --stamps software", also where nobody had asked for hardware."""
    offer = StampOffer(rx_hardware_socket=True, rx_software=True, phc_index=0)
    plan = plan_for("cable", engine="packet", frame_bytes=[64])
    with Lab("cable") as lab:
        testbed = LabTestbed(wanted_testbed(plan), lab)
        choice = choose(offer, "packet", wanted)
        # A veth refuses what this offer promises.
        testbed.ports[1] = replace(testbed.ports[1], phc=0, stamps=choice)
        engine = testbed.engine(wanted_traffic(plan))
        try:
            engine.start(trial(plan), stream=1, seed=0)
            if wanted == "hardware":
                with pytest.raises(EngineError, match=r"t2: the driver refused hardware .*--stamps software"):
                    engine.finish()
                assert testbed.remarks == []
                return
            facts, _ = engine.finish()
            # A busy host can keep the sender from its CPU for as long as the trial is.
            for _ in range(3):
                if facts.sent.offered_frames == 0:
                    engine.start(trial(plan), stream=1, seed=0)
                    facts, _ = engine.finish()
        finally:
            engine.close()
            testbed.close()
    assert facts.tracked.forwarded_frames == facts.sent.offered_frames > 0
    assert facts.receivers[0].stamped is None and facts.receive_stamp.startswith("CLOCK_REALTIME of the kernel")
    [remark] = testbed.remarks
    start = "t2: the kernel's timestamps instead of the hardware's, because the driver refused hardware timestamps: "
    assert remark.startswith(start)
    assert engine.context()["stamps_replaced"] == [remark]
    assert engine.capabilities.receive_stamp == "CLOCK_MONOTONIC at the packet socket"
