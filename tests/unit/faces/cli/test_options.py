"""What is typed reaches the plan, and what is not leaves its defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tomlkit

from keisoku.faces.cli import procedures
from keisoku.faces.cli.options import plan_of
from keisoku.subjects.device.plan.plan import Plan, parse
from keisoku.subjects.device.plan.procedure import PROCEDURES

command = procedures.command(PROCEDURES["loss"])


def plan(**typed: Any) -> Plan:
    given = {str(option.name): None for option in command.params} | {"modify": (), "require": ()}
    assert typed.keys() <= given.keys()
    return plan_of("loss", given | {"dut": "lab:cable"} | typed, {})


def test_what_is_not_typed_keeps_the_plan_s_defaults() -> None:
    assert plan() == parse({"methods": ["loss"], "dut": "lab:cable"})


def test_flags_and_files_reach_the_plan() -> None:
    made = plan(frames=True, capture=Path("a.pcapng"), snap=64, stamps="software")
    assert (made.frames, made.capture, made.snap_bytes, made.stamps) == (True, Path("a.pcapng"), 64, "software")
    assert (
        tomlkit.dumps(parse({"methods": ["loss"], "dut": "lab:cable", "capture": "a.pcapng"}).plain()).count(
            '"a.pcapng"'
        )
        == 1
    )
