"""The server as a process: it gives up root, and leaves nothing behind when it is killed while traffic runs."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import snappi
from pyroute2 import IPRoute
from support.command_line import journal_of, namespaces_of
from support.lab_passages import needs
from support.otg_bgp import await_peers, bgp_device, protocols
from support.otg_lldp import lldp_agent, lldp_metrics
from support.otg_server import set_traffic, two_ports, udp_flow, until, until_stopped

from keisoku.faces.otg.serving.privilege import LABS, PORTS, ROOTS
from keisoku.ground.host.capability import BITS
from keisoku.ground.host.namespace import Namespace
from keisoku.ground.host.process import lives
from keisoku.ground.lab.frr import PROGRAMS as FRR
from keisoku.ground.lab.tester_agents import PROGRAMS as LLDP

pytestmark = pytest.mark.lab
_BPF_PROG_GET_FD_BY_ID = 13
_SYS_BPF = {"x86_64": 321, "aarch64": 280}

USER = "root" if Path(sys.base_prefix).is_relative_to("/root") else "nobody"
"""Where Python is root's own nobody else can run it, and root without capabilities takes nobody's place."""


@contextmanager
def serving(*options: str, start: Callable[[Callable[[], Any]], Any] = lambda make: make()) -> Iterator[Any]:
    """A server of its own process and snappi's client for it, started as `start` does."""
    command = [sys.executable, "-m", "keisoku", "serve", "--http-port", "0", "--no-grpc", *options]
    process = start(lambda: subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    try:
        said = []
        for line in process.stdout:
            said.append(line)
            found = re.search(r"http://\S+:\d+", line)
            if found:
                break
        else:
            pytest.fail("".join(said))
        yield process, snappi.api(location=found[0], transport="http")
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def status(process: int) -> dict[str, str]:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def capabilities(names: tuple[str, ...]) -> int:
    return sum(1 << BITS[name] for name in names)


def programs(process: int) -> list[int]:
    """Numbers of the BPF programs that a process holds."""
    found = []
    for place in Path(f"/proc/{process}/fdinfo").iterdir():
        found += [int(number) for number in re.findall(r"^prog_id:\s*(\d+)", place.read_text(), re.MULTILINE)]
    return found


def is_loaded(program: int) -> bool:
    attributes = (ctypes.c_uint32 * 4)(program)
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(_SYS_BPF[os.uname().machine], _BPF_PROG_GET_FD_BY_ID, attributes, ctypes.sizeof(attributes))
    if fd < 0:
        assert ctypes.get_errno() == errno.ENOENT
        return False
    os.close(fd)
    return True


def captures(process: int) -> list[Path]:
    """Folders of a server's captures."""
    return list(Path(tempfile.gettempdir()).glob(f"keisoku-otg-{process}-*"))


def interfaces() -> tuple[set[str], int]:
    """Names of this namespace's interfaces, and how many queueing disciplines there are."""
    with IPRoute() as ip:
        return {str(link.get("ifname")) for link in ip.get_links()}, len(list(ip.get_qdiscs()))


def await_nothing_left(process: int) -> None:
    """What a killed server left is removed without another start; a test's time limit ends it."""
    while namespaces_of(process) or journal_of(process) or captures(process):
        os.sched_yield()


def test_a_server_that_was_killed_leaves_nothing_behind() -> None:
    before = interfaces()
    with serving() as (process, api):
        config = two_ports("lab:bridge#1", "lab:bridge#2")
        udp_flow(config).duration.continuous.gap = 12
        config.captures.capture(name="c")[-1].port_names = ["p2"]
        api.set_config(config)
        control = snappi.ControlState()
        control.port.capture.state = "start"
        api.set_control_state(control)
        set_traffic(api, "start")
        until(api, lambda found: found[0].frames_tx > 0)
        found = status(process.pid)
        assert "0" not in found["Uid"].split()
        assert int(found["CapEff"], 16) == int(found["CapBnd"], 16) == capabilities(PORTS + LABS)
        assert found["NoNewPrivs"] == "1"
        held = programs(process.pid)
        assert len(held) >= 2
        assert namespaces_of(process.pid)
        assert captures(process.pid)
        process.kill()
        process.wait()
        # The kernel takes a program away once no processor can be in it any more.
        while any(is_loaded(program) for program in held):
            os.sched_yield()
    await_nothing_left(process.pid)
    assert interfaces() == before


def test_without_labs_it_keeps_only_what_ports_need() -> None:
    namespace = Namespace(f"keisoku-{os.getpid()}-dut")

    def connect() -> None:
        with IPRoute() as ip:
            ip.link("add", ifname="one", kind="veth", peer={"ifname": "other"})
            for name in ("one", "other"):
                ip.link("set", index=ip.link_lookup(ifname=name)[0], state="up")
            ip.link("set", index=ip.link_lookup(ifname="lo")[0], state="up")

    def talk(process: Any, api: Any) -> None:
        found = status(process.pid)
        assert ("0" in found["Uid"].split()) is (USER == "root")
        assert int(found["CapEff"], 16) == capabilities(PORTS)
        config = two_ports("xdp:one", "xdp:other")
        udp_flow(config, packets=50)
        api.set_config(config)
        set_traffic(api, "start")
        (metric,) = until_stopped(api)
        assert metric.frames_tx == 50
        if USER != "root":
            with pytest.raises(Exception, match="a lab needs to write to /run/netns"):
                api.set_config(two_ports("lab:bridge#1", "lab:bridge#2"))

    namespace.create()
    try:
        namespace.run(connect)

        def inside() -> None:
            with serving("--no-labs", "--user", USER) as (process, api):
                talk(process, api)

        namespace.run(inside)
    finally:
        namespace.remove()


def test_a_run_of_methods_is_kept_where_the_user_may_write() -> None:
    plan = {"methods": ["trial"], "dut": "sim:gs908e", "frame_bytes": [64], "trial": {"trial_s": 0.01}}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        served = Path(folder) / "served"
        with serving("--user", USER, "--no-labs", "--runs", str(served)) as (process, api):
            address = f"{api._transport.location}/keisoku/v1/runs"
            key = {"Authorization": f"Bearer {process.stdout.readline().strip().partition('key=')[2]}"}
            request = urllib.request.Request(address, json.dumps(plan).encode(), key)
            with urllib.request.urlopen(request, timeout=60) as answer:
                run = json.load(answer)["run"]
            while True:
                with urllib.request.urlopen(f"{address}/{run}", timeout=60) as answer:
                    status_ = json.load(answer)
                if status_["state"] != "running":
                    break
        assert status_["state"] == "finished", status_
        assert (served / run / "result.json").is_file()


@needs(*FRR, *LLDP)
def test_as_root_it_keeps_what_daemons_need_that_give_root_up_themselves() -> None:
    config = two_ports("lab:bgp#1", "lab:bgp#2")
    bgp_device(config, 1)
    lldp_agent(config, 2)
    with serving("--user", "root") as (process, api):
        assert int(status(process.pid)["CapBnd"], 16) == capabilities(PORTS + LABS + ROOTS)
        api.set_config(config)
        protocols(api, "start")
        await_peers(api, lambda peers: peers["peer1"].session_state == "up")
        assert lldp_metrics(api)["lldp2"].frames_tx >= 1
        process.terminate()
        assert "Traceback" not in process.stdout.read(), "the socket was closed before the thread that serves had ended"


@needs(*FRR)
def test_sessions_end_with_a_server_that_is_killed() -> None:
    """They once stayed up at the device until the next start."""
    config = two_ports("lab:bgp#1", "lab:bgp#2")
    bgp_device(config, 1)
    with serving("--user", "root") as (process, api):
        api.set_config(config)
        protocols(api, "start")
        await_peers(api, lambda peers: peers["peer1"].session_state == "up")
        daemons = [json.loads(entry.read_text()) for entry in journal_of(process.pid, "process")]
        assert daemons and all(lives(each["number"], each["born"]) for each in daemons)
        process.kill()
        process.wait()
        await_nothing_left(process.pid)
    assert not any(lives(each["number"], each["born"]) for each in daemons)
