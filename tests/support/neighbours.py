"""The MAC addresses that the device of a lab knows of the hosts around it."""

from __future__ import annotations

import os
import socket

from pyroute2 import IPRoute

from keisoku.ground.host.namespace import named, run_in_namespace
from support.command_line import device_of


def known_neighbours() -> dict[str, str]:
    """By their addresses, in the only lab that this process has made."""
    return run_in_namespace(named(device_of(os.getpid())), _read)


def _read() -> dict[str, str]:
    with IPRoute() as ip:
        return {
            str(entry.get("dst")): str(entry.get("lladdr"))
            for family in (socket.AF_INET, socket.AF_INET6)
            for entry in ip.get_neighbours(family=family)
            if entry.get("lladdr")
        }
