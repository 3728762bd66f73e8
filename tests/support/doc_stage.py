"""What blocks of the documentation find that need ports and another host: in namespaces, removed at the end.

Ports eth1 to eth4 lead to one bridge. The host far.example (192.0.2.7) is one hop away; there run what the pages say
runs "at the far end".
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

_FAR = re.compile(r"^(keisoku (?:path serve|path reflect|stream serve)\b[^#\n]*)", re.MULTILINE)
_KEPT = re.compile(r"^(keisoku lab (?!--)[^#\n]*)", re.MULTILINE)
_PORTS = 4


class DocStage:
    """As a context; `run` carries out a block there."""

    def __init__(self) -> None:
        self._here, self._there = (f"keisoku-docs-{os.getpid()}-{end}" for end in ("here", "far"))
        self._hosts = Path("/etc/netns") / self._here

    def __enter__(self) -> Self:
        try:
            self._build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _build(self) -> None:
        for name in (self._here, self._there):
            _ip("netns", "add", name)
            _ip("-n", name, "link", "set", "lo", "up")
        _ip("-n", self._there, "link", "add", "bridge", "type", "bridge", "mcast_snooping", "0")
        _ip("-n", self._there, "link", "set", "bridge", "up")
        for number in range(_PORTS + 1):
            near, far = (f"eth{number}", f"p{number}") if number else ("uplink", "downlink")
            _ip("-n", self._here, "link", "add", near, "type", "veth", "peer", "name", far, "netns", self._there)
            if number:
                _ip("-n", self._there, "link", "set", far, "master", "bridge")
                # A veth takes XDP frames of its peer only with NAPI, which GRO switches on.
                _ip("netns", "exec", self._there, "ethtool", "-K", far, "gro", "on")
                _ip("netns", "exec", self._here, "ethtool", "-K", near, "rxvlan", "off")
            for place, name in ((self._here, near), (self._there, far)):
                _ip("-n", place, "link", "set", name, "up")
        _ip("-n", self._here, "address", "add", "192.0.2.1/24", "dev", "uplink")
        _ip("-n", self._there, "address", "add", "192.0.2.7/24", "dev", "downlink")
        self._hosts.mkdir(parents=True)
        (self._hosts / "hosts").write_text("127.0.0.1 localhost\n192.0.2.7 far.example\n")

    def __exit__(self, *_: object) -> None:
        for name in (self._here, self._there):
            subprocess.run(["ip", "netns", "delete", name], check=False)
        (self._hosts / "hosts").unlink(missing_ok=True)
        if self._hosts.exists():
            self._hosts.rmdir()

    def run(
        self, command: Sequence[str], text: str, folder: Path, environment: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """The block's own commands; those of the far end run there meanwhile, and a lab that stays is ended again."""
        servers = [match[1].strip() for match in _FAR.finditer(text)]
        text = _KEPT.sub(r"timeout --signal=INT 10 \1 || true ", _FAR.sub("", text))
        started = [
            subprocess.Popen(
                ["ip", "netns", "exec", self._there, "sh", "-c", f"exec {server}"],
                cwd=folder,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for server in servers
        ]
        try:
            for server in started:
                assert server.stdout is not None
                server.stdout.readline()  # it says that it listens
            return subprocess.run(
                ["ip", "netns", "exec", self._here, *command],
                input=text,
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
        finally:
            for server in started:
                server.send_signal(signal.SIGINT)
                server.wait()


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)
