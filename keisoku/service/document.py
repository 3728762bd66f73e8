"""What keisoku's own paths answer. The OpenAPI document is made of these types; they compute nothing."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from keisoku.analysis.quantity import Quantity
from keisoku.device.record.counts import Gap, Latency
from keisoku.device.record.trial import Facts, Trial


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Problem(_Document):
    """What is wrong with a request, or went wrong with it; the same form as OTG's Error."""

    code: int
    kind: str
    errors: list[str]


class Judged(_Document):
    """A criterion of a plan."""

    criterion: str
    met: bool
    measured: Quantity | None


class RunStatus(_Document):
    """A run of a measurement, as far as it has come."""

    run: str
    """Its name, also that of its directory on the server."""
    state: Literal["running", "finished", "cancelled", "failed"]
    measurement: str
    """Its name in the table of measurements; 'device' for procedures of a device."""
    what: str
    """What is measured: device or ports and procedures, or the measurement's name."""
    started_at: str
    """UTC, ISO 8601."""
    trials: int
    """Finished ones."""
    doing: str | None
    """What it does now: procedure and purpose of the trial that runs, for instance."""
    progress: float | None = Field(ge=0, le=1)
    """Share of the running trial, as the number of trials is not known in advance; of the whole for a log."""
    offered_frames: int | None
    """Of the running trial until now."""
    forwarded_frames: int | None
    error: str | None
    """Why it failed."""
    criteria: list[Judged]
    """Of a finished run."""


class Traffic(_Document):
    """The last traffic: the trial, and all that was counted of it."""

    trial: Trial
    facts: Facts
    flows: dict[str, list[int]]
    """By name, which of the trial's streams are a flow's."""
    invalid_because: list[str]
    """Why it says nothing about the device; empty if it does."""


class LastTraffic(_Document):
    """Nothing before the first traffic has ended."""

    traffic: Traffic | None


class FlowAccount(_Document):
    """What became of a flow's frames."""

    name: str
    transmit: str
    receive: str
    """Names of ports."""
    frame_bytes: list[int]
    """Sizes that occur."""
    offered_frames: int
    received_frames: int
    figures: dict[str, Quantity]
    """Counts (exact), loss in %, latency, its percentiles and PDV in ns; `uncertainty` is expanded (k = 2), and null
    where it is not known because the tester was not calibrated."""


class FlowHistogram(_Document):
    """Latency of every frame of a flow as it was measured (FIFO, not corrected); null if none arrived."""

    name: str
    latency: Latency | None


class StreamLoss(_Document):
    """Which frames of a stream never arrived: ranges of sequence numbers, and between which departures (ns)."""

    name: str
    """Of the flow."""
    stream: int
    lost_frames: int
    lost_kept_as: Literal["list", "bitmap", "intervals"]
    """Weakest form in `lost`: each gap with its times, bitmaps of dense stretches, or counts in intervals."""
    lost: list[Gap]


class _OfFlows(_Document):
    state: Literal["none", "running", "ended"]
    """Of the last traffic; what is told of its flows is there once it has ended."""
    invalid_because: list[str]
    """Why it says nothing about the device; empty if it does."""


class FlowAccounts(_OfFlows):
    """Of the last traffic's flows."""

    flows: list[FlowAccount]


class FlowHistograms(_OfFlows):
    """Likewise."""

    flows: list[FlowHistogram]


class StreamLosses(_OfFlows):
    """Likewise; a flow has several streams where it goes several ways."""

    streams: list[StreamLoss]


class Version(_Document):
    """Who answers."""

    keisoku: str
    methods: list[str]
    """That a plan may name."""


class OfFlows(_Document):
    """Which flows are asked for."""

    name: list[str] = []
    """Names of flows; all without one."""


class OfFiguresOfFlows(OfFlows):
    """And which percentiles of their latency."""

    percent: list[float] = Field([50.0, 99.0, 99.9], max_length=32)
    """Each between 0 and 100; the figure is called p99.9 and so on."""
