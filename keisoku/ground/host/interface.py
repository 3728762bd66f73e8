"""`Interface`: an interface that can be identified later; and functions for its MTU and offloads."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeVar

from pyroute2 import IPRoute, NetlinkError

from keisoku.errors import EngineError, PlanError
from keisoku.ground.host.ethtool import offloads, pauses, saves_energy, set_offload, set_pauses, set_saves_energy
from keisoku.ground.host.link import default_routes
from keisoku.ground.host.namespace import named, run_in_namespace

_OFFLOADS = {"tso": "TCP segmentation", "gso": "generic segmentation", "gro": "GRO"}
_LINE = {"pause": (pauses, set_pauses), "energy": (saves_energy, set_saves_energy)}
"""What reads and what sets pause frames and Energy-Efficient Ethernet."""
_Outcome = TypeVar("_Outcome")


@dataclass(frozen=True)
class Interface:
    """An existing interface in the namespace with that path (None: this process's own)."""

    name: str
    namespace: str | None
    index: int
    inode: int
    """Identity of the namespace: another one may get its name later."""

    @classmethod
    def find(cls, name: str, namespace: Path | None) -> Self:
        """Raises PlanError if there is no such interface."""
        path = str(namespace) if namespace else None
        return run_in_namespace(namespace, lambda: cls(name, path, index_of(name), _inode()))

    def there(self, work: Callable[[], _Outcome]) -> _Outcome | None:
        """Calls `work` in its namespace; returns None without a call if it no longer exists, or if another one has its
        name."""

        def checked() -> _Outcome | None:
            with IPRoute() as ip:
                same = _inode() == self.inode and self.index in ip.link_lookup(ifname=self.name)
            return work() if same else None

        place = named(self.namespace)
        if place and not place.exists():
            return None
        try:
            return run_in_namespace(place, checked)
        except NetlinkError as error:
            if error.code in (errno.ENODEV, errno.ENOENT):  # it was removed meanwhile
                return None
            raise


def index_of(name: str) -> int:
    """In the calling thread's namespace. Raises PlanError if there is no such interface."""
    with IPRoute() as ip:
        found = ip.link_lookup(ifname=name)
    if not found:
        raise PlanError("port", f"there is no interface {name}", "list those of the namespace with ip link")
    return int(found[0])


def has_default_route(name: str) -> bool:
    """Whether a default route of this thread's namespace leads over that interface. Raises PlanError if there is no
    such interface."""
    return index_of(name) in default_routes()


def settings(name: str) -> dict[str, int | bool]:
    """`mtu` (bytes), and the supported ones of `tso`, `gso` and `gro`, of an interface in this thread's namespace."""
    known = offloads(name)
    found: dict[str, int | bool] = {short: known[long] for short, long in _OFFLOADS.items() if long in known}
    with IPRoute() as ip:
        link = ip.get_links(index_of(name))[0]
        return {"mtu": int(link.get_attr("IFLA_MTU")), **found}


def line_settings(name: str) -> dict[str, int]:
    """`pause` and `energy` of an interface in this thread's namespace, where it has them, as `ethtool.pauses` and
    `ethtool.saves_energy` give them."""
    found = {key: read(name) for key, (read, _) in _LINE.items()}
    return {key: int(value) for key, value in found.items() if value is not None}


def change(name: str, wanted: Mapping[str, int | bool]) -> bool:
    """Sets the values that differ, of `settings`, `pause` and `energy`; returns whether any did. Raises EngineError if
    the interface refuses."""
    now = settings(name) | (line_settings(name) if wanted.keys() & _LINE.keys() else {})
    different = {key: value for key, value in wanted.items() if now.get(key) != value}
    for key, value in different.items():
        if key == "mtu":
            with IPRoute() as ip:
                try:
                    ip.link("set", index=index_of(name), mtu=value)
                except NetlinkError as error:
                    raise EngineError(f"{name} refuses an MTU of {value} byte; give another one") from error
        elif key in _LINE:
            if not _LINE[key][1](name, int(value)):
                raise EngineError(f"{name} refuses {key} {'on' if value else 'off'}; set it with ethtool, or leave it")
        elif not set_offload(name, _OFFLOADS[key], bool(value)):
            raise EngineError(f"{name} refuses {key} {'on' if value else 'off'}; leave that factor out")
    return bool(different)


def _inode() -> int:
    return Path("/proc/thread-self/ns/net").stat().st_ino
