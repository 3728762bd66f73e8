"""The answers of keisoku's own paths. The OpenAPI document is made from these types; they compute nothing."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from keisoku.ground.statistics.quantity import Quantity
from keisoku.subjects.device.record.counts import Latency
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.gaps import Gap
from keisoku.subjects.device.record.trial import Trial


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Problem(_Document):
    """An error in a request, or a failure of it; the same form as OTG's Error."""

    code: int
    kind: str
    errors: list[str]


class Judged(_Document):
    """A criterion of a plan."""

    criterion: str
    met: bool
    measured: Quantity | None
    undecided: str
    """Why the criterion is neither met nor missed: a bound leaves it open, or a row was not measured; otherwise
    empty."""


class RunStatus(_Document):
    """The status of a run of a measurement."""

    run: str
    """The run's name, which is also that of its directory on the server."""
    state: Literal["running", "finished", "cancelled", "failed"]
    measurement: str
    """Name in the table of measurements; 'device' for procedures of a device."""
    what: str
    """What is measured: device or ports and procedures, or the measurement's name."""
    started_at: str
    """UTC, ISO 8601."""
    trials: int
    """Finished ones."""
    doing: str | None
    """Current step, for example procedure and purpose of the running trial."""
    progress: float | None = Field(ge=0, le=1)
    """Share of the running trial, as the number of trials is not known in advance; of the whole for a log."""
    offered_frames: int | None
    """Frames of the running trial until now."""
    forwarded_frames: int | None
    error: str | None
    """Why it failed."""
    criteria: list[Judged]
    """Verdicts on the criteria of a finished run."""


class Traffic(_Document):
    """The last traffic: its trial, and all counts."""

    trial: Trial
    facts: Facts
    flows: dict[str, list[int]]
    """The trial's streams of each flow, by the flow's name."""
    invalid_because: list[str]
    """Why the traffic is invalid for the device; empty if it is valid."""


class LastTraffic(_Document):
    """Empty before the first traffic has ended."""

    traffic: Traffic | None


class FlowAccount(_Document):
    """Figures of a flow's frames."""

    name: str
    transmit: str
    receive: str
    """Names of ports."""
    frame_bytes: list[int]
    """Frame sizes that occur."""
    offered_frames: int
    received_frames: int
    figures: dict[str, Quantity]
    """Counts (exact), loss in %, latency, its percentiles and PDV in ns; `uncertainty` is expanded (k = 2), and null
    where it is not known because the tester was not calibrated."""


class FlowHistogram(_Document):
    """Measured latency of every frame of a flow (FIFO, not corrected); null if none arrived."""

    name: str
    latency: Latency | None


class StreamLoss(_Document):
    """Which frames of a stream never arrived: ranges of sequence numbers, and between which departures (ns)."""

    name: str
    """Of the flow."""
    stream: int
    lost_frames: int
    lost_kept_as: Literal["list", "bitmap", "intervals"]
    """Least detailed form in `lost`: each gap with its times, bitmaps of dense ranges, or counts in intervals."""
    lost: list[Gap]


class _OfFlows(_Document):
    state: Literal["none", "running", "ended"]
    """Figures of the last traffic's flows, available once it has ended."""
    invalid_because: list[str]
    """Why the traffic is invalid for the device; empty if it is valid."""


class FlowAccounts(_OfFlows):
    """Latencies of the last traffic's flows."""

    flows: list[FlowAccount]


class FlowHistograms(_OfFlows):
    """Likewise."""

    flows: list[FlowHistogram]


class StreamLosses(_OfFlows):
    """Lost frames of the last traffic's streams; a flow between several ports has several streams."""

    streams: list[StreamLoss]


class Version(_Document):
    """Who answers."""

    keisoku: str
    methods: list[str]
    """Devices that a plan may name."""


class OfFlows(_Document):
    """The requested flows."""

    name: list[str] = []
    """Names of flows; all flows without a name."""


class OfFiguresOfFlows(OfFlows):
    """The requested flows, and percentiles of their latency."""

    percent: list[float] = Field([50.0, 99.0, 99.9], max_length=32)
    """Each between 0 and 100; the figure is called p99.9 and so on."""
