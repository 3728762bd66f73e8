"""Opens 'net:FILE': real ports that a user's TOML file names, here or on a host that ssh reaches."""

from __future__ import annotations

from pathlib import Path

from keisoku.errors import PlanError
from keisoku.subjects.system.network.net_file import governed_ports, read_net
from keisoku.subjects.system.network.network_system import NetworkSystem
from keisoku.subjects.system.network.remote_system import RemoteSystem
from keisoku.subjects.system.system import System

NAMES = "FILE.toml"


def open_system(name: str, seed: int) -> System:
    """The ports of that file, not yet entered. Raises PlanError. Nothing in it is random by `seed`."""
    if not name.endswith(".toml"):
        raise PlanError("system", f"there is no system 'net:{name}'", f"use net:{NAMES}")
    file = read_net(Path(name))
    if file.host is not None:
        return RemoteSystem(file)
    return NetworkSystem(governed_ports(file), file.server_line_bps, file.title)
