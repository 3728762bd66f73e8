"""Commits of a git repository: those from a good one to a bad one, and a checkout in which they are built.

The user's repository is only read. The checkout is a clone elsewhere that borrows its objects; the journal removes it
if this process cannot.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from keisoku.errors import EngineError, PlanError
from keisoku.ground.host.temporary_folder import TemporaryFolder

SHOWN = 12
"""Characters of a commit's name."""


@dataclass(frozen=True)
class Commit:
    """One commit."""

    name: str
    """40 or 64 hexadecimal digits."""
    subject: str

    @property
    def short(self) -> str:
        """The name as it is shown."""
        return self.name[:SHOWN]

    def __str__(self) -> str:
        return f"{self.short} ({self.subject})" if self.subject else self.short


class Repository:
    """The repository that the folder belongs to. Raises PlanError if it belongs to none, or there is no git."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("git") is None:
            raise PlanError("bisect", "git is not installed", "install the package git")
        self.folder = folder
        if not folder.is_dir() or _git(folder, "rev-parse", "--git-dir").returncode:
            raise PlanError("bisect", f"{folder} is in no git repository", "start it in the one that holds the commits")

    def commit(self, field: str, revision: str) -> str:
        """The full name of a commit. Raises PlanError, naming the field."""
        found = _git(self.folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        if found.returncode:
            raise PlanError(field, f"there is no commit '{revision}'", "give a branch, a tag or the name of a commit")
        return found.stdout.strip()

    def between(self, good: str, bad: str) -> list[Commit]:
        """The good commit, then every one after it up to the bad one: of a merge, only its first parent's side.

        Each contains all before it. Raises PlanError if the bad one does not contain the good one.
        """
        if good == bad:
            raise PlanError("BAD", "it is the same commit as GOOD", "give two commits")
        if _git(self.folder, "merge-base", "--is-ancestor", good, bad).returncode:
            turned = _git(self.folder, "merge-base", "--is-ancestor", bad, good).returncode == 0
            remedy = "give the older one first" if turned else "give commits of one line of history"
            raise PlanError("GOOD", f"{good[:SHOWN]} is no ancestor of {bad[:SHOWN]}", remedy)
        after = self._names("--ancestry-path", f"{good}..{bad}")
        line = self._names("--first-parent", "--reverse", f"{good}..{bad}")
        contained = set(after)
        return [self._named(name) for name in (good, *(name for name in line if name in contained))]

    @property
    def is_changed(self) -> bool:
        """Whether files of commits are changed here and not committed."""
        return bool(_git(self.folder, "status", "--porcelain", "--untracked-files=no").stdout.strip())

    @contextmanager
    def checkout(self) -> Iterator[Checkout]:
        """A folder in which one commit after the other can be built. Raises EngineError if it cannot be made."""
        folder = TemporaryFolder("bisect")
        try:
            inside = folder.path / "commit"
            common = _done(self.folder, "rev-parse", "--path-format=absolute", "--git-common-dir").strip()
            _done(self.folder, "clone", "--quiet", "--shared", "--no-checkout", common, str(inside))
            yield Checkout(inside)
        finally:
            folder.remove()

    def _names(self, *options: str) -> list[str]:
        return _done(self.folder, "rev-list", *options).split()

    def _named(self, name: str) -> Commit:
        return Commit(name, _done(self.folder, "show", "--no-patch", "--format=%s", name).strip())


@dataclass(frozen=True)
class Checkout:
    """A folder with the files of one commit. What earlier builds left there stays, so that builds are incremental."""

    path: Path

    def switch(self, commit: str) -> None:
        """Puts the files of the commit there. Raises EngineError if git cannot."""
        _done(self.path, "checkout", "--quiet", "--force", "--detach", commit)


def _git(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = ["git", "-C", str(folder), *words]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")


def _done(folder: Path, *words: str) -> str:
    done = _git(folder, *words)
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise EngineError(f"git {words[0]} failed: {said[-1]}")
    return done.stdout
