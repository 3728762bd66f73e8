"""Limits at ports that a user's file names: here, in namespaces, and on a host that ssh reaches."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.command_line import Child, journal_of, outcome_of, start
from support.limited_ports import discipline, ports_file
from support.ssh_servers import PORT, missing, pids, ssh_servers

from keisoku.ground.host.namespace import Namespace
from keisoku.ground.lab.system.lab import SystemLab
from keisoku.ground.lab.system.shape import ServedFile, SystemShape
from keisoku.subjects.system.network.background import Background, BackgroundLoad
from keisoku.subjects.system.network.net_file import read_net
from keisoku.subjects.system.network.remote_system import RemoteSystem

pytestmark = [pytest.mark.lab, pytest.mark.alone]
PATIENCE_S = 60
SEARCH = ["--objective", "sum_bytes", "--floor", "5M", "--interval", "0.5s", "--settle", "0.5s", "--budget", "10"]


@pytest.fixture(scope="module")
def lab() -> Iterator[SystemLab]:
    """Of 100 Mb/s, UDP takes nearly all and delivers 20; limited to what its last line carries, others get the rest."""
    shape = SystemShape((20_000_000, 75_000_000, None), uplink_bps=100_000_000, queue_bytes=300_000)
    with SystemLab(SystemShape(**{**vars(shape), "files": (ServedFile(100_000),)})) as made:
        yield made


def until(met: Callable[[], object], why: str, child: Child) -> None:
    until_s = time.monotonic() + PATIENCE_S
    while not met():
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < until_s, why
        time.sleep(0.05)


@pytest.mark.long
def test_the_best_limit_of_a_port_that_a_file_names_is_found(lab: SystemLab, tmp_path: Path) -> None:
    load = Background(connections=(0, 6, 0), udp_bps=(95_000_000, None, None), bulk=(0, 0, 0))
    words = ["--client", "client1", *SEARCH, "--repetitions", "2", "--out", "run"]
    with BackgroundLoad(lab, load):
        ended = outcome_of(
            start("system", "limit", "--system", f"net:{ports_file(lab, tmp_path)}", *words, cwd=tmp_path), 120
        )
    assert ended.code == 0, ended.stderr
    (told,) = json.loads((tmp_path / "run" / "result.json").read_text())
    (advised,) = [row for row in told["rows"] if row["case"] == "advised"]
    assert advised["figures"]["limit"]["value"] < 70e6
    # It is twice as much on a calm host; whatever a host does, it is more.
    assert advised["figures"]["gain_over_no_limit"]["value"] > 20
    assert "htb" not in discipline(lab.ports[0].limit_namespace.name, "up")


def test_a_killed_search_leaves_no_limit_at_a_port_that_a_file_names(lab: SystemLab, tmp_path: Path) -> None:
    words = ["--client", "client1", *SEARCH, "--out", "run"]
    child = start("system", "limit", "--system", f"net:{ports_file(lab, tmp_path)}", *words, cwd=tmp_path)
    switch = lab.ports[0].limit_namespace.name
    until(lambda: "htb" in discipline(switch, "up"), "no limit was ever set", child)
    child.kill()
    child.communicate()
    until_s = time.monotonic() + PATIENCE_S
    while "htb" in discipline(switch, "up") or journal_of(child.pid, "limit"):
        assert time.monotonic() < until_s, "the limit stayed"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def remote(lab: SystemLab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file of the interface of another host, which only ssh reaches."""
    folder = tmp_path_factory.mktemp("ssh")
    port = lab.ports[0]
    with ssh_servers(folder, {port.address: Namespace(port.namespace_path.name)}) as configuration:
        path = folder / "remote.toml"
        path.write_text(
            f'title = "another host"\nhost = "ssh://root@{port.address}:{PORT}"\nssh_config = "{configuration}"\n'
            '[[client]]\nname = "server"\ninterface = "host"\nline_bps = 2e7\n'
        )
        yield path


needs_ssh = pytest.mark.skipif(bool(missing()), reason=missing())


@needs_ssh
def test_a_port_of_another_host_is_limited_read_back_and_left_as_it_was(lab: SystemLab, remote: Path) -> None:
    place, other = Namespace(lab.ports[2].namespace_path.name), lab.ports[0].namespace_path.name

    def work() -> None:
        with RemoteSystem(read_net(remote)) as system:
            assert dict(system.ports) == {"server": 2e7} and "HTB" in json.dumps(system.facts())
            assert system.observe(0.1).clients[0].limit_bps is None
            system.limit({"server": 3e6})
            seen = system.observe(0.5)
            assert seen.clients[0].limited_to(3e6) and 0.4 < seen.seconds < 5
            assert seen.clients[0].sent_bytes > 0, "the answers of ssh itself pass there"
            assert "htb 6b73:" in discipline(other, "host")
        assert "htb" not in discipline(other, "host")

    place.run(work)


@needs_ssh
@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.long)])
def test_a_search_that_is_gone_or_hangs_leaves_no_limit_on_another_host(
    lab: SystemLab, remote: Path, number: int, tmp_path: Path
) -> None:
    prefix = ["ip", "netns", "exec", lab.ports[2].namespace_path.name]
    other = lab.ports[0].namespace_path.name
    words = [*SEARCH, "--floor", "2M", "--out", "run"]
    child = start("system", "limit", "--system", f"net:{remote}", *words, cwd=tmp_path, prefix=prefix)
    until(lambda: "htb" in discipline(other, "host"), "no limit was ever set", child)
    os.kill(child.pid, number)
    until_s = time.monotonic() + PATIENCE_S
    while "htb" in discipline(other, "host"):
        assert time.monotonic() < until_s, "the limit stayed"
        time.sleep(0.05)
    child.kill()
    child.communicate()
    names = {Path(f"/proc/{pid}/cmdline").read_bytes() for pid in pids(other) if Path(f"/proc/{pid}").exists()}
    assert len(names) < 20
