"""Builds of commits: a command makes each in a folder of its own, which is kept for the next time.

What a build is kept under is the commit and the command, so that a changed command builds anew.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path

from platformdirs import user_cache_path

from keisoku.errors import EngineError, to_write
from keisoku.running.measurement.commit_history import Checkout, Commit, Repository

BUILD, COMMIT = "KEISOKU_BUILD", "KEISOKU_COMMIT"
"""Environment variables of the user's commands: the folder that holds the build, and the full name of the commit."""
_DONE = ".keisoku-built"
"""An empty file in a build that is complete."""


class Builds:
    """Makes the builds of commits of one repository, in one checkout, which is removed on `close`."""

    def __init__(self, repository: Repository, command: str) -> None:
        self._repository, self._command = repository, command
        self._stack = ExitStack()
        self._opened: Checkout | None = None

    def folder(self, commit: Commit) -> Path:
        """Where the build of the commit is, or will be."""
        key = hashlib.sha256(self._command.encode()).hexdigest()[:12]
        return user_cache_path("keisoku") / "builds" / f"{commit.name}-{key}"

    def environment(self, commit: Commit) -> dict[str, str]:
        """What the user's commands are told."""
        return {BUILD: str(self.folder(commit)), COMMIT: commit.name}

    def is_kept(self, commit: Commit) -> bool:
        """Whether it was built before."""
        return (self.folder(commit) / _DONE).exists()

    def make(self, commit: Commit) -> str:
        """Builds it, unless it is kept; returns why it cannot be built, in the words of the command, or nothing.

        Raises EngineError if the folder or the checkout cannot be made.
        """
        if self.is_kept(commit):
            return ""
        folder = self.folder(commit)
        try:
            shutil.rmtree(folder, ignore_errors=True)  # of a build that was interrupted, or failed
            folder.mkdir(parents=True)
            checkout = self._checkout()
            checkout.switch(commit.name)
            with (folder / "build.log").open("w+b") as log:
                ended = subprocess.run(
                    ["/bin/sh", "-c", self._command],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    cwd=checkout.path,
                    env={**os.environ, **self.environment(commit)},
                )
            if ended.returncode:
                said = (folder / "build.log").read_text(errors="replace").strip().splitlines()[-1:]
                return f"exit code {ended.returncode}: {said[0] if said else 'it printed nothing'}"
            (folder / _DONE).touch()
        except OSError as error:
            raise EngineError(
                f"--build: {folder} cannot be written: {error.strerror};"
                f" {to_write(error, 'set XDG_CACHE_HOME to a folder that you may write to')}"
            ) from error
        return ""

    def close(self) -> None:
        """Removes the checkout."""
        self._stack.close()

    def _checkout(self) -> Checkout:
        if self._opened is None:
            self._opened = self._stack.enter_context(self._repository.checkout())
        return self._opened
