"""MTU and offloads of one interface, changed for a measurement and set back on any exit.

The interface with the default route is never touched.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from pyroute2 import IPRoute, NetlinkError

from keisoku.errors import EngineError
from keisoku.ground.host.address import interface_towards
from keisoku.ground.host.interface import Interface, change, settings
from keisoku.ground.host.namespace import named, run_in_namespace
from keisoku.ground.host.undo import record, undo, undo_left


class InterfaceSetting:
    """Of the interface by which `peer` is reached in a namespace (a path; None: this one). A context manager.

    Raises EngineError if there is none, if it has the default route, or if it refuses.
    """

    def __init__(self, namespace: str | None, peer: str) -> None:
        self._namespace, self._peer = named(namespace), peer
        self._entry: Path | None = None
        self._before: dict[str, int | bool] = {}
        self.interface = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def set(self, values: Mapping[str, int | bool]) -> None:
        """Set what is named (`mtu`, `tso`, `gso`, `gro`); what was set before and is not named is set back."""
        if self._entry is None:
            if not values:
                return
            undo_left()
            self.interface = run_in_namespace(self._namespace, lambda: _towards(self._peer))
            self._before = run_in_namespace(self._namespace, lambda: settings(self.interface))
            found = Interface.find(self.interface, self._namespace)
            self._entry = record("settings", interface=vars(found), before=self._before)
        wanted = {**self._before, **values}
        run_in_namespace(self._namespace, lambda: change(self.interface, wanted))

    def close(self) -> None:
        """Set all back; twice is no error."""
        if self._entry:
            undo(self._entry)
            self._entry = None


def _towards(peer: str) -> str:
    with IPRoute() as ip:
        try:
            index = interface_towards(ip, peer)
        except NetlinkError as error:
            raise EngineError(f"there is no route to {peer}; check the routes") from error
        name = str(ip.get_links(index)[0].get_attr("IFLA_IFNAME"))
        if any(route.get_attr("RTA_OIF") == index for route in ip.get_default_routes()):
            raise EngineError(f"{name} has the default route: its settings are not changed; use another interface")
        return name
