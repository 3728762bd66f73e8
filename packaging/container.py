"""Builds a Containerfile with buildah; or carries out its steps in a clean Debian root, where there is no builder."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from clean_root import CleanRoot

_LAB = ("sys_admin", "net_admin", "net_raw", "bpf", "perfmon", "ipc_lock", "sys_nice")
"""Capabilities of whoever measures in a lab; a builder that is in a container itself has not all to give."""


class Builder:
    """buildah with a store of its own in `folder`, without a daemon and without namespaces of users, as a context."""

    def __init__(self, folder: Path) -> None:
        places = ["--root", str(folder / "store"), "--runroot", str(folder / "running"), "--storage-driver", "vfs"]
        self._buildah = ["buildah", *places]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for what in ("rm", "rmi"):
            subprocess.run([*self._buildah, what, "--all"], check=False, capture_output=True)

    def base(self, archive: Path) -> None:
        """Makes the image `base` of a root's files."""
        container = self._done("from", "scratch").strip()
        self._done("add", container, str(archive), "/")
        self._done("commit", "--rm", container, "base")

    def build(self, containerfile: Path, name: str) -> None:
        """Builds from `base`, whatever image the file names, and from nothing where it names none."""
        options = ["--isolation", "chroot", "--pull-never", "--tag", name]
        if ("FROM", "scratch") not in _steps(containerfile):
            options += ["--from", "localhost/base"]
        self._done("build", *options, "--file", str(containerfile), str(containerfile.parents[1]))

    def run(self, name: str, *command: str) -> str:
        """What a command printed in a container of the image, which sees the host's devices and network."""
        container = self._done("from", "--pull-never", f"localhost/{name}").strip()
        rights = [f"--cap-add=CAP_{name.upper()}" for name in _LAB]
        return self._done("run", "--isolation", "chroot", *rights, container, "--", *command)

    def files(self, name: str) -> Path:
        """The root of a container of the image."""
        container = self._done("from", "--pull-never", f"localhost/{name}").strip()
        return Path(self._done("mount", container).strip())

    def save(self, name: str, archive: Path, tag: str) -> None:
        """Writes an image as one file, which `podman load` and `docker load` take, as NAME:TAG."""
        self._done("push", f"localhost/{name}", f"docker-archive:{archive}:{name}:{tag}")

    def _done(self, *words: str) -> str:
        ended = subprocess.run([*self._buildah, *words], capture_output=True, text=True, check=False)
        assert ended.returncode == 0, f"buildah {' '.join(words)}: {ended.stdout[-2000:]}{ended.stderr[-2000:]}"
        return ended.stdout


def carried_out(containerfile: Path, root: CleanRoot) -> None:
    """RUN and COPY as a builder does them, from the folder above `containerfile`; FROM is the root itself.

    Raises AssertionError for a step that fails or that is not known.
    """
    for instruction, argument in _steps(containerfile):
        if instruction == "RUN":
            root.done("sh", "-c", argument)
        elif instruction == "COPY":
            *patterns, place = argument.split()
            for file in (found for pattern in patterns for found in containerfile.parents[1].glob(pattern)):
                shutil.copy(file, root.path / place.strip("/"))
        elif instruction == "WORKDIR":
            (root.path / argument.strip("/")).mkdir(parents=True, exist_ok=True)
        else:
            assert instruction in ("FROM", "ENTRYPOINT"), instruction


def entry_point(containerfile: Path) -> list[str]:
    """The command of its ENTRYPOINT."""
    return next(json.loads(argument) for name, argument in _steps(containerfile) if name == "ENTRYPOINT")


def _steps(containerfile: Path) -> Iterator[tuple[str, str]]:
    text = containerfile.read_text().replace("\\\n", " ")
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            instruction, _, argument = line.partition(" ")
            yield instruction, argument.strip()
