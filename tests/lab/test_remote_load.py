"""Load from hosts that ssh reaches: a real sshd in the namespaces of a lab's clients, with keys that are thrown away.

keisoku runs in the namespace of a third one. No daemon of this host is asked or started.
"""

from __future__ import annotations

import json
import os
import select
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.command_line import Child, outcome_of, start
from support.ssh_servers import PORT, comm, missing, pids, ssh_servers

from keisoku.ground.host.namespace import Namespace
from keisoku.ground.host.program import Program
from keisoku.ground.lab.system.lab import SystemLab
from keisoku.ground.lab.system.shape import ServedFile, SystemShape
from keisoku.ground.run.directory import RunDirectory
from keisoku.subjects.system.load.rows import RUNS

FILE_BYTES = 3000
PATIENCE_S = 60


pytestmark = [pytest.mark.lab, pytest.mark.alone, pytest.mark.skipif(bool(missing()), reason=missing())]


@dataclass
class Hosts:
    """A lab whose first two clients are reached by ssh from the third."""

    lab: SystemLab
    configuration: Path

    def start(self, *arguments: str, folder: Path) -> Child:
        """`keisoku system load` with both hosts as clients of the lab's server."""
        targets = [
            f"http://{self.lab.addresses[0]}/{FILE_BYTES}.bin@ssh://root@{port.address}:{PORT}"
            for port in self.lab.ports[:2]
        ]
        prefix = ["ip", "netns", "exec", self.lab.ports[2].namespace_path.name]
        more = ["--ssh-config", str(self.configuration), "--out", "run"]
        return start("system", "load", *targets, *arguments, *more, cwd=folder, prefix=prefix)

    def running(self, name: str) -> list[int]:
        """Processes of that name at the first host."""
        return [pid for pid in pids(self.lab.ports[0].namespace_path.name) if comm(pid) == name]


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    folder = tmp_path_factory.mktemp("ssh")
    with SystemLab(SystemShape((None,) * 3, files=(ServedFile(FILE_BYTES),))) as lab:
        places = {port.address: Namespace(port.namespace_path.name) for port in lab.ports[:2]}
        with ssh_servers(folder, places) as configuration:
            yield Hosts(lab, configuration)


@pytest.mark.parametrize("client", ["ab", "own"])
def test_hosts_load_together_and_tell(hosts: Hosts, client: str, tmp_path: Path) -> None:
    ended = outcome_of(
        hosts.start(f"--with={client}", "--requests=200", "--repetitions=1", "--timeout=60s", "--json", folder=tmp_path)
    )
    assert ended.code == 0, ended.stderr
    (told,) = json.loads(ended.stdout)["results"]
    clients = [f"{who} connections" for who in ("client1, 10", "client2, 10", "all, 20")]
    # The last row says what the CPUs of this host did meanwhile.
    assert [row["case"] for row in told["rows"]] == [*clients, "Together, 10 each"]
    assert not [flag for flag in told["flags"] if flag["name"] == "failed-requests"]
    for run in RunDirectory.open(tmp_path / "run").rows(RUNS).to_pylist():
        assert run["completed"] == 200
        assert run["received_bytes"] >= FILE_BYTES * run["completed"]
    # Nothing of ours stays there: a shell, a program, a connection.
    assert {comm(pid) for pid in pids(hosts.lab.ports[0].namespace_path.name)} <= {"sshd", "timeout", "dd", ""}


@pytest.mark.parametrize("how", ["killed", "cut"])
def test_a_load_dies_with_its_connection(hosts: Hosts, how: str, tmp_path: Path) -> None:
    child = hosts.start("--with=ab", "--duration=10min", "--repetitions=1", folder=tmp_path)
    until_s = time.monotonic() + PATIENCE_S
    while not (found := hosts.running("ab")):
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < until_s, "the load never began"
        time.sleep(0.05)
    process = os.pidfd_open(found[0])
    place = Namespace(hosts.lab.ports[2].namespace_path.name)
    try:
        if how == "killed":
            child.kill()
        else:
            place.run(lambda: Program("ip", "iproute2").run("link", "set", "host", "down"))
        assert select.select([process], [], [], PATIENCE_S)[0], "the load goes on though nobody asks for it"
        _, complaint = child.communicate(timeout=PATIENCE_S)
        assert how == "killed" or ("lost" in complaint and child.returncode == 2)
    finally:
        os.close(process)
        child.kill()
        if how == "cut":
            place.run(lambda: Program("ip", "iproute2").run("link", "set", "host", "up"))
            route = ("route", "replace", "198.18.0.0/16", "dev", "host", "src", hosts.lab.ports[2].address)
            place.run(lambda: Program("ip", "iproute2").run(*route))


def test_what_ssh_refuses_is_said_in_a_sentence(hosts: Hosts, tmp_path: Path) -> None:
    hosts.configuration.with_name("strange").write_text("Host *\n  IdentityFile none\n  UserKnownHostsFile none\n")
    strange = Hosts(hosts.lab, hosts.configuration.with_name("strange"))
    ended = outcome_of(strange.start("--requests=1", folder=tmp_path))
    assert ended.code == 2
    assert "cannot be reached by ssh: Host key verification failed" in ended.stderr
