"""Compiles the bench's own C: the AF_XDP sender and the observer. Leaves nothing outside the folder it is given."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Compiled:
    """Where the programs are."""

    af_xdp: Path
    observer: Path
    observer_program: Path


def compiled(folder: Path) -> Compiled:
    """Compiles into `folder`. Raises CalledProcessError if a compiler refuses, FileNotFoundError if there is none."""
    made = Compiled(folder / "af_xdp", folder / "observer", folder / "observer.bpf.o")
    machine = subprocess.run(["gcc", "-print-multiarch"], capture_output=True, text=True, check=True).stdout.strip()
    headers = f"-I/usr/include/{machine}"
    for command in (
        ["gcc", "-O2", str(_HERE / "af_xdp.c"), "-o", str(made.af_xdp)],
        ["gcc", "-O2", str(_HERE / "observer.c"), "-lbpf", "-o", str(made.observer)],
        # -g: the maps' types are in BTF, which comes with the debug information.
        [
            *["clang", "-O2", "-g", "-target", "bpf", headers],
            *["-c", str(_HERE / "observer.bpf.c"), "-o", str(made.observer_program)],
        ],
    ):
        subprocess.run(command, check=True)
    return made
