"""Bridges whose outputs are bottlenecks with a managed queue: RED, CoDel, FQ-CoDel, PIE, CAKE, ETS.

The bottleneck is a token bucket, as a veth has no rate; CAKE has one of its own. Rates count frames as in `shaper`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Literal

from pydantic import Field, field_validator

from keisoku.ground.lab.device import kernel_part as part
from keisoku.ground.lab.device.kernel_part import KernelPart
from keisoku.ground.lab.device.parameter import (
    RateText,
    ShareText,
    SizeText,
    TimeText,
    rate_bps,
    share,
    size_bytes,
    time_ns,
)
from keisoku.ground.lab.device.queued import Queued
from keisoku.ground.lab.device.traffic_class import CLASSIFIERS, classify, priority_map

_BUCKET_BYTES = 20_000
_LIMIT = Field(1000, ge=1, le=1_000_000)


class ManagedQueue(Queued):
    """A queue before a token bucket of `rate` and 20 kB; with `ecn=on` it marks frames that can be marked."""

    rate: RateText = "1Gbps"

    @abstractmethod
    def managed(self) -> str:
        """The discipline with its parameters."""

    def disciplines(self) -> list[str]:
        """The bucket, whose own queue the managed one replaces."""
        bucket = f"tbf rate {rate_bps(self.rate)}bit burst {_BUCKET_BYTES} limit {10 * _BUCKET_BYTES}"
        return [f"root handle 1: {bucket}", f"parent 1:1 handle 10: {self.managed()}"]


class Codel(ManagedQueue):
    """Drops or marks frames that have waited too long before a bottleneck (CoDel, RFC 8289)."""

    family: ClassVar[str] = "codel"
    title: ClassVar[str] = "Linux bridge with CoDel"
    parameters: ClassVar[str] = "rate=10Mbps&target=5ms&interval=100ms&limit=1000 (frames)&ecn=on"
    parts: ClassVar[tuple[KernelPart, ...]] = (part.TBF, part.CODEL)

    target: TimeText = "5ms"
    interval: TimeText = "100ms"
    limit: int = _LIMIT
    ecn: Literal["on", "off"] = "off"

    def managed(self) -> str:
        """All parameters."""
        return f"codel limit {self.limit} {_times(self.target, self.interval)} {_ecn(self.ecn)}"


class FqCodel(Codel):
    """Gives each flow a CoDel queue of its own before a bottleneck (RFC 8290)."""

    family: ClassVar[str] = "fq_codel"
    title: ClassVar[str] = "Linux bridge with FQ-CoDel"
    parameters: ClassVar[str] = f"{Codel.parameters}&flows=1024"
    parts: ClassVar[tuple[KernelPart, ...]] = (part.TBF, part.FQ_CODEL)

    flows: int = Field(1024, ge=1, le=65_536)

    def managed(self) -> str:
        """All parameters."""
        times = _times(self.target, self.interval)
        return f"fq_codel limit {self.limit} flows {self.flows} {times} {_ecn(self.ecn)}"


class Pie(ManagedQueue):
    """Drops or marks frames by chance to keep the wait before a bottleneck short (PIE, RFC 8033)."""

    family: ClassVar[str] = "pie"
    title: ClassVar[str] = "Linux bridge with PIE"
    parameters: ClassVar[str] = "rate=10Mbps&target=15ms&update=15ms&limit=1000 (frames)&ecn=on"
    parts: ClassVar[tuple[KernelPart, ...]] = (part.TBF, part.PIE)

    target: TimeText = "15ms"
    update: TimeText = "15ms"
    limit: int = _LIMIT
    ecn: Literal["on", "off"] = "off"

    def managed(self) -> str:
        """All parameters."""
        times = f"target {_us(self.target)} tupdate {_us(self.update)}"
        return f"pie limit {self.limit} {times} {_ecn(self.ecn)}"


class Red(ManagedQueue):
    """Drops or marks frames by chance, the more the longer the mean queue before a bottleneck is (RED)."""

    family: ClassVar[str] = "red"
    title: ClassVar[str] = "Linux bridge with RED"
    parameters: ClassVar[str] = "rate=10Mbps&least=30kB&most=90kB&probability=2%&queue=400kB&ecn=on"
    parts: ClassVar[tuple[KernelPart, ...]] = (part.TBF, part.RED)

    least: SizeText = "30kB"
    """Mean queue below which nothing is dropped."""
    most: SizeText = "90kB"
    """Mean queue above which every frame is."""
    probability: ShareText = "2%"
    """At `most`."""
    queue: SizeText = "400kB"
    ecn: Literal["on", "off"] = "off"

    def managed(self) -> str:
        """With the weight that tc-red recommends for the two thresholds."""
        least, most, mean = size_bytes(self.least), size_bytes(self.most), 1000
        burst = (2 * least + most) // (3 * mean) + 1
        sizes = f"limit {size_bytes(self.queue)} min {least} max {most} avpkt {mean} burst {burst}"
        chance = f"probability {share(self.probability):.9f} bandwidth {rate_bps(self.rate)}bit"
        return f"red {sizes} {chance}{' ecn' if self.ecn == 'on' else ''}"


class Cake(Queued):
    """Shapes, divides the rate among flows and keeps their queues short (CAKE)."""

    family: ClassVar[str] = "cake"
    title: ClassVar[str] = "Linux bridge with CAKE"
    parameters: ClassVar[str] = "rate=10Mbps&rtt=100ms&tins=besteffort, diffserv3 or diffserv4"
    parts: ClassVar[tuple[KernelPart, ...]] = (part.CAKE,)

    rate: RateText = "1Gbps"
    rtt: TimeText = "100ms"
    tins: Literal["besteffort", "diffserv3", "diffserv4"] = "besteffort"

    def disciplines(self) -> list[str]:
        """Without an overhead of a link below."""
        return [f"root handle 1: cake bandwidth {rate_bps(self.rate)}bit {self.tins} raw rtt {_us(self.rtt)}"]


class Ets(ManagedQueue):
    """Serves strict classes first and divides the rest by quanta (enhanced transmission selection, IEEE 802.1Qaz)."""

    family: ClassVar[str] = "ets"
    title: ClassVar[str] = "Linux bridge with enhanced transmission selection"
    parameters: ClassVar[str] = "rate=10Mbps&strict=1&quanta=3000,1000"
    parts: ClassVar[tuple[KernelPart, ...]] = (part.TBF, part.ETS, *CLASSIFIERS)

    strict: int = Field(1, ge=0, le=7)
    quanta: str = "3000,1000"

    @field_validator("quanta")
    @classmethod
    def _whole(cls, given: str) -> str:
        if not 1 <= len([int(part) for part in given.split(",") if int(part) > 0]) == given.count(",") + 1 <= 7:
            raise ValueError
        return given

    @property
    def _bands(self) -> int:
        return self.strict + self.quanta.count(",") + 1

    def managed(self) -> str:
        """The highest class has the first band."""
        bands = self._bands
        order = priority_map([max(0, bands - 1 - number) for number in range(8)])
        return f"ets bands {bands} strict {self.strict} quanta {self.quanta.replace(',', ' ')} priomap {order}"

    def filters(self) -> list[str]:
        """A class by IP precedence."""
        return classify(min(8, self._bands))


def _times(target: str, interval: str) -> str:
    return f"target {_us(target)} interval {_us(interval)}"


def _us(text: str) -> str:
    return f"{max(1, round(time_ns(text) / 1000))}us"


def _ecn(state: str) -> str:
    return "ecn" if state == "on" else "noecn"
