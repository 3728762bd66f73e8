"""What is typed reaches the plan, and what is not leaves its defaults."""

from __future__ import annotations

from pathlib import Path

import tomlkit

from keisoku.faces.cli import measuring
from keisoku.subjects.device.plan.plan import Plan, parse

command = measuring.command("loss")


def plan(*typed: str) -> Plan:
    context = command.make_context("loss", ["--dut", "lab:cable", *typed])
    assert isinstance(command, measuring.MeasuringCommand)
    made = command.asked(False, **context.params)[1]
    assert isinstance(made, Plan)
    return made


def test_what_is_not_typed_keeps_the_plan_s_defaults() -> None:
    assert plan() == parse({"methods": ["loss"], "dut": "lab:cable"})


def test_flags_and_files_reach_the_plan() -> None:
    made = plan("--frames", "--capture", "a.pcapng", "--snap", "64", "--stamps", "software")
    assert (made.frames, made.capture, made.snap_bytes, made.stamps) == (True, Path("a.pcapng"), 64, "software")
    assert (
        tomlkit.dumps(parse({"methods": ["loss"], "dut": "lab:cable", "capture": "a.pcapng"}).plain()).count(
            '"a.pcapng"'
        )
        == 1
    )
