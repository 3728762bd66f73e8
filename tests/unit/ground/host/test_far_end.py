"""The program of the far end: how it is started and ended, by this process and by a user, and what it says."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from support.command_line import keisoku

from keisoku.errors import EngineError
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.far_end import PROGRAM, FarEnd
from keisoku.subjects.stream.session import StreamSession

HERE = Place("127.0.0.1")
MANAGER = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1"}
os.execv(sys.argv[2], ["keisoku-far", "stream", "--attached"])
"""
MOST_BYTES = 3 << 20


def said(*words: str) -> tuple[int, str]:
    """Exit code and what was printed."""
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_it_says_its_version_and_its_services() -> None:
    assert said("--version") == (0, f"keisoku-far {version('keisoku')}\n")
    code, text = said("--help")
    assert code == 0 and "reflect " in text
    code, text = said("reflect", "--help")
    assert code == 0 and "--key-file FILE" in text


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nothing"], "there is no service 'nothing'"),
        (["reflect", "--nothing"], "--nothing: there is no such option"),
        (["reflect", "--port", "70000"], "--port: '70000' is no port"),
        (["reflect", "--at", "127.0.0.1@nowhere"], "--at: there is no namespace nowhere"),
        (["reflect", "--at", "192.0.2.1", "--port", "0"], "cannot be opened"),
        (["reflect", "--key-file", "/dev/null"], "--key-file: /dev/null is no file"),
        (["reflect", "--peer", "someone"], "--peer: 'someone' is no IP address"),
    ],
)
def test_what_cannot_be_served_is_one_sentence(words: list[str], says: str) -> None:
    code, text = said(*words)
    assert code == 2 and text.startswith("keisoku-far: ") and says in text and text.count("\n") == 1


def test_a_command_becomes_it_and_ends_by_a_signal() -> None:
    command = [sys.executable, "-m", "keisoku", "path", "reflect", "--at", "127.0.0.1", "--port", "0"]
    for number in (signal.SIGINT, signal.SIGTERM):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            assert server.stdout.readline().startswith("reflecting at UDP port ")
            server.send_signal(number)
            assert server.stdout.read() == "reflected 0 packets, refused 0\n"
        assert server.returncode == 0


def test_a_wrong_option_of_the_command_is_its_own_sentence(tmp_path: Path) -> None:
    done = keisoku("path", "reflect", "--at", "192.0.2.1", "--port", "0", cwd=tmp_path)
    assert done.code == 2 and "cannot be opened" in done.stderr


def test_it_ends_with_the_process_that_started_it() -> None:
    with FarEnd("reflect", HERE) as far:
        port = far.port
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", port))
    assert far.says == ["reflected 0 packets, refused 0"]


def test_it_takes_the_listener_of_a_manager() -> None:
    """As systemd hands it over: descriptor 3, and two variables."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        pipe = subprocess.PIPE
        command = [sys.executable, "-c", MANAGER, str(listener.fileno()), str(PROGRAM)]
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, pass_fds=[listener.fileno()]) as server:
            assert server.stdin is not None and server.stdout is not None
            assert server.stdout.readline() == f"listening at TCP port {port}\n"
            with StreamSession(HERE, port) as session:
                assert session.server["versions"] == {"keisoku": version("keisoku")}
            server.stdin.close()
        assert server.returncode == 0


def test_strangers_are_left_and_the_next_client_is_served() -> None:
    with FarEnd("stream", HERE) as far:
        strangers = [socket.create_connection(("127.0.0.1", far.port)) for _ in range(40)]
        # At most 32 are attended to; others are closed at once.
        closed = [one for one in strangers[32:] if _is_closed(one)]
        assert closed
        for one in strangers:
            one.close()
        with StreamSession(HERE, far.port) as session:
            assert session.server["kernel"]


def _is_closed(connection: socket.socket) -> bool:
    connection.settimeout(10)
    try:
        while connection.recv(100):
            continue
    except ConnectionResetError:
        pass
    return True


def test_what_it_refuses_is_raised() -> None:
    with pytest.raises(EngineError, match=r"^a UDP socket at 192\.0\.2\.1:0 cannot be opened: "):
        FarEnd("reflect", Place("192.0.2.1")).__enter__()
