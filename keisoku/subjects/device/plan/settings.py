"""The settings of each method and of the phases of a trial, with the RFCs' values as defaults.

Times are in seconds and shares in percent, as in a plan; the plan converts them for trials. Deviations from the
standard are found by comparison with these defaults (`device/method/deviations.py`).
"""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from keisoku.ground.run.settings import Settings
from keisoku.subjects.device.plan.rate import Load
from keisoku.subjects.device.record.trial import NS_PER_S, Phases

RFC2544_SIZES = (64, 128, 256, 512, 1024, 1280, 1518)
"""RFC 2544 §9.1, Ethernet: from destination address to FCS."""
RFC5695_SIZES = tuple(size + 4 for size in RFC2544_SIZES)
"""RFC 5695 §4.1.5.1: sizes of frames with exactly one label."""


class PhaseSettings(Settings):
    """Phases around each trial (RFC 2544 §23)."""

    learning: bool = True
    learning_wait_s: float = Field(2.0, ge=0)
    drain_s: float = Field(2.0, ge=0)
    rest_s: float = Field(5.0, ge=0)

    def phases(self) -> Phases:
        """The phases with times in ns."""
        return Phases(
            learning=self.learning,
            learning_wait_ns=round(self.learning_wait_s * NS_PER_S),
            drain_ns=round(self.drain_s * NS_PER_S),
            rest_ns=round(self.rest_s * NS_PER_S),
        )


class TrialSettings(Settings):
    """One load at each size, one trial each."""

    trial_s: float = Field(1.0, gt=0)
    rate_fps: Load | None = None
    """Load of each sending port (default: 99.98 % of the link's maximum)."""


class ThroughputSettings(Settings):
    """RFC 2544 §26.1 with a binary search (RFC 2544 §24 allows shorter trials while searching)."""

    trial_s: float = Field(60.0, gt=0)
    """Length of the final trial."""
    search_s: float | None = Field(None, gt=0)
    """Length of the search's trials (default: that of the final trial)."""
    first: tuple[tuple[int, float], ...] = ()
    """Where a search begins: a frame size in bytes and a load in frames/s each (default: at the highest load). The
    result does not depend on it, only the number of trials."""
    resolution_percent: float = Field(0.1, gt=0, le=50)
    """The search ends when the loads with and without loss differ by at most this share."""
    maximum_fps: Load | None = None
    """Highest load of the search (default: that of the link or the tester)."""
    ceiling_percent: float = Field(99.98, gt=0, le=100)
    """Highest load as a share of the link's maximum; below 100 % because clocks may differ by ±100 ppm."""
    stop_at_loss: bool = True
    """End a trial at its first lost frame, because the load has then failed."""
    confirmations: int = Field(2, ge=0)
    """Number of further trials at the load that passed and at the one above it that failed."""


class LatencySettings(Settings):
    """RFC 2544 §26.2: a frame tagged after 60 s in a stream of 120 s, 20 times; and the latency of every frame."""

    trial_s: float = Field(120.0, gt=0)
    tag_after_s: float = Field(60.0, ge=0)
    """When the tagged frame is sent, from the start of the trial; halfway through a trial shorter than 120 s."""
    repetitions: int = Field(20, ge=1)
    """Number of trials at each size."""
    rate_fps: Load | None = None
    """Load of the trials (default: the measured throughput of each size)."""

    @model_validator(mode="before")
    @classmethod
    def _tag_of_a_short_trial(cls, source: Any) -> Any:
        if isinstance(source, dict) and "tag_after_s" not in source and isinstance(source.get("trial_s"), int | float):
            return source | {"tag_after_s": min(60.0, source["trial_s"] / 2)}
        return source


class LossSettings(Settings):
    """RFC 2544 §26.3: 100 %, 90 %, … until two successive trials without loss."""

    trial_s: float = Field(60.0, gt=0)
    step_percent: float = Field(10.0, gt=0, le=10)
    """Step between loads, at most 10 %."""
    maximum_fps: Load | None = None
    """Rate of 100 % (default: the theoretical maximum of the link)."""


class SweepSettings(Settings):
    """Each size at the smallest gap, one latency value a second, least-squares line (published switch measurements,
    E1)."""

    trial_s: float = Field(10.0, gt=0)
    """Length of each trial."""
    sample_s: float | None = Field(None, gt=0)
    """Length of one latency sample (default: 1 s, or a tenth of a shorter trial)."""
    rate_fps: Load | None = None
    """Load at every size (default: the smallest gap, 100 % of the link)."""


class CalibrateSettings(Settings):
    """The tester on a bare cable: its latency and scatter by frame size and load."""

    trial_s: float = Field(1.0, gt=0)
    repetitions: int = Field(5, ge=2)
    """Number of trials at each size and load."""
    loads_percent: tuple[float, ...] = (1.0, 10.0, 50.0, 90.0)
    """Loads as shares of the highest that the tester can offer on the cable."""
    length_m: float | None = Field(None, ge=0)
    """Length of the cable, for 'keisoku cable-series'; sim:cable gets this length."""
