"""`Program`: an external command that a device needs, and the Debian package it comes from.

It runs to its end, in the calling thread's namespace. `Child` is for programs that keep running.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass

from keisoku.errors import EngineError

_PATIENCE_S = 60.0
# Debian keeps administration commands, and FRR's daemons, outside an ordinary user's PATH.
_ALSO = "/usr/local/sbin:/usr/sbin:/sbin:/usr/lib/frr"


@dataclass(frozen=True)
class Program:
    """A command by its name."""

    name: str
    package: str
    version_option: str = "--version"
    """Empty: it does not say its version, and its package's is taken."""
    at: str | None = None
    """Its path where it is no command of the host."""

    @property
    def path(self) -> str | None:
        """Its path; None if it is not installed."""
        return self.at or shutil.which(self.name, path=f"{os.environ.get('PATH', os.defpath)}:{_ALSO}")

    def run(self, *arguments: str, text: str = "") -> str:
        """Run it with `text` as its input; return its output. Raises EngineError if it fails or writes an error."""
        done = self._done(*arguments, text=text)
        if done.returncode != 0 or done.stderr:
            said = done.stderr.strip().splitlines()
            raise EngineError(f"{self.name} failed: {said[0] if said else f'exit code {done.returncode}'}")
        return done.stdout

    def version(self) -> str:
        """Its version number, or its whole answer if that contains none."""
        if not self.version_option:
            packages = Program("dpkg-query", "dpkg")
            return packages.run("--show", "--showformat=${Version}", self.package) if packages.path else "unknown"
        said = (done := self._done(self.version_option)).stdout or done.stderr  # keepalived says it as an error
        said = said.splitlines()[0]
        found = re.search(r"\d+(\.\d+)+", said)
        return found[0] if found else said

    def _done(self, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                [self.path or self.name, *arguments], input=text, capture_output=True, text=True, timeout=_PATIENCE_S
            )
        except subprocess.TimeoutExpired as error:
            raise EngineError(f"{self.name} did not end in {_PATIENCE_S} s") from error
