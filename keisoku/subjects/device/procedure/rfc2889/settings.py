"""The settings of RFC 2889's methods: LAN switches. Where the RFC gives a value, it is the default."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from keisoku.ground.run.settings import Settings
from keisoku.subjects.device.plan.rate import Load

Percent = Annotated[float, Field(gt=0, le=100)]
Error = Literal["oversize", "undersize", "crc", "dribble", "alignment"]
LONGEST_S = 300.0
"""RFC 2889 §5.1.2: "Trial duration SHOULD be adjustable between 1 and 300 seconds"."""
MOST_ADDRESSES = 65_536
"""The number of variants of a frame that a port can hold."""


class ForwardingSettings(Settings):
    """RFC 2889 §5.1 to §5.4 and §5.6: throughput, forwarding rates at given loads, FRMOL and MFR."""

    trial_s: float = Field(30.0, gt=0, le=LONGEST_S)
    loads_percent: tuple[Percent, ...] = Field((100, 90, 80, 70, 60, 50, 40, 30, 20, 10), min_length=1)
    """Loads at which the forwarding rate is measured."""
    resolution_percent: float = Field(0.1, gt=0, le=50)
    """The throughput search ends when the loads with and without loss differ by at most this share."""
    maximum_fps: Load | None = None
    """Rate of 100 % at each port (default: the theoretical maximum of the link)."""


class CongestionSettings(Settings):
    """RFC 2889 §5.5: two inputs overload one of two outputs by half."""

    trial_s: float = Field(30.0, gt=0, le=LONGEST_S)
    maximum_fps: Load | None = None
    """The maximum load of a port (default: the theoretical maximum of the link)."""


class ForwardPressureSettings(Settings):
    """RFC 2889 §5.6.3.2: frames with gaps of 88 bits, where IEEE 802.3 requires 96."""

    trial_s: float = Field(30.0, gt=0, le=LONGEST_S)


class AddressSettings(Settings):
    """Settings that both tests of the address table need."""

    ageing_s: float = Field(300.0, gt=0)
    """The device's ageing time, which must be known; a pause of this length follows each trial."""
    test_fps: float = Field(1000.0, gt=0)
    """Rate of the test frames, one to each address."""
    settle_s: float = Field(1.0, ge=0)
    """Wait between the last learning frame and the first test frame."""


class AddressCachingSettings(AddressSettings):
    """RFC 2889 §5.7: how many addresses a device learns, by binary search."""

    addresses: int = Field(1024, ge=1, le=MOST_ADDRESSES)
    """Number of addresses at which the search starts."""
    most_addresses: int = Field(MOST_ADDRESSES, ge=1, le=MOST_ADDRESSES)
    """Highest number of addresses tried (at most 65536)."""
    learning_fps: float = Field(1000.0, gt=0)
    """Rate of frames with new addresses; it must be below the device's learning rate."""


class AddressLearningSettings(AddressSettings):
    """RFC 2889 §5.8: how fast a device learns addresses, by binary search."""

    addresses: int | None = Field(None, ge=1, le=MOST_ADDRESSES)
    """Number of addresses in each trial (default: the caching capacity if it was measured before, else 1024)."""
    maximum_fps: Load | None = None
    """Highest learning rate tried (default: the theoretical maximum of the link)."""
    resolution_percent: float = Field(1.0, gt=0, le=50)
    """The search ends when the rates with and without success differ by at most this share."""


class ErroredFramesSettings(Settings):
    """RFC 2889 §5.9: whether a device filters errored frames, and forwards those with dribble bits."""

    trial_s: float = Field(30.0, gt=0, le=LONGEST_S)
    errors: tuple[Error, ...] = Field(("oversize",), min_length=1)
    """Kinds of errored frames: oversize; and undersize, crc, dribble, alignment, which need the FPGA engine."""
    largest_bytes: int = Field(1518, ge=64)
    """The largest frame that the device should forward; oversize frames are one byte longer."""
    load_percent: Percent = 100.0
    """Load as a share of the maximum."""
    maximum_fps: Load | None = None
    """Rate of 100 % (default: the theoretical maximum of the link)."""


class BroadcastSettings(Settings):
    """RFC 2889 §5.10: throughput of broadcast frames, and their latency at it."""

    trial_s: float = Field(30.0, gt=0, le=LONGEST_S)
    resolution_percent: float = Field(0.1, gt=0, le=50)
    """The search ends when the loads with and without loss differ by at most this share."""
    maximum_fps: Load | None = None
    """Highest load of the search (default: the theoretical maximum of the link)."""
