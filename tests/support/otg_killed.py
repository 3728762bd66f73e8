"""A tester that is killed while its protocols run, and what is left of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from support.command_line import journal_of, namespaces_of

_KILLED = """
import json, os, signal, sys
from pathlib import Path
from keisoku.ground.host.namespace import FOLDER
from keisoku.faces.otg.control.controller import Controller
controller = Controller()
controller.set_config(json.loads(sys.argv[1]))
controller.set_control_state({"choice": "protocol", "protocol": {"choice": "all", "all": {"state": "start"}}})
made = {path.name: path.stat().st_ino for path in FOLDER.glob(f"keisoku-{os.getpid()}-*")}
print(json.dumps([os.getpid(), made]), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


class KilledTester:
    """It has been killed when this is made."""

    def __init__(self, config: Any) -> None:
        command = [sys.executable, "-c", _KILLED, config.serialize("json")]
        said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout
        self._number, self.namespaces = json.loads(said)

    def await_nothing_left(self) -> None:
        """The next tester removes it, and so does a guard, which may not be through; a test's time limit ends it."""
        while self.left():
            pass

    def left(self) -> list[str]:
        """Names of its namespaces, entries of its journal, and processes in its namespaces."""
        inodes = {f"net:[{inode}]" for inode in self.namespaces.values()}
        found = [*namespaces_of(self._number), *(str(entry) for entry in journal_of(self._number))]
        for place in Path("/proc").glob("[0-9]*"):
            try:
                if str((place / "ns/net").readlink()) in inodes:
                    found.append((place / "comm").read_text().strip())
            except OSError:  # it has just ended
                continue
        return found
