"""Namespaces of real containers, by name: podman with runc, and a root file system that holds one static program."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.command_line import keisoku

from keisoku.ground.host.container import namespace_of
from keisoku.ground.host.namespace_names import inode
from keisoku.ground.host.two_ended.far_end import PROGRAM

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(
        not (shutil.which("podman") and shutil.which("runc")), reason="podman and runc are wanted: ./setup.sh test"
    ),
]
PODMAN = ("podman", "--runtime", "runc", "--cgroup-manager", "cgroupfs")
LIMITS = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024")
"""Podman's own are more than a container in a container may have."""


def podman(*words: str) -> str:
    return subprocess.run([*PODMAN, *words], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="module")
def container(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of one in which the far end of an outage runs, and nothing else is."""
    root = tmp_path_factory.mktemp("root")
    shutil.copy(PROGRAM, root / PROGRAM.name)
    name = f"keisoku-test-{os.getpid()}"
    serve = (f"/{PROGRAM.name}", "outage", "--at", "127.0.0.1")
    try:
        podman("run", "--detach", "--name", name, "--network", "none", *LIMITS, "--rootfs", str(root), *serve)
        yield name
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no container can be started here: {error.stderr.strip()}")
    finally:
        subprocess.run([*PODMAN, "rm", "--force", "--time", "0", name], capture_output=True, check=False)


def test_a_measurement_is_made_from_a_containers_namespace(container: str, tmp_path: Path) -> None:
    process = podman("container", "inspect", "--format", "{{.State.Pid}}", container)
    found = namespace_of(f"container:{container}")
    assert found == f"/proc/{process}/ns/net" and inode(Path(found)) != inode(None)
    done = keisoku("outage", "udp", f"127.0.0.1@container:{container}", "--duration", "0.5s", "--json", cwd=tmp_path)
    assert done.code == 0, done.stderr
    (result,) = json.loads(done.stdout)["results"]
    forward = next(row["figures"] for row in result["rows"] if row["case"] == "forward")
    assert forward["received"]["value"] > 20 and forward["never"]["value"] == 0


def test_a_container_that_is_not_there_or_does_not_run_is_refused_in_a_sentence(container: str, tmp_path: Path) -> None:
    for name, before in (("keisoku-is-not-there", ()), (container, ("stop", "--time", "0", container))):
        if before:
            podman(*before)
        done = keisoku("outage", "udp", f"127.0.0.1@container:{name}", cwd=tmp_path)
        assert done.code == 2
        assert f"no container that runs is called {name} (asked: " in done.stderr and "podman" in done.stderr
        assert len(done.stderr.strip().splitlines()) == 2, "how long it would take, and one sentence"
