"""Ports of a lab's system as a user's file names them, and what limits them."""

from __future__ import annotations

import subprocess
from pathlib import Path

from keisoku.ground.lab.system.lab import SystemLab


def ports_file(lab: SystemLab, folder: Path) -> Path:
    """A file of the first two clients' ports, as a user of the lab would write one."""
    clients = [
        f'[[client]]\nname = "{port.name}"\ninterface = "{port.limit_interface}"\n'
        f'namespace = "{port.limit_namespace.name}"\naddress = "{port.address}"\nline_bps = 1e8\n'
        f'seen = {{ interface = "{port.seen_interface}", namespace = "{port.seen_namespace}", line_bps = 1e8 }}\n'
        for port in lab.ports[:2]
    ]
    path = folder / "ports.toml"
    path.write_text("\n".join(clients))
    return path


def discipline(namespace: str, interface: str) -> str:
    """The queueing disciplines of an interface, as tc shows them."""
    command = ["ip", "netns", "exec", namespace, "tc", "qdisc", "show", "dev", interface]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
