"""The program of the far end by itself: in an empty root, without any right, under another user."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.far_end import PROGRAM
from keisoku.subjects.path.stamp.sender import DelaySender
from keisoku.subjects.path.stamp.settings import DelaySettings

pytestmark = pytest.mark.lab
NOBODY = 65534


@contextmanager
def alone(root: Path, service: str, *options: str) -> Iterator[int]:
    """Its port at the loopback. The root has nothing but the program, and the user has no right."""
    shutil.copy(PROGRAM, root / "keisoku-far")
    root.chmod(0o755)

    def enter() -> None:
        os.chroot(root)
        os.chdir("/")
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)

    command = ["/keisoku-far", service, "--at", "127.0.0.1", "--port", "0", "--attached", *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env={}, preexec_fn=enter, text=True) as server:
        assert server.stdin is not None and server.stdout is not None
        yield int(server.stdout.readline().split()[-1])
        server.stdin.close()
    assert server.returncode == 0


def test_it_reflects_in_an_empty_root_without_any_right(tmp_path: Path) -> None:
    with alone(tmp_path, "reflect") as port:
        wanted = DelaySettings(host="127.0.0.1", port=port, packets=50, interval_s=0.001, wait_s=5.0)
        assert DelaySender(Place("127.0.0.1"), wanted).measure()["answers"].to_pylist() == [1] * 50
