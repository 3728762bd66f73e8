"""What became of the choice of stamps on real ports: in the record, and where the driver goes back on its offer."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.lab_trials import on_lab, plan_for, trial

from keisoku.device.engine.wired import WiredEngine
from keisoku.device.testbed.lab import lab_port
from keisoku.errors import EngineError
from keisoku.lab.device.lab import Lab

pytestmark = pytest.mark.lab


def test_a_chosen_hardware_clock_that_the_driver_refuses_is_never_passed_off() -> None:
    plan = plan_for("cable", engine="packet", frame_bytes=[64])
    with Lab("cable") as lab:
        software = on_lab(plan, lab)
        software.close()
        _, receiver = software.context()["ports"]  # type: ignore[misc]
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
