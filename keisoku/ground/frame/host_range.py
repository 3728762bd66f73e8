"""Addresses of the tester's own hosts, for which it answers neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Self

from keisoku.errors import PlanError

Address = IPv4Address | IPv6Address


@dataclass(frozen=True, slots=True)
class HostRange:
    """Addresses `first` to `last`, both of one IP version, that answer with one MAC address."""

    mac: str
    first: Address
    last: Address
    vlan: int | None = None
    """Number of the VLAN that they are in; None: their frames have no tag."""

    @classmethod
    def parse(cls, mac: str, text: str, field: str, vlan: int | None = None) -> Self:
        """'ADDRESS' or 'FIRST-LAST'. Raises PlanError naming `field` if `text` is neither."""
        begin, _, end = text.partition("-")
        first = address(begin, field)
        last = address(end, field) if end else first
        if first.version != last.version or int(last) < int(first):
            raise PlanError(field, f"'{text}' is no range", "write FIRST-LAST, such as 198.18.1.2-198.18.1.99")
        return cls(mac, first, last, vlan)

    def __contains__(self, ip: Address) -> bool:
        return ip.version == self.first.version and int(self.first) <= int(ip) <= int(self.last)

    def plain(self) -> dict[str, str | int | None]:
        """The range in the form that `core/src/interface/neighbour.rs` reads."""
        return {"mac": self.mac, "first": str(self.first), "last": str(self.last), "vlan": self.vlan}


def address(text: str, field: str) -> Address:
    """An IP address. Raises PlanError naming `field` if `text` is none."""
    try:
        return ip_address(text.strip())
    except ValueError:
        raise PlanError(field, f"'{text}' is no IP address", "write it as 198.18.1.1 or 2001:2::1") from None
