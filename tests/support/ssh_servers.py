"""Real ssh servers in namespaces of a lab, with keys that are thrown away. No daemon of this host is asked."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from keisoku.ground.host.namespace import Namespace
from keisoku.ground.host.program import Program

SSHD = Program("sshd", "openssh-server")
SSH = Program("ssh", "openssh-client")
PORT = 2222
SEPARATION = Path("/run/sshd")
ROOT = Path(__file__).parents[2]


def missing() -> str:
    """Why there can be no sshd here; empty if there can."""
    for program in (SSHD, SSH):
        if program.path is None:
            return f"{program.name} is not installed (Debian package {program.package})"
    shadow = Path("/etc/shadow").read_text().splitlines() if os.access("/etc/shadow", os.R_OK) else []
    locked = any(line.startswith("root:!") for line in shadow)
    return "sshd without PAM lets nobody in whose account is locked, and root's is" if locked else ""


def pids(namespace: str) -> list[int]:
    return [int(pid) for pid in Program("ip", "iproute2").run("netns", "pids", namespace).split()]


def comm(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


@contextmanager
def ssh_servers(folder: Path, places: Mapping[str, Namespace]) -> Iterator[Path]:
    """One at each address, in its namespace; the configuration with which ssh reaches them as root."""
    with ExitStack() as stack:
        for key in ("host", "mine"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)], check=True)
        if not SEPARATION.exists():
            SEPARATION.mkdir(mode=0o755)
            stack.callback(SEPARATION.rmdir)
        programs = folder / "bin"
        programs.mkdir()
        own = programs / "keisoku"
        own.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m keisoku "$@"\n')
        own.chmod(0o755)
        for address, place in places.items():
            daemon = listen(folder, address, place, programs)
            stack.callback(daemon.wait)
            stack.callback(end_all, place.name)
        host_key = (folder / "host.pub").read_text()
        (folder / "known").write_text("".join(f"[{address}]:{PORT} {host_key}" for address in places))
        configuration = folder / "ssh_config"
        configuration.write_text(
            f"Host *\n  IdentityFile {folder}/mine\n  IdentitiesOnly yes\n  UserKnownHostsFile {folder}/known\n"
            "  GlobalKnownHostsFile none\n"
        )
        yield configuration


def listen(folder: Path, address: str, place: Namespace, programs: Path) -> subprocess.Popen[str]:
    """An sshd at that address, and nowhere else."""
    configuration = folder / f"sshd-{address}"
    configuration.write_text(
        f"ListenAddress {address}:{PORT}\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/mine.pub\nUsePAM no\n"
        "StrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPidFile none\n"
        f"PermitRootLogin prohibit-password\nSetEnv PATH={programs}:/usr/bin:/bin\n"
    )
    command = [SSHD.path or "", "-D", "-e", "-f", str(configuration)]
    daemon = place.run(lambda: subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
    assert daemon.stderr
    words = []
    for line in daemon.stderr:
        words.append(line)
        if "Server listening" in line:
            return daemon
    pytest.fail(f"sshd did not start: {''.join(words)}")


def end_all(namespace: str) -> None:
    """Of processes in a namespace of this test's own lab."""
    for pid in pids(namespace):
        try:
            os.kill(pid, 9)
        except ProcessLookupError:
            continue
