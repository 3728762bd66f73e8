"""The topology of containerlab, with network namespaces for its nodes: the server and its script work."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.certificate import self_signed, token_file

from keisoku.ground.lab.device.vswitch import PROGRAMS as LAGS
from keisoku.ground.lab.frr import PROGRAMS as FRR
from keisoku.ground.lab.tester_agents import PROGRAMS as LLDP

pytestmark = pytest.mark.lab

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples/containerlab"
TOPOLOGY: dict[str, Any] = yaml.safe_load((FOLDER / "otg.clab.yml").read_text())["topology"]
SCRIPT = (FOLDER / "flow.py").read_text()
PREFIX = f"keisoku-clab-{os.getpid()}"
"""Of the namespaces; no name of a lab, so never cleaned as one."""


def node(name: str) -> dict[str, Any]:
    own: dict[str, Any] = TOPOLOGY["nodes"][name]
    inherited: dict[str, Any] = TOPOLOGY["groups"].get(own.get("group"), {})
    return inherited | own


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@contextmanager
def deployed() -> Iterator[None]:
    """As containerlab does it: a node's interfaces are up, then its commands are carried out."""
    try:
        for name in TOPOLOGY["nodes"]:
            ip("netns", "add", f"{PREFIX}-{name}")
            ip("-n", f"{PREFIX}-{name}", "link", "set", "lo", "up")
        for link in TOPOLOGY["links"]:
            ends = [end.split(":") for end in link["endpoints"]]
            (here, one), (there, other) = [(f"{PREFIX}-{name}", interface) for name, interface in ends]
            ip("-n", here, "link", "add", one, "type", "veth", "peer", "name", other, "netns", there)
            ip("-n", here, "link", "set", one, "up")
            ip("-n", there, "link", "set", other, "up")
        for name in TOPOLOGY["nodes"]:
            for line in node(name).get("exec", []):
                subprocess.run(["ip", "netns", "exec", f"{PREFIX}-{name}", *shlex.split(line)], check=True)
        yield
    finally:
        for name in TOPOLOGY["nodes"]:
            subprocess.run(["ip", "netns", "del", f"{PREFIX}-{name}"], check=False)


def test_the_script_of_the_page_sends_frames_through_the_topology(tmp_path: Path) -> None:
    folder = tmp_path / "tls"
    folder.mkdir()
    certificate, key = self_signed(folder)
    certificate.rename(folder / "certificate.pem")
    key.rename(folder / "key.pem")
    token_file(folder, "lab:0123456789abcdef")
    where = ["ip", "netns", "exec", f"{PREFIX}-tester", sys.executable]
    words = shlex.split(node("tester")["cmd"].replace("/tls/", f"{folder}/"))
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with deployed():
        # Where Python is root's own nobody else can run it.
        command = [*where, "-m", "keisoku", *words, "--user", "root", "--runs", str(tmp_path / "runs")]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
        assert server.stdout is not None
        try:
            said = []
            for line in server.stdout:
                said.append(line)
                if "OTG at https://" in line:
                    break
            else:
                pytest.fail("".join(said))
            assert "verify=False" in SCRIPT and "clab-otg-tester" in SCRIPT
            script = SCRIPT.replace("clab-otg-tester", "127.0.0.1")
            done = subprocess.run(
                [*where, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False, env=environment
            )
        finally:
            server.terminate()
            server.wait()
            server.stdout.close()
    assert done.stdout.split() == ["1000", "1000"], done.stderr


def test_the_image_is_of_this_version_and_has_what_speaks_protocols() -> None:
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    own = (FOLDER / "Containerfile").read_text()
    assert {node(name)["image"] for name in TOPOLOGY["nodes"]} == {f"keisoku:{version}"}
    assert f"FROM keisoku:{version}\n" in own
    packages = {program.package for program in (*FRR, *LLDP, *LAGS)}
    assert packages <= set(own.split())
