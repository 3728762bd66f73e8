"""Real NETCONF clients at ports of a lab and of a host: over ssh to the agent, whose datastore is carried out."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from support.command_line import journal_of
from support.lab_passages import needs
from support.netconf import DATA, datastore, generator, leaves
from support.ssh_servers import missing

from keisoku.faces.netconf.server import PROGRAMS, NetconfServer, SshListening
from keisoku.faces.otg.control.controller import Controller
from keisoku.ground.host.namespace import Namespace, run_in_namespace
from keisoku.ground.host.program import Program
from keisoku.ground.host.undo import record, undo, undo_left
from keisoku.ground.lab.device import iproute

manager = pytest.importorskip("ncclient.manager", reason="needs the package ncclient")
RPCError = pytest.importorskip("ncclient.operations").RPCError
YANGCLI = Program("yangcli", "yangcli")
pytestmark = [
    pytest.mark.lab,
    needs(*PROGRAMS),
    pytest.mark.skipif(bool(missing()), reason=missing() or "sshd lets root in"),
]
A, B = "lab:bridge#1", "lab:bridge#2"
_ALL = '<interfaces xmlns="urn:ietf:params:xml:ns:yang:ietf-interfaces"/>'
_NAMES = {
    "if": "urn:ietf:params:xml:ns:yang:ietf-interfaces",
    "tg": "urn:ietf:params:xml:ns:yang:ietf-traffic-generator",
    "ta": "urn:ietf:params:xml:ns:yang:ietf-traffic-analyzer",
    "kt": "urn:keisoku:yang:keisoku-tester",
}


class Place:
    """Where the server listens, and the key that it lets in."""

    def __init__(self, folder: Path) -> None:
        self.key = folder / "mine"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.key)], check=True)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]

    @property
    def listening(self) -> SshListening:
        return SshListening("127.0.0.1", self.port, self.key.with_name("mine.pub"))

    def connect(self) -> Any:
        how = {"hostkey_verify": False, "allow_agent": False, "look_for_keys": False}
        return manager.connect_ssh("127.0.0.1", port=self.port, username="root", key_filename=str(self.key), **how)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def server(place: Place, tmp_path: Path) -> Iterator[NetconfServer]:
    controller = Controller(seed=1, runs=tmp_path)
    try:
        with NetconfServer(place.listening, controller, 100e6) as found:
            yield found
    finally:
        controller.close()
    assert not list(Path("/run").glob(f"keisoku-netconf-{os.getpid()}*"))


def commit(session: Any, text: str) -> None:
    operation = text.replace("<interfaces ", '<interfaces xmlns:nc="urn:ietf:params:xml:ns:netconf:base:1.0" ', 1)
    config = f'<config xmlns="urn:ietf:params:xml:ns:netconf:base:1.0">{operation}</config>'
    session.edit_config(config=config, target="candidate", default_operation="replace")
    session.commit()


def told(session: Any, path: str) -> str | None:
    tree = ElementTree.fromstring(session.get(filter=("subtree", _ALL)).data_xml)
    return tree.findtext(f".//{path}", namespaces=_NAMES)


def until_sent(session: Any) -> None:
    """A test's time limit ends it."""
    while told(session, "tg:traffic-generator/kt:state/kt:transmitting") == "true":
        pass


