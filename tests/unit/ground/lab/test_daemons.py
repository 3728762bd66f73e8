"""When a daemon is ready: not as soon as its socket has a file."""

from __future__ import annotations

import socket
from pathlib import Path

from keisoku.ground.lab.daemons import listens


def test_a_daemon_held_up_between_bind_and_listen_is_not_ready(tmp_path: Path) -> None:
    path = tmp_path / "db.sock"
    assert not listens(path)
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.bind(str(path))
        assert path.exists() and not listens(path)
        daemon.listen()
        assert listens(path)
    assert not listens(path), "a file that a dead daemon left"
