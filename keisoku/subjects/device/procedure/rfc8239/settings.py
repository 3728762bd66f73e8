"""The settings of RFC 8239's procedures. Where the RFC gives a value, it is the default."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from keisoku.ground.run.settings import Settings
from keisoku.subjects.device.plan.rate import Load

"""RFC 8239 §2.3: the most common sizes of a report."""
LINE_RATE_PERCENT = 99.98
"""RFC 8239 §2.2: the highest load that may be sent; clocks within ±100 ppm then never overload a port by themselves."""

_LineShare = Annotated[float, Field(gt=0, le=LINE_RATE_PERCENT)]


class LineRateSettings(Settings):
    """RFC 8239 §2: every port at 99.98 % of its rate, as port pairs and as a full mesh."""

    trial_s: float = Field(60.0, gt=0)
    loads_percent: tuple[_LineShare, ...] = Field((LINE_RATE_PERCENT,), min_length=1)
    """Loads as shares of the line rate, at most 99.98 %; lower loads show how latency depends on load."""
    maximum_fps: Load | None = None
    """Rate of 100 % (default: the maximum of the link)."""


class BufferingSettings(Settings):
    """RFC 8239 §3: buffer size of an output, from the inflection point of the maximum latency."""

    limit_s: float = Field(10.0, gt=0)
    """The longest congestion tried."""
    load_percent: _LineShare = LINE_RATE_PERCENT
    """Load of each output before it is oversubscribed, as a share of the line rate."""
    oversubscription_percent: float = Field(1.0, gt=0, le=100)
    """Additional load of an output (the known congestion), as a share of the line rate."""
    cases: tuple[Literal["port", "pairs", "many-to-one"], ...] = Field(("port", "pairs", "many-to-one"), min_length=1)
    """Which outputs are congested: one output by one port, the outputs of all port pairs, or one output by all
    ports."""
    outputs: Literal["each", "last"] = "each"
    """Outputs that are tested one after the other (with port pairs, all are congested at the same time)."""
    step_frames: int = Field(1, ge=1)
    """The search for the inflection point ends when it is known to so many oversubscribing frames."""
    repetitions: int = Field(3, ge=1)
    """Number of repetitions of each test, from which its variation is computed."""
    maximum_fps: Load | None = None
    """Rate of 100 % (default: the maximum of the link)."""


class MicroburstSettings(Settings):
    """RFC 8239 §4: the largest simultaneous burst from all other ports that an output forwards without loss."""

    limit_s: float = Field(1.0, gt=0)
    """The longest burst tried, as the time to send it."""
    intensity_percent: float = Field(100.0, gt=0, le=100)
    """Rate within a burst as a share of the line rate (100 %: the smallest gap)."""
    outputs: Literal["each", "last"] = "each"
    """Outputs that are tested one after the other."""
    step_frames: int = Field(1, ge=1)
    """The search ends when the burst of each port is known to so many frames."""
    repetitions: int = Field(3, ge=1)
    """Number of repetitions, of which the mean is reported."""
    maximum_fps: Load | None = None
    """Rate of 100 % (default: the maximum of the link)."""


class HeadOfLineSettings(Settings):
    """RFC 8239 §5: whether a congested output delays or drops frames from the same input to an uncongested output."""

    trial_s: float = Field(30.0, gt=0)
    load_percent: _LineShare = LINE_RATE_PERCENT
    """Load of each sending port, as a share of the line rate."""
    shifts: int | None = Field(None, ge=1)
    """How many times the groups of four ports are shifted by one port (default: the number of ports)."""
    maximum_fps: Load | None = None
    """Rate of 100 % (default: the maximum of the link)."""


class IncastSettings(Settings):
    """RFC 8239 §6 with stateless frames: steady load and synchronised bursts to one receiver."""

    trial_s: float = Field(10.0, gt=0)
    steady_ports: int = Field(1, ge=0)
    """Number of ports that send a steady load, in place of TCP; the others send bursts."""
    steady_percent: _LineShare | None = None
    """Total load of these ports, as a share of the line rate (default: what the bursts leave of 99.98 %)."""
    burst_frames: int = Field(64, ge=1)
    """Number of frames in each port's burst, sent at the smallest gap."""
    period_s: float = Field(0.01, gt=0)
    """Time from the start of a burst to the start of the next; the bursts of all ports start together."""
    outputs: Literal["each", "last"] = "last"
    """Receiving ports that are tested one after the other."""
    maximum_fps: Load | None = None
    """Rate of 100 % (default: the maximum of the link)."""