def test_a_client_generates_and_analyzes(server: NetconfServer, place: Place) -> None:
    with place.connect() as session, place.connect() as other:
        commit(session, datastore({}, (B,)))
        commit(session, datastore({A: generator(total_frames=500, testframe_type="nttg:dynamic")}, (B,)))
        until_sent(session)
        sent = "tg:traffic-generator/kt:state/"
        assert (told(session, f"{sent}kt:offered-frames"), told(session, f"{sent}kt:lost-frames")) == ("500", "0")
        seen, test = "ta:traffic-analyzer/ta:state/", "ta:testframe-stats/"
        assert (told(other, f"{seen}ta:pkts"), told(other, f"{seen}ta:octets")) == ("500", "32000")
        assert (
            told(other, f"{seen}{test}ta:testframe-pkts") == told(other, f"{seen}{test}ta:latency/ta:samples") == "500"
        )
        assert told(other, f"{seen}{test}ta:sequence-errors") == told(other, f"{seen}{test}ta:payload-errors") == "0"
        least, mean, most = (int(told(other, f"{seen}{test}ta:latency/ta:{n}") or 0) for n in ("min", "average", "max"))
        assert 0 < least <= mean <= most
        commit(session, datastore({A: leaves(streams=_two_streams())}, (B,)))
        until_more = 500
        while int(told(other, f"{seen}ta:pkts") or 0) <= until_more:
            pass
        commit(session, datastore({}, (B,)))  # it has no end of its own
        assert told(other, "tg:traffic-generator/kt:state/kt:transmitting") is None
        total = told(other, f"{seen}ta:pkts")
        assert int(total or 0) > until_more and total == told(other, f"{seen}{test}ta:testframe-pkts")


def _two_streams() -> str:
    """A round of both lasts 10 ms on a line of 100 Mb/s."""
    parts = [
        f"<stream><id>{number}</id><frame-size>{size}</frame-size><frame-data>{DATA}</frame-data>"
        f"<interframe-gap>20</interframe-gap><frames-per-stream>{count}</frames-per-stream>"
        f"<interstream-gap>62300</interstream-gap></stream>"
        for number, size, count in ((1, 64, 3), (2, 128, 1))
    ]
    return "".join(parts)


@contextmanager
def host_with_two_ports() -> Iterator[Namespace]:
    """The loopback, and the interfaces n1 and n2, joined by a cable, of which the kernel says nothing by itself."""
    namespace = Namespace(f"keisoku-{os.getpid()}-9500-tester")
    entry = record("namespace", name=namespace.name)
    try:
        namespace.create()
        cable = "link add n1 type veth peer name n2"
        namespace.run(
            partial(iproute.ip, cable, *(f"link set {name} up addrgenmode none" for name in ("lo", "n1", "n2")))
        )
        yield namespace
    finally:
        undo(entry)


@pytest.mark.parametrize("engine", ["packet", "xdp"])
def test_interfaces_of_a_host_generate_and_analyze(engine: str, place: Place, tmp_path: Path) -> None:
    near, far = f"{engine}:n1", f"{engine}:n2"
    own = ["--user", "root", "--http-port", "0", "--no-grpc", "--speed", "100M", "--runs", str(tmp_path / "runs")]
    where = ["--netconf-port", str(place.port), "--netconf-keys", str(place.key.with_name("mine.pub"))]
    with host_with_two_ports() as host:
        command = ["ip", "netns", "exec", host.name, sys.executable, "-m", "keisoku", "serve", *own, *where]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as child:
            try:
                assert child.stdout is not None
                assert any(line.startswith("NETCONF at ssh://root@127.0.0.1") for line in child.stdout)
                with run_in_namespace(host.path, place.connect) as session:
                    for count, seen_frames in ((500, 500), (7, 507)):  # an analyzer counts on
                        commit(session, datastore({near: generator(total_frames=count)}, (far,)))
                        until_sent(session)
                        state = "tg:traffic-generator/kt:state/"
                        sent, lost = told(session, f"{state}kt:offered-frames"), told(session, f"{state}kt:lost-frames")
                        seen = "ta:traffic-analyzer/ta:state/"
                        found = [told(session, f"{seen}{leaf}") for leaf in ("ta:pkts", "ta:octets")]
                        assert [sent, lost, *found] == [str(count), "0", str(seen_frames), str(64 * seen_frames)]
                        assert told(session, f"{seen}ta:testframe-stats/ta:testframe-pkts") == str(seen_frames)
                    with pytest.raises(RPCError, match="n3"):
                        commit(session, datastore({f"{engine}:n3": generator()}, (far,)))
            finally:
                child.send_signal(signal.SIGINT)
        assert child.returncode == 0


