"""Compiles the bench's own C: two senders, the observer, the clock of soft interrupts; writes into one folder only."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Compiled:
    """Where the programs are."""

    af_xdp: Path
    bare: Path
    bare_program: Path
    observer: Path
    observer_program: Path
    softirq_time: Path
    softirq_time_program: Path


def compiled(folder: Path) -> Compiled:
    """Compiles into `folder`. Raises CalledProcessError if a compiler refuses, FileNotFoundError if there is none."""
    names = ("af_xdp", "bare", "bare.bpf.o", "observer", "observer.bpf.o", "softirq_time", "softirq_time.bpf.o")
    made = Compiled(*(folder / name for name in names))
    machine = subprocess.run(["gcc", "-print-multiarch"], capture_output=True, text=True, check=True).stdout.strip()
    headers = f"-I/usr/include/{machine}"
    for name in names:
        source = _HERE / f"{name.removesuffix('.o')}.c"
        if name.endswith(".bpf.o"):
            # -g: the maps' types are in BTF, which comes with the debug information.
            command = ["clang", "-O2", "-g", "-target", "bpf", headers, "-c", str(source)]
        else:
            command = ["gcc", "-O2", str(source), "-lbpf"]
        subprocess.run([*command, "-o", str(folder / name)], check=True)
    return made
