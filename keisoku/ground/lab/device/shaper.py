"""Bridges whose outputs have a rate: token buckets (tbf, HTB), service curves (HFSC), credits (CBS).

Rates and buckets count frames with their Ethernet header and without FCS, preamble and gap, as the kernel does.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from keisoku.ground.lab.device.kernel_part import CBS, HFSC, HTB, TBF, KernelPart
from keisoku.ground.lab.device.parameter import RateText, SizeText, rate_bps, size_bytes
from keisoku.ground.lab.device.queued import Queued

_PORT_BPS = 10**10
"""What a veth says of its rate."""
_LONGEST_BYTES = 9018


class Shaper(Queued):
    """Holds frames back that come faster than its rate; drops those for which its queue has no room."""

    rate: RateText = "1Gbps"


class Tbf(Shaper):
    """Sends at a rate, and as much at once as its bucket holds (token bucket filter)."""

    family: ClassVar[str] = "tbf"
    title: ClassVar[str] = "Linux bridge with a token bucket (tbf)"
    parameters: ClassVar[str] = "rate=10Mbps&bucket=20kB&queue=1MB"
    parts: ClassVar[tuple[KernelPart, ...]] = (TBF,)

    bucket: SizeText = "20kB"
    queue: SizeText = "1MB"

    def disciplines(self) -> list[str]:
        """The limit of tbf counts waiting bytes and the bucket."""
        bucket = size_bytes(self.bucket)
        limit = size_bytes(self.queue) + bucket
        return [f"root handle 1: tbf rate {rate_bps(self.rate)}bit burst {bucket} limit {limit}"]


class Htb(Shaper):
    """Sends at a rate by one class of a hierarchical token bucket."""

    family: ClassVar[str] = "htb"
    title: ClassVar[str] = "Linux bridge with a hierarchical token bucket (HTB)"
    parameters: ClassVar[str] = "rate=10Mbps&bucket=20kB&limit=1000 (frames)"
    parts: ClassVar[tuple[KernelPart, ...]] = (HTB,)

    bucket: SizeText = "20kB"
    limit: int = Field(1000, ge=1, le=1_000_000)

    def disciplines(self) -> list[str]:
        """The queue is a leaf."""
        return ["root handle 1: htb default 1", f"parent 1:1 handle 10: pfifo limit {self.limit}"]

    def branches(self) -> list[str]:
        """One for all frames."""
        bucket = size_bytes(self.bucket)
        rate = f"rate {rate_bps(self.rate)}bit burst {bucket} cburst {bucket} quantum {_LONGEST_BYTES}"
        return [f"parent 1: classid 1:1 htb {rate}"]


class Hfsc(Shaper):
    """Sends at a rate by one service curve (hierarchical fair service curve)."""

    family: ClassVar[str] = "hfsc"
    title: ClassVar[str] = "Linux bridge with a service curve (HFSC)"
    parameters: ClassVar[str] = "rate=10Mbps&limit=1000 (frames)"
    parts: ClassVar[tuple[KernelPart, ...]] = (HFSC,)

    limit: int = Field(1000, ge=1, le=1_000_000)

    def disciplines(self) -> list[str]:
        """The queue is a leaf."""
        return ["root handle 1: hfsc default 1", f"parent 1:1 handle 10: pfifo limit {self.limit}"]

    def branches(self) -> list[str]:
        """One for all frames, linear, and the same as its upper limit."""
        rate = f"{rate_bps(self.rate)}bit"
        return [f"parent 1: classid 1:1 hfsc sc rate {rate} ul rate {rate}"]


class Cbs(Shaper):
    """Sends at a rate by credits (credit-based shaper of IEEE 802.1Qav)."""

    family: ClassVar[str] = "cbs"
    title: ClassVar[str] = "Linux bridge with a credit-based shaper"
    parameters: ClassVar[str] = "rate=10Mbps&bucket=20kB"
    parts: ClassVar[tuple[KernelPart, ...]] = (CBS,)

    bucket: SizeText = "20kB"
    """The highest credit."""

    def disciplines(self) -> list[str]:
        """The lowest credit is what the longest frame takes. Slopes are in kbit/s."""
        idle_bps = rate_bps(self.rate)
        send_bps = idle_bps - _PORT_BPS
        low = send_bps * _LONGEST_BYTES // _PORT_BPS
        slopes = f"idleslope {idle_bps // 1000} sendslope {send_bps // 1000}"
        return [f"root handle 1: cbs {slopes} hicredit {size_bytes(self.bucket)} locredit {low} offload 0"]
