"""The first process of a virtual kernel: carries out one command and ends the kernel. Imports nothing of keisoku.

Its only argument is a file that holds JSON: `command`, its `folder` and `environment`, `library` (loaded into all
programs), `writable` (folders of the host that may be written to; all else of the host is read only) and `answer` (the
file for the exit code of the command).
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

POWER_OFF = 0x4321FEDC
"""For reboot(2)."""
LIBRARY = "/run/waiting.so"
_FILE_SYSTEMS = (
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("tmpfs", "/run"),
)
_LIBC = ctypes.CDLL(None, use_errno=True)


def _mount(kind: str, place: str, options: str = "") -> None:
    if _LIBC.mount(b"none", place.encode(), kind.encode(), 0, options.encode() or None) != 0:
        raise OSError(ctypes.get_errno(), f"cannot mount {kind} at {place}")


def _carry_out(order: dict[str, Any]) -> int:
    for kind, place in _FILE_SYSTEMS:
        _mount(kind, place)
    # Where every user in here may read it.
    shutil.copyfile(order["library"], LIBRARY)
    for place in ("/run/tmp", "/run/netns", "/dev/shm", "/dev/pts"):
        Path(place).mkdir(exist_ok=True)
    _mount("tmpfs", "/dev/shm")
    _mount("devpts", "/dev/pts")
    for place in order["writable"]:
        _mount("hostfs", place, place)
    environment = {**order["environment"], "LD_PRELOAD": LIBRARY}
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True, env=environment)
    child = subprocess.Popen(order["command"], env=environment, stdin=subprocess.DEVNULL, cwd=order["folder"])
    while True:  # the first process inherits all others
        number, status = os.wait()
        if number == child.pid:
            return os.waitstatus_to_exitcode(status)


def main() -> None:
    """Carries out the order, and never returns."""
    answer = ""
    try:
        order = json.loads(Path(sys.argv[1]).read_text())
        answer = order["answer"]
        code = _carry_out(order)
    except BaseException:
        traceback.print_exc()
        code = 255
    try:
        Path(answer).write_text(str(code))
    finally:
        sys.stdout.flush()
        os.sync()
        _LIBC.reboot(POWER_OFF)


if __name__ == "__main__":
    main()
