"""`Netem`: a bridge whose outputs delay, lose, duplicate, damage and reorder frames by chance (tc-netem)."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, ValidationInfo, field_validator

from keisoku.ground.lab.device.kernel_part import NETEM, KernelPart
from keisoku.ground.lab.device.parameter import RateText, ShareText, TimeText, rate_bps, share, time_ns
from keisoku.ground.lab.device.queued import Queued


def discipline(delay: str, jitter: str, rate: str | None, **shares: str) -> str:
    """What tc is told of netem behind its limit, by the names of its shares; empty for nothing."""
    words = f" delay {time_ns(delay) / 1000:.3f}us {time_ns(jitter) / 1000:.3f}us" if time_ns(delay) else ""
    for name, text in shares.items():
        if part := share(text):
            words += f" {name} {100 * part:.9f}%"
    return f"{words} rate {rate_bps(rate)}bit" if rate else words


class Netem(Queued):
    """Delays, loses, duplicates, damages and reorders frames by chance, as netem of the kernel does."""

    family: ClassVar[str] = "netem"
    title: ClassVar[str] = "Linux bridge with netem"
    parameters: ClassVar[str] = (
        "delay=10ms&jitter=1ms&loss=1%&duplicate=1%&corrupt=1%&reorder=25%&rate=100Mbps&limit=100000 (frames)"
    )
    parts: ClassVar[tuple[KernelPart, ...]] = (NETEM,)

    delay: TimeText = "0s"
    jitter: TimeText = "0s"
    loss: ShareText = "0"
    duplicate: ShareText = "0"
    corrupt: ShareText = "0"
    reorder: ShareText = "0"
    """This share of the frames is not delayed."""
    rate: RateText | None = None
    limit: int = Field(100_000, ge=1, le=10_000_000)
    """Frames that wait at most."""

    @field_validator("jitter", "reorder")
    @classmethod
    def _of_a_delay(cls, given: str, others: ValidationInfo) -> str:
        if not time_ns(others.data.get("delay", "0s")):
            raise ValueError
        return given

    def disciplines(self) -> list[str]:
        """One, with what was given."""
        shares = {name: getattr(self, name) for name in ("loss", "duplicate", "corrupt", "reorder")}
        words = discipline(self.delay, self.jitter, self.rate, **shares)
        return [f"root handle 1: netem limit {self.limit}{words}"]
