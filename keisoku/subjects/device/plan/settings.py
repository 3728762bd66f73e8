"""The settings of each method and of the phases of a trial, with the RFCs' values as defaults.

Times are in seconds and shares in percent, as in a plan; the plan converts them for trials. Deviations from the
standard are found by comparison with these defaults (`device/method/deviations.py`).
"""

from __future__ import annotations

from pydantic import Field

from keisoku.ground.run.settings import Settings, not_an_option
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


class SearchingSettings(Settings):
    """Of a procedure that searches for the throughput first, and whose own trials have no one length."""

    search_s: float | None = Field(None, gt=0)
    """Length of each trial that searches for the throughput (default: that of the profile)."""


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
    """How often the last load that passed and the first that failed are repeated."""
    paired: bool = not_an_option(False)
    """It is one side of a pair, where a frame's cost is measured again and again: in few runs each time."""
