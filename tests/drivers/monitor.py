"""QEMU's monitor: what an operator does to cards and cables while a case runs."""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path
from typing import Any

from drivers.driver import BY_NAME

_UNPLUGGED_S = 60.0


class Monitor:
    """Speaks QMP. Methods whose names have no underscore in front are what a case may ask for."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(_UNPLUGGED_S)
        self._socket.connect(str(path))
        self._lines = self._socket.makefile("r")
        self._lines.readline()
        self._execute("qmp_capabilities")

    def set_link(self, driver: str, end: int, up: bool) -> None:
        """Pulls out the cable of a port, or plugs it in."""
        self._execute("set_link", name=_card(driver, end), up=up)

    def unplug(self, driver: str, end: int) -> None:
        """Removes the card; returns when the guest has let it go."""
        card = _card(driver, end)
        self._execute("device_del", id=card)
        deadline = time.monotonic() + _UNPLUGGED_S
        while time.monotonic() < deadline:
            event = json.loads(self._lines.readline())
            if event.get("event") == "DEVICE_DELETED" and event["data"].get("device") == card:
                return
        raise TimeoutError(f"the guest kept {card}")

    def plug(self, driver: str, end: int) -> None:
        """Puts the card back."""
        self._execute("device_add", **arguments(driver, end))

    def close(self) -> None:
        self._lines.close()
        self._socket.close()

    def quit(self) -> None:
        """Ends the guest."""
        self._execute("quit")

    def _execute(self, command: str, **arguments: Any) -> Any:
        self._socket.sendall(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
        while True:
            answer = json.loads(self._lines.readline())
            if "error" in answer:
                raise RuntimeError(f"{command}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]


def arguments(driver: str, end: int) -> dict[str, str]:
    """How the card is described to QEMU."""
    own = BY_NAME[driver]
    card = _card(driver, end)
    return {"driver": own.model, "id": card, "netdev": f"net-{card}", "mac": own.mac(end), "bus": f"root-{card}"}


def _card(driver: str, end: int) -> str:
    return BY_NAME[driver].port(end)
