"""BPF programs that stand in a test as text, compiled."""

from __future__ import annotations

import subprocess
from pathlib import Path


def compiled(programs: str, to: Path) -> Path:
    """The object of these programs in C, written to that file."""
    include = f"-I/usr/include/{subprocess.check_output(['uname', '-m'], text=True).strip()}-linux-gnu"
    command = ["clang", "-target", "bpf", "-O2", "-g", include, "-x", "c", "-c", "-", "-o", str(to)]
    subprocess.run(command, input=programs, text=True, check=True)
    return to
