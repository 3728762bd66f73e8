"""Parameters of lab devices as a user writes them, with units: read to check them, kept as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from pydantic import AfterValidator

from keisoku import units
from keisoku.errors import PlanError

SIZE_UNITS = {"": 1.0, "B": 1.0, "k": 1e3, "kB": 1e3, "KiB": 1024.0, "M": 1e6, "MB": 1e6}
_MOST_NS, _MOST_BPS, _MOST_BYTES = 3_600 * 10**9, 10**11, 10**9


def text_for(read: Callable[[str], object]) -> AfterValidator:
    """Keeps the text as it was written, so that a device is found again by its name."""

    def check(text: str) -> str:
        try:
            read(text)
        except PlanError as error:
            raise ValueError(error.problem) from None
        return text

    return AfterValidator(check)


def between(least: float, value: float, most: float) -> float:
    """The value, in the unit of the limits. Raises ValueError if it is out of range."""
    if not least <= value <= most:
        raise ValueError
    return value


def time_ns(text: str) -> int:
    """A time in ns, 0 to an hour. Raises PlanError, or ValueError if out of range; so do all below."""
    return round(between(0, units.quantity("time", text, units.TIME_UNITS_NS), _MOST_NS))


def rate_bps(text: str) -> int:
    """A rate in bit/s of frames without preamble, gap and FCS, as the kernel counts them; 8 kbit/s to 100 Gbit/s."""
    return round(between(8e3, units.bit_rate("rate", text), _MOST_BPS))


def size_bytes(text: str) -> int:
    """A number of bytes, 1 to 1 GB."""
    return round(between(1, units.quantity("size", text, SIZE_UNITS), _MOST_BYTES))


def share(text: str) -> float:
    """A share, 0 to 1, written as such or in percent."""
    return between(0, units.quantity("share", text, {"": 1.0, "%": 0.01}), 1)


TimeText = Annotated[str, text_for(time_ns)]
RateText = Annotated[str, text_for(rate_bps)]
SizeText = Annotated[str, text_for(size_bytes)]
ShareText = Annotated[str, text_for(share)]
