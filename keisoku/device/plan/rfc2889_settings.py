"""The settings of RFC 2889's methods: LAN switches, with the RFC's values as defaults where it has some."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from keisoku.run.settings import Settings

Percent = Annotated[float, Field(gt=0, le=100)]
Error = Literal["oversize", "undersize", "crc", "dribble", "alignment"]
LONGEST_S = 300.0
"""RFC 2889 §5.1.2: "Trial duration SHOULD be adjustable between 1 and 300 seconds"."""
MOST_ADDRESSES = 65_536
"""As many variants of a frame as a port holds."""


class ForwardingSettings(Settings):
    """RFC 2889 §5.1 to §5.4 and §5.6: throughput, forwarding rates at given loads, FRMOL and MFR."""

    trial_s: float = Field(30.0, gt=0, le=LONGEST_S)
    loads_percent: tuple[Percent, ...] = Field((100, 90, 80, 70, 60, 50, 40, 30, 20, 10), min_length=1)
    """Loads at which the forwarding rate is measured."""
    resolution_percent: float = Field(0.1, gt=0, le=50)
    """The search for the throughput ends when lossless and lossy load are this close."""
    maximum_fps: float | None = Field(None, gt=0)
    """What 100 % means at each port; the theoretical maximum of the link if not given."""


class CongestionSettings(Settings):
    """RFC 2889 §5.5: two inputs overload one of two outputs by half."""

    trial_s: float = Field(30.0, gt=0, le=LONGEST_S)
    maximum_fps: float | None = Field(None, gt=0)
    """The maximum load of a port; the theoretical maximum of the link if not given."""


class ForwardPressureSettings(Settings):
    """RFC 2889 §5.6.3.2: frames 88 bits apart, where the standard wants 96."""

    trial_s: float = Field(30.0, gt=0, le=LONGEST_S)


class AddressSettings(Settings):
    """What both tests of the address table need."""

    ageing_s: float = Field(300.0, gt=0)
    """The device's ageing time, which must be known; each trial is followed by a pause of that length."""
    test_fps: float = Field(1000.0, gt=0)
    """Rate of the test frames, one to each address."""
    settle_s: float = Field(1.0, ge=0)
    """Between the last learning frame and the first test frame."""


class AddressCachingSettings(AddressSettings):
    """RFC 2889 §5.7: how many addresses a device learns, by binary search."""

    addresses: int = Field(1024, ge=1, le=MOST_ADDRESSES)
    """Where the search starts."""
    most_addresses: int = Field(MOST_ADDRESSES, ge=1, le=MOST_ADDRESSES)
    """Where it ends (at most 65536)."""
    learning_fps: float = Field(1000.0, gt=0)
    """Rate at which new addresses are offered; it must be below what the device learns."""


class AddressLearningSettings(AddressSettings):
    """RFC 2889 §5.8: how fast a device learns addresses, by binary search."""

    addresses: int | None = Field(None, ge=1, le=MOST_ADDRESSES)
    """Offered in each trial; the caching capacity if that was measured before, or 1024."""
    maximum_fps: float | None = Field(None, gt=0)
    """Search below this rate; the theoretical maximum of the link if not given."""
    resolution_percent: float = Field(1.0, gt=0, le=50)
    """The search ends when the rates that were learned and not learned are this close."""


class ErroredFramesSettings(Settings):
    """RFC 2889 §5.9: whether a device filters errored frames, and forwards those with dribble bits."""

    trial_s: float = Field(30.0, gt=0, le=LONGEST_S)
    errors: tuple[Error, ...] = Field(("oversize",), min_length=1)
    """Which errors: oversize; undersize, crc, dribble and alignment need the FPGA engine."""
    largest_bytes: int = Field(1518, ge=64)
    """The largest frame that the device should forward; oversize frames have one byte more."""
    load_percent: Percent = 100.0
    """Of the maximum."""
    maximum_fps: float | None = Field(None, gt=0)
    """What 100 % means; the theoretical maximum of the link if not given."""


class BroadcastSettings(Settings):
    """RFC 2889 §5.10: throughput of broadcast frames, and their latency at it."""

    trial_s: float = Field(30.0, gt=0, le=LONGEST_S)
    resolution_percent: float = Field(0.1, gt=0, le=50)
    """The search ends when lossless and lossy load are this close."""
    maximum_fps: float | None = Field(None, gt=0)
    """Search below this load; the theoretical maximum of the link if not given."""