def test_what_is_refused_names_its_path_and_changes_nothing(server: NetconfServer, place: Place) -> None:
    with place.connect() as session:
        commit(session, datastore({A: generator(total_frames=20)}, (B,)))
        until_sent(session)
        with pytest.raises(RPCError) as caught:
            commit(session, datastore({A: generator(frame_size=300, interframe_gap=12)}, (B,)))
        leaf = f"/interfaces/interface[name='{A}']/traffic-generator/interframe-gap"
        assert caught.value.tag == "invalid-value"
        assert leaf in caught.value.message and "no port leaves less than 20 octets" in caught.value.message
        session.discard_changes()
        assert told(session, "tg:traffic-generator/tg:frame-size") == "64"
        assert told(session, "ta:traffic-analyzer/ta:state/ta:pkts") == "20"
        for absent in ("<realtime-epoch>2030-01-01T00:00:00Z</realtime-epoch>", "<nothing/>"):
            with pytest.raises(RPCError):
                commit(session, datastore({A: generator() + absent}, (B,)))
            session.discard_changes()


def test_only_the_key_is_let_in_and_only_for_netconf(server: NetconfServer, place: Place, tmp_path: Path) -> None:
    how = ["-p", str(place.port), "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]
    own = ["ssh", *how, "-o", "IdentitiesOnly=yes", "-i", str(place.key), "root@127.0.0.1", "id"]
    with subprocess.Popen(own, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as shell:
        assert shell.stdout and b"<hello" in shell.stdout.read(100)  # whatever was asked for
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "other")], check=True)
    other = [*own[:-4], "-i", str(tmp_path / "other"), "-o", "BatchMode=yes", *own[-2:]]
    done = subprocess.run(other, input=b"", capture_output=True, timeout=30, check=False)
    assert done.returncode == 255 and b"Permission denied" in done.stderr


@pytest.mark.long
@needs(YANGCLI)
def test_a_session_of_yangcli(server: NetconfServer, place: Place, tmp_path: Path) -> None:
    """In the meaning of the example of draft-ietf-bmwg-network-tester-cfg."""
    script = tmp_path / "script"
    script.write_text(
        f"create /interfaces/interface -- name='{B}' type=ethernetCsmacd\n"
        f"create /interfaces/interface[name='{B}']/traffic-analyzer\ncommit\n"
        f"create /interfaces/interface -- name='{A}' type=ethernetCsmacd\n"
        f"create /interfaces/interface[name='{A}']/traffic-generator -- frame-size=64 interframe-gap=1498 "
        f"total-frames=1000 testframe-type=dynamic frame-data={DATA}\ncommit\n"
    )
    keys = [f"--private-key={place.key}", f"--public-key={place.key}.pub"]
    where = ["--server=127.0.0.1", f"--ncport={place.port}", "--user=root", "--batch-mode", *keys]
    done = subprocess.run(
        [YANGCLI.path or "", *where, f"--run-script={script}"], capture_output=True, text=True, check=False
    )
    assert done.stdout.count("RPC OK Reply") == 6, done.stdout
    with place.connect() as session:
        until_sent(session)
        assert told(session, "ta:traffic-analyzer/ta:state/ta:testframe-stats/ta:testframe-pkts") == "1000"


def test_a_killed_server_leaves_nothing(place: Place, tmp_path: Path) -> None:
    where = ["--netconf-port", str(place.port), "--netconf-keys", str(place.key.with_name("mine.pub"))]
    own = ["--user", "root", "--http-port", "0", "--no-grpc", "--speed", "100M", "--runs", str(tmp_path / "runs")]
    command = [sys.executable, "-m", "keisoku", "serve", *own, *where]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    assert child.stdout is not None
    assert any(line.startswith("NETCONF at ssh://root@127.0.0.1") for line in child.stdout)
    commit(place.connect(), datastore({A: generator()}, (B,)))
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    while journal_of(child.pid):
        undo_left()
    assert not Path(f"/run/keisoku-netconf-{child.pid}").exists()
    left = subprocess.run(["pgrep", "-f", f"keisoku-netconf-{child.pid}"], capture_output=True, text=True, check=False)
    assert left.stdout == ""
