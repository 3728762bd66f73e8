"""HTB on an interface: classes with a rate, for a whole port or for single addresses, under keisoku's own handle.

Every function acts on the namespace of the calling thread. It must never change a queueing discipline with a handle
other than `HANDLE`.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from pyroute2 import IPRoute

from keisoku.errors import EngineError, PlanError
from keisoku.ground.host.interface import index_of

HANDLE = 0x6B730000
"""'ks:', which other programs do not use."""
_ROOT = 0xFFFFFFFF
_FRAME_BYTES = 1514
_BURST_S = 0.002
"""Burst of a class: enough for the kernel's timers, too small to mislead a measurement of the rate."""
_QUEUE_FRAMES = 1000
_ALL, _IPV4 = 0x0003, 0x0800


def root(ip: IPRoute, index: int) -> tuple[str, int]:
    """Kind and handle of an interface's root queueing discipline; the kernel's default has the handle 0."""
    for qdisc in ip.get_qdiscs(index=index):
        if qdisc["parent"] == _ROOT:
            return str(qdisc.get_attr("TCA_KIND")), int(qdisc["handle"])
    return "noqueue", 0


def require_free(interface: str) -> None:
    """Raises PlanError if there is no such interface, or if it has a queueing discipline that was set by a user."""
    with IPRoute() as ip:
        kind, handle = root(ip, index_of(interface))
    if handle:
        whose = (
            "the limit of another keisoku process"
            if handle == HANDLE
            else f"a queueing discipline that keisoku did not set ({kind} {handle:#x})"
        )
        raise PlanError("port", f"{interface} has {whose}", "remove it first, or limit another port")


def limit(interface: str, rates: Mapping[int, tuple[str | None, int]]) -> None:
    """Sets classes by number: the address that each is for (None: everything) and its rate in bit/s.

    Without classes the interface is restored. Raises EngineError if the kernel refuses.
    """
    with IPRoute() as ip:
        index = index_of(interface)
        if not rates:
            _remove(ip, index)
            return
        present = _classes(ip, index)
        if set(present) == set(rates):
            for number, (_, rate_bps) in rates.items():
                ip.tc("change-class", "htb", index, HANDLE | number, parent=HANDLE, **_bucket(rate_bps))
            return
        _remove(ip, index)
        everything = next((number for number, (address, _) in rates.items() if address is None), 0)
        # Traffic that belongs to no class passes without a limit.
        ip.tc("add", "htb", index, HANDLE, default=everything)
        for number, (address, rate_bps) in rates.items():
            ip.tc("add-class", "htb", index, HANDLE | number, parent=HANDLE, **_bucket(rate_bps))
            ip.tc("add", "pfifo", index, (0x6C00 + number) << 16, parent=HANDLE | number, limit=_QUEUE_FRAMES)
            if address is not None:
                key = f"{int(ipaddress.IPv4Address(address)):#010x}/0xffffffff+16"
                ip.tc(
                    "add-filter",
                    "u32",
                    index,
                    parent=HANDLE,
                    prio=number,
                    protocol=_IPV4,
                    target=HANDLE | number,
                    keys=[key],
                )


def rates(interface: str) -> dict[int, float]:
    """What the kernel says of our classes: rate in bit/s by number; empty where there is no limit of ours.

    A class to which no frame is sent, because its filter is gone, limits nothing and is left out.
    """
    with IPRoute() as ip:
        index = index_of(interface)
        if root(ip, index)[1] != HANDLE:
            return {}
        reached = {_default(ip, index), *_targets(ip, index)}
        return {
            one["handle"] & 0xFFFF: _rate_bps(one.get_attr("TCA_OPTIONS"))
            for one in ip.get_classes(index=index)
            if one["handle"] >> 16 == HANDLE >> 16 and one["handle"] & 0xFFFF in reached
        }


def lift(index: int) -> bool:
    """Removes keisoku's own from the interface of that index, and no other; returns whether there was one."""
    with IPRoute() as ip:
        return root(ip, index)[1] == HANDLE and _remove(ip, index)


def leaf(number: int) -> int:
    """The handle of the queue of a class."""
    return (0x6C00 + number) << 16


def _remove(ip: IPRoute, index: int) -> bool:
    kind, handle = root(ip, index)
    if handle == HANDLE:
        ip.tc("delete", "htb", index, HANDLE, parent=_ROOT)
        return True
    if handle:
        raise EngineError(
            f"another program has replaced the limit by a queueing discipline ({kind}): it is not changed"
        )
    return False


def _classes(ip: IPRoute, index: int) -> list[int]:
    if root(ip, index)[1] != HANDLE:
        return []
    return [one["handle"] & 0xFFFF for one in ip.get_classes(index=index) if one["handle"] >> 16 == HANDLE >> 16]


def _default(ip: IPRoute, index: int) -> int:
    """The number of the class for all that no filter names."""
    for qdisc in ip.get_qdiscs(index=index):
        if qdisc["handle"] == HANDLE:
            return int(qdisc.get_attr("TCA_OPTIONS").get_attr("TCA_HTB_INIT")["defcls"])
    return 0


def _targets(ip: IPRoute, index: int) -> list[int]:
    """The numbers of the classes that filters name."""
    options = (one.get_attr("TCA_OPTIONS") for one in ip.get_filters(index=index, parent=HANDLE))
    found = (each.get_attr("TCA_U32_CLASSID") for each in options if each is not None)
    return [int(one) & 0xFFFF for one in found if one is not None]


def _rate_bps(options: Any) -> float:
    wide = options.get_attr("TCA_HTB_RATE64")  # the other one ends at 34 Gb/s
    return 8.0 * float(wide if wide is not None else options.get_attr("TCA_HTB_PARMS")["rate"])


def _bucket(rate_bps: int) -> dict[str, int]:
    burst = max(2 * _FRAME_BYTES, round(rate_bps / 8 * _BURST_S))
    return {"rate": rate_bps // 8, "burst": burst, "cburst": burst, "quantum": _FRAME_BYTES}
