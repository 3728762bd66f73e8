"""LLDP agents of a script, and another lldpd that a test runs at the far side of a port, with its own account."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import snappi

from keisoku.ground.host.namespace import run_in_namespace
from keisoku.ground.host.undo import record_chroot, undo
from keisoku.ground.lab.tester_agents import CHROOT, LLDPCLI, LLDPD


def lldp_agent(config: Any, port: int, name: str = "") -> Any:
    """An agent at port 1 or 2 that speaks as often as OTG allows."""
    agent = config.lldp.lldp(name=name or f"lldp{port}")[-1]
    agent.connection.port_name = f"p{port}"
    agent.advertisement_interval, agent.hold_time = 5, 20
    return agent


def lldp_metrics(api: Any, *names: str) -> dict[str, Any]:
    """Metrics of agents by name, all without names."""
    request = snappi.MetricsRequest()
    request.lldp.lldp_names = list(names)
    return {metric.name: metric for metric in api.get_metrics(request).lldp_metrics}


def neighbours(api: Any, *names: str) -> list[Any]:
    """What agents have found, all without names."""
    request = snappi.StatesRequest()
    request.lldp_neighbors.lldp_names = list(names)
    return list(api.get_states(request).lldp_neighbors)


def await_neighbours(api: Any, wanted: Callable[[list[Any]], bool], *names: str) -> list[Any]:
    """Neighbours once they are as wanted; a test's time limit ends it otherwise."""
    while not wanted(found := neighbours(api, *names)):
        pass
    return found


class FarAgent:
    """An lldpd that is not the tester's: what it is told, and what it says."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    def says(self, *words: str) -> list[Any]:
        """Entries of its interface, or of its neighbours."""
        (whole,) = json.loads(LLDPCLI.run("-u", str(self._socket), "-f", "json0", *words)).values()
        return [each for part in whole for each in part.get("interface", ())]

    def neighbours(self) -> list[Any]:
        """What it has found."""
        return self.says("show", "neighbors", "details")

    def counts(self) -> dict[str, int]:
        """Its statistics."""
        (entry,) = self.says("show", "statistics")
        return {name: int(each[0][name]) for name, each in entry.items() if name != "name"}

    def tell(self, *words: str) -> None:
        """A command."""
        LLDPCLI.run("-u", str(self._socket), *words)


@contextmanager
def far_agent(namespace: Path, interface: str, commands: Sequence[str]) -> Iterator[FarAgent]:
    """One at an interface of a namespace, until the block ends."""
    made = record_chroot(CHROOT)
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o711)  # lldpcli is another user's
        file, socket, said = (folder / each for each in ("conf", "socket", "log"))
        file.write_text("".join(f"{command}\n" for command in commands))
        words = [LLDPD.path or LLDPD.name, "-d", "-u", str(socket), "-O", str(file), "-I", interface]
        with said.open("wb") as log:
            process = run_in_namespace(namespace, lambda: subprocess.Popen(words, stdout=log, stderr=log))
        try:
            while "should resume" not in said.read_text():
                assert process.poll() is None, said.read_text()
            yield FarAgent(socket)
        finally:
            process.terminate()
            process.wait()
            undo(*made)
