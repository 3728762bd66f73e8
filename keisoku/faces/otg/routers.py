"""The protocols that routers speak among themselves: one line for each, whose folder has the rest."""

from __future__ import annotations

from typing import Any

from keisoku.faces.otg.device.router import RouterProtocol
from keisoku.faces.otg.isis.protocol import ISIS
from keisoku.faces.otg.ospf.protocol import OSPF

ROUTERS: dict[str, RouterProtocol[Any]] = {
    "isis": ISIS,
    "ospfv2": OSPF,
}
"""By OTG's names."""
