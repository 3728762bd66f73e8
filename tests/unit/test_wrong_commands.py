"""What a newcomer types wrongly is answered with one sentence that says what to type."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import keisoku


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("throughput --tx eth9", "keisoku: rx: is not given, but tx is; give both, or --dut"),
        ("throughput --rx eth9", "keisoku: tx: is not given, but rx is; give both, or --dut"),
        ("throughput --dut lab:brigde", "keisoku: dut: there is no lab device 'brigde'; did you mean 'bridge'?"),
        ("trend", "keisoku: Missing argument 'RUNS...'; see 'keisoku trend --help'"),
        ("export nodir", "'--format'. Choose from: junit, markdown, annotations,"),
        ("study e9", "use one of e1, e2, e3, e4, e5, e1-l2, e1-l3, e1-ports, e2-clocks, e4-bulk,"),
        ("clock cost --reeds 3", "see 'keisoku clock cost --help'"),
    ],
)
def test_a_wrong_command_is_told_what_to_type(tmp_path: Path, command: str, said: str) -> None:
    done = keisoku(*command.split(), cwd=tmp_path)
    assert done.code == 2 and said in " ".join(done.stderr.split()), done.stderr


def test_a_program_that_doctor_cannot_run_is_named(tmp_path: Path) -> None:
    """It ended in a traceback, after the ports had been changed and set back."""
    done = keisoku("doctor", "--fix", "nosuchprogram", cwd=tmp_path)
    assert done.code == 2 and "Traceback" not in done.stderr, done.stderr
    assert "keisoku: COMMAND: nosuchprogram cannot be run: No such file or directory" in " ".join(done.stderr.split())


def test_nothing_is_said_to_be_kept_where_no_run_began(tmp_path: Path) -> None:
    done = keisoku("throughput", "--dut", "sim:gs908e", "--out", "/proc/none", cwd=tmp_path)
    assert done.code == 2 and "make room or choose another --out" in done.stderr
    assert "--resume" not in done.stderr, done.stderr
