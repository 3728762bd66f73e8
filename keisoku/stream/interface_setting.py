"""MTU and offloads of one interface, changed for a measurement and set back on any exit.

What they were stands in a file before the first change, so that `keisoku clean` sets back what a killed process left.
The interface with the default route is never touched.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from pyroute2 import IPRoute, NetlinkError

from keisoku.errors import EngineError
from keisoku.host.ethtool import offloads, set_offload
from keisoku.host.namespace import within
from keisoku.host.owner import born_at, lives

FOLDER = Path("/run")
_PREFIX = "keisoku-interface-"
_OFFLOADS = {"tso": "TCP segmentation", "gso": "generic segmentation", "gro": "GRO"}
_numbers = itertools.count()
_Outcome = TypeVar("_Outcome")


class InterfaceSetting:
    """Of the interface by which `peer` is reached in a namespace (a path; None: this one). A context manager.

    Raises EngineError if there is none, if it bears the default route, or if it refuses.
    """

    def __init__(self, namespace: str | None, peer: str) -> None:
        self._namespace, self._peer = namespace, peer
        self._file = FOLDER / f"{_PREFIX}{os.getpid()}-{born_at(os.getpid())}-{next(_numbers)}.json"
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
        if not values and not self._before:
            return
        if not self._before:
            self.interface = _inside(self._namespace, lambda: _towards(self._peer))
            self._before = _inside(self._namespace, lambda: _state(self.interface))
            content = {"namespace": self._namespace, "interface": self.interface, "before": self._before}
            try:
                self._file.write_text(json.dumps(content))
            except OSError as error:
                raise EngineError(f"{self._file} cannot be written ({error.strerror}); run keisoku as root") from error
        wanted = {**self._before, **values}
        _inside(self._namespace, lambda: _change(self.interface, wanted))

    def close(self) -> None:
        """Set all back; twice is no error."""
        if self._before:
            before, self._before = self._before, {}
            _inside(self._namespace, lambda: _change(self.interface, before))
            self._file.unlink(missing_ok=True)


def restore_left(force: bool = False) -> list[str]:
    """Set back what processes left that are gone, with `force` of all; names of the interfaces."""
    restored = []
    for file in sorted(FOLDER.glob(f"{_PREFIX}*.json")):
        process, born, _ = map(int, file.stem.removeprefix(_PREFIX).split("-"))
        if not force and lives(process, born):
            continue
        # Where the namespace or the interface is gone, so are its settings.
        with suppress(OSError, ValueError, KeyError, EngineError, NetlinkError):
            left = json.loads(file.read_text())
            interface, before = str(left["interface"]), dict(left["before"])
            _restore(left["namespace"], interface, before)
            restored.append(interface)
        file.unlink(missing_ok=True)
    return restored


def _restore(namespace: str | None, interface: str, before: Mapping[str, int | bool]) -> None:
    _inside(namespace, lambda: _change(interface, before))


def _inside(namespace: str | None, work: Callable[[], _Outcome]) -> _Outcome:
    return work() if namespace is None else within(Path(namespace), work)


def _towards(peer: str) -> str:
    with IPRoute() as ip:
        try:
            index = ip.route("get", dst=peer)[0].get_attr("RTA_OIF")
        except NetlinkError as error:
            raise EngineError(f"there is no route to {peer}; see to its network") from error
        name = str(ip.get_links(index)[0].get_attr("IFLA_IFNAME"))
        if any(route.get_attr("RTA_OIF") == index for route in ip.get_default_routes()):
            raise EngineError(f"{name} bears the default route: its settings are not changed; use another interface")
        return name


def _state(interface: str) -> dict[str, int | bool]:
    known = offloads(interface)
    found: dict[str, int | bool] = {name: known[long] for name, long in _OFFLOADS.items() if long in known}
    with IPRoute() as ip:
        link = ip.get_links(ip.link_lookup(ifname=interface)[0])[0]
        return {"mtu": int(link.get_attr("IFLA_MTU")), **found}


def _change(interface: str, wanted: Mapping[str, int | bool]) -> None:
    now = _state(interface)
    for name, value in wanted.items():
        if now.get(name) == value:
            continue
        if name == "mtu":
            with IPRoute() as ip:
                try:
                    ip.link("set", index=ip.link_lookup(ifname=interface)[0], mtu=value)
                except NetlinkError as error:
                    raise EngineError(f"{interface} refuses an MTU of {value} byte; give another one") from error
        elif not set_offload(interface, _OFFLOADS[name], bool(value)):
            raise EngineError(f"{interface} refuses {name} {'on' if value else 'off'}; leave that factor out")
