"""One run of a virtual kernel: it boots, carries out one command, and ends.

It sees the files of the host, which it cannot write to but for the folders that are named. It has no network but its
own, and needs no rights: `root` in it is the user who started it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from keisoku.errors import EngineError
from keisoku.ground.host.child import Child
from keisoku.ground.virtual_kernel.build import KERNEL, RANDOM, WAITING, built
from keisoku.ground.virtual_kernel.inside import INSIDE

SEED = "KEISOKU_VIRTUAL_SEED"
"""Variable that tells the kernel's process its seed."""
MEMORY_MIB = 1024
_BEGIN_S, _SECONDS = 1_767_225_600, 31_536_000
"""Every run begins in 2026 (UTC), at a second that its seed decides: what a program makes of the date is the same for a
seed, and another one for others. Many daemons draw their jitter from the time at which they began."""
_GUEST = Path(__file__).parent / "guest.py"


def run(
    command: Sequence[str],
    seed: int,
    writable: Sequence[Path],
    within_s: float,
    environment: Mapping[str, str] | None = None,
) -> int:
    """Boots a kernel whose randomness is that of `seed`, carries out the command in it, and returns its exit code.

    `writable` are folders of the host that it may write to. What it prints is shown if it fails. `within_s` is time of
    the host. Raises EngineError, with the last lines of the kernel, if it does not end in that time or does not carry
    the command out.
    """
    folder = built()
    with tempfile.TemporaryDirectory(prefix="keisoku-vlab-") as made:
        own = Path(made)
        answer, order, begin, said = own / "answer", own / "order.json", own / "begin", own / "console.log"
        order.write_text(
            json.dumps(
                {
                    "command": list(command),
                    "folder": str(Path.cwd()),
                    "environment": _environment(environment or {}),
                    "writable": [str(own), *(str(path.resolve()) for path in writable)],
                    "library": str(folder / WAITING),
                    "answer": str(answer),
                }
            )
        )
        begin.write_text(f"#!/bin/sh\nexec '{sys.executable}' -I -S '{_GUEST}' '{order}'\n")
        begin.chmod(0o700)
        line = [
            # It ends with this process, however that ends.
            *("setpriv", "--pdeathsig", "KILL"),
            str(folder / KERNEL),
            f"mem={MEMORY_MIB}M",
            "root=/dev/root",
            "rootfstype=hostfs",
            "rootflags=/",
            "ro",
            # By way of the host's /proc. The kernel's randomness depends on this line, so it is the same on every host.
            "init=/proc/self/cwd/begin",
            "time-travel=inf-cpu",
            f"time-travel-start={_BEGIN_S + seed % _SECONDS}000000000",
            "con=null",
            "con0=null,fd:1",
            "panic=-1",
            "quiet",
        ]
        with said.open("wb") as console:
            child = Child(
                line,
                stdout=console,
                stderr=subprocess.STDOUT,
                cwd=own,
                env={**os.environ, SEED: str(seed), "LD_PRELOAD": str(folder / RANDOM), "HOME": made},
                start_new_session=True,
            )
            try:
                child.wait(within_s)
            except subprocess.TimeoutExpired as error:
                problem = f"the virtual kernel did not end in {within_s:g} s of this host's time"
                raise EngineError(f"{problem}: {_last(said)}") from error
            finally:
                child.kill()
        try:
            code = int(answer.read_text())
        except (OSError, ValueError) as error:
            raise EngineError(f"the virtual kernel carried nothing out: {_last(said)}") from error
        if code:
            sys.stderr.write(said.read_text(errors="replace"))
        return code


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    """Of programs in the kernel: nothing of the host's but where programs are, so that a run does not depend on it."""
    return {
        "PATH": os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin",
        "HOME": "/run",
        "TMPDIR": "/run/tmp",
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        INSIDE: "1",
        **more,
    }


def _last(said: Path) -> str:
    lines = [line for line in said.read_text(errors="replace").splitlines() if line.strip()]
    return " / ".join(lines[-3:]) or "it printed nothing"
