"""Which PTP master is meant: `ptp:HOST[,domain=N][,multicast]`. It handles text only and sends nothing."""

from __future__ import annotations

from dataclasses import dataclass

from keisoku.errors import PlanError

FORM = "ptp:HOST, ptp:HOST,domain=N or ptp:HOST,multicast"
_DOMAIN_MOST = 239
"""Above are reserved (7.1 of IEEE 1588-2019)."""


@dataclass(frozen=True)
class PtpTarget:
    """A master, its domain, and whether it sends to everybody (224.0.1.129) instead of by contract."""

    host: str
    domain: int = 0
    multicast: bool = False

    @property
    def name(self) -> str:
        """As the user would write it."""
        domain = f",domain={self.domain}" if self.domain else ""
        return f"ptp:{self.host}{domain}{',multicast' if self.multicast else ''}"


def target(text: str) -> PtpTarget:
    """What follows `ptp:`. Raises PlanError for anything else."""
    host, *options = (part.strip() for part in text.split(","))
    if not host:
        raise PlanError("reference", "ptp needs a master", f"give one: {FORM}")
    domain, multicast = 0, False
    for option in options:
        name, _, value = option.partition("=")
        if name == "domain" and value.isascii() and value.isdigit() and int(value) <= _DOMAIN_MOST:
            domain = int(value)
        elif option == "multicast":
            multicast = True
        else:
            remedy = f"use {FORM}, where N is from 0 to {_DOMAIN_MOST}"
            raise PlanError("reference", f"ptp:{text}: {option!r} is not understood", remedy)
    return PtpTarget(host, domain, multicast)
