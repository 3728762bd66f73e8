"""The settings of RFC 8239's procedures, with the RFC's values as defaults where it gives any.

Seconds, percent and frames, as people write them in a plan. Never decides how a procedure proceeds.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from keisoku.run.settings import Settings

RFC8239_SIZES = (64, 128, 256, 512, 1024, 1518, 4096, 8000, 9216)
"""RFC 8239 §2.3: the most common sizes of a report."""
LINE_RATE_PERCENT = 99.98
"""RFC 8239 §2.2: the most that may be sent; clocks within ±100 ppm then never overload a port by themselves."""

_LineShare = Annotated[float, Field(gt=0, le=LINE_RATE_PERCENT)]


class LineRateSettings(Settings):
    """RFC 8239 §2: every port at 99.98 % of its rate, as pairs and as a full mesh."""

    trial_s: float = Field(60.0, gt=0)
    loads_percent: tuple[_LineShare, ...] = Field((LINE_RATE_PERCENT,), min_length=1)
    """Loads as shares of the line rate, at most 99.98; lower ones show how latency depends on load."""
    maximum_fps: float | None = Field(None, gt=0)
    """What 100 % means; the maximum of the link if not given."""


class BufferingSettings(Settings):
    """RFC 8239 §3: how much an output holds, by the inflection of the maximum latency."""

    trial_s: float = Field(10.0, gt=0)
    load_percent: _LineShare = LINE_RATE_PERCENT
    """Of the line rate, what each output is sent before it is oversubscribed."""
    oversubscription_percent: float = Field(1.0, gt=0, le=100)
    """Of the line rate, what is sent on top: the known congestion."""
    cases: tuple[Literal["port", "pairs", "many-to-one"], ...] = Field(("port", "pairs", "many-to-one"), min_length=1)
    """Congested are one output, those of all port pairs, one output from all other ports."""
    outputs: Literal["each", "last"] = "each"
    """Outputs that are tested in turn; of port pairs all are congested at once."""
    step_frames: int = Field(1, ge=1)
    """The search for the inflection ends when it is known to so many oversubscribing frames."""
    repetitions: int = Field(3, ge=1)
    """Repetitions of each test, for its variation."""
    maximum_fps: float | None = Field(None, gt=0)
    """What 100 % means; the maximum of the link if not given."""


class MicroburstSettings(Settings):
    """RFC 8239 §4: the largest burst from all other ports at once that an output takes without loss."""

    trial_s: float = Field(1.0, gt=0)
    intensity_percent: float = Field(100.0, gt=0, le=100)
    """Of the line rate within the burst (100: the smallest gap)."""
    outputs: Literal["each", "last"] = "each"
    """Outputs that are tested in turn."""
    step_frames: int = Field(1, ge=1)
    """The search ends when the burst of each port is known to so many frames."""
    repetitions: int = Field(3, ge=1)
    """Repetitions, of which the mean is reported."""
    maximum_fps: float | None = Field(None, gt=0)
    """What 100 % means; the maximum of the link if not given."""


class HeadOfLineSettings(Settings):
    """RFC 8239 §5: whether a congested output hinders frames from the same input to another output."""

    trial_s: float = Field(30.0, gt=0)
    load_percent: _LineShare = LINE_RATE_PERCENT
    """Of the line rate, what each sending port sends."""
    shifts: int | None = Field(None, ge=1)
    """So many times the groups of four are moved by one port; as many as there are ports if not given."""
    maximum_fps: float | None = Field(None, gt=0)
    """What 100 % means; the maximum of the link if not given."""


class IncastSettings(Settings):
    """RFC 8239 §6 with stateless frames: steady load and synchronised bursts to one receiver."""

    trial_s: float = Field(10.0, gt=0)
    steady_ports: int = Field(1, ge=0)
    """Ports that send all the time, in place of TCP; the others send bursts."""
    steady_percent: _LineShare | None = None
    """Of the line rate, what these send together; what the bursts leave of 99.98 if not given."""
    burst_frames: int = Field(64, ge=1)
    """Frames of each port's burst, at the smallest gap."""
    period_s: float = Field(0.01, gt=0)
    """From the start of a burst to that of the next; all ports' bursts start together."""
    outputs: Literal["each", "last"] = "last"
    """Receivers that are tested in turn."""
    maximum_fps: float | None = Field(None, gt=0)
    """What 100 % means; the maximum of the link if not given."""
