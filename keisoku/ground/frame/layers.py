"""Finds the Scapy class of a layer by name, in all of Scapy and in keisoku's layers. Never executes a user's text.

A class that is not loaded yet is searched for in the text of Scapy's modules, so that only its own
module is imported (all of them would take seconds).
"""

from __future__ import annotations

import difflib
import importlib
import re
from functools import cache
from pathlib import Path
from typing import Any

from keisoku.errors import PlanError

_LOADED = (
    "scapy.packet",
    "scapy.layers.l2",
    "scapy.layers.inet",
    "scapy.layers.inet6",
    "scapy.layers.vxlan",
    "scapy.contrib.mpls",
    "keisoku.ground.frame.lisp",
    "keisoku.ground.frame.inner_ethernet",
)
_PLACES = ("layers", "contrib")


def layer_class(name: str) -> Any:
    """The subclass of Scapy's Packet with this name. Raises PlanError, with the nearest name, if there is none."""
    from scapy.packet import Packet

    for module in _LOADED:
        found = getattr(importlib.import_module(module), name, None)
        if _is_layer(found, Packet):
            return found
    module_of = _all_layers()
    if name in module_of:
        try:
            found = getattr(importlib.import_module(module_of[name]), name)
        except Exception as error:  # an optional dependency of that module, or the module refuses this host
            raise PlanError("headers", f"Scapy cannot load {name}: {error}", "use another layer") from error
        if _is_layer(found, Packet):
            return found
    members = [each for module in _LOADED for each in vars(importlib.import_module(module)).items()]
    loaded = [known for known, member in members if _is_layer(member, Packet)]
    raise PlanError("headers", f"Scapy has no layer '{name}'", _nearest(name, [*loaded, *module_of]))


def _is_layer(found: object, packet: type) -> bool:
    return isinstance(found, type) and issubclass(found, packet) and found is not packet


def _nearest(name: str, known: list[str]) -> str:
    # 'ipv6' for 'IPv6' is the most frequent error, and difflib is case-sensitive.
    spelled = {each.lower(): each for each in reversed(known)}
    close = difflib.get_close_matches(name.lower(), spelled, n=1)
    return f"did you mean {spelled[close[0]]}?" if close else "write for example 'Ether()/IP()/UDP()'"


@cache
def _all_layers() -> dict[str, str]:
    """Module by name of every class in Scapy's layers and contrib; those in `layers` have priority."""
    import scapy

    root = Path(str(scapy.__file__)).parent
    found: dict[str, str] = {}
    for place in _PLACES:
        for path in sorted((root / place).rglob("*.py")):
            module = ".".join(("scapy", *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
            for name in re.findall(r"^class (\w+)\(", path.read_text(encoding="utf-8"), re.MULTILINE):
                found.setdefault(name, module)
    return found
