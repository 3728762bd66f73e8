"""Settings of the search by MLRsearch: goals as in RFC 9971, and the source of each preset.

The meaning of a goal is defined in `keisoku/subjects/device/procedure/rfc9971/search_goal.py`.
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from keisoku.ground.run.settings import Settings
from keisoku.subjects.device.plan.rate import Load

Percent = Annotated[float, Field(ge=0, lt=100)]


class Preset(NamedTuple):
    """Values that all goals of a search share; only their loss ratios differ."""

    initial_s: float
    trial_s: float
    sum_s: float
    exceed_percent: float
    title: str


PRESETS = {
    "rfc2544": Preset(1.0, 60.0, 60.0, 0.0, "RFC 2544 (60 s, no trial may exceed the loss)"),
    "tst009": Preset(1.0, 60.0, 120.0, 50.0, "ETSI GS NFV-TST009 (60 s, one of two trials may exceed the loss)"),
    "csit": Preset(1.0, 1.0, 21.0, 50.0, "FD.io CSIT (21 trials of 1 s, half may exceed the loss)"),
}
"""RFC 9971 §4.10, its goals for RFC 2544 and TST009; CSIT's from its published methodology."""


class MlrSettings(Settings):
    """NDR and PDR by MLRsearch (RFC 9971)."""

    goals: Literal["rfc2544", "tst009", "csit"] = "rfc2544"
    """Preset of the conditions for a load to be a bound: rfc2544, tst009 or csit."""
    loss_percent: tuple[Percent, ...] = Field((0.0, 0.5), min_length=1)
    """Loss ratio of each goal: 0 gives NDR, others give PDR."""
    trial_s: float | None = Field(None, gt=0)
    """Final trial duration (default: the preset's)."""
    sum_s: float | None = Field(None, gt=0)
    """Sum of trial durations that classifies a load (default: the preset's)."""
    exceed_percent: Percent | None = None
    """Share of that sum in which trials may exceed the loss ratio (default: the preset's)."""
    initial_s: float | None = Field(None, gt=0)
    """Length of the first, shortest trials (default: 1 s, or the final duration if that is shorter)."""
    width_percent: float = Field(0.5, gt=0, lt=100)
    """The search ends when the distance of the bounds, relative to the upper one, is at most this."""
    controller: Literal["mlrsearch", "descent"] = "mlrsearch"
    """What chooses the loads: mlrsearch (the package MLRsearch), or descent, which is faster but only for
    a loss ratio of 0 that no trial may exceed."""
    maximum_fps: Load | None = None
    """Highest load of the search (default: that of the link or the tester)."""
    minimum_fps: Load | None = None
    """Lowest load tried (default: 1/10000 of the highest)."""
    ceiling_percent: float = Field(99.98, gt=0, le=100)
    """Highest load as a share of the link's maximum; below 100 % because clocks may differ by ±100 ppm."""
    stop_at_loss: bool = True
    """End a trial as soon as it has lost more frames than its goal allows, where one such trial decides."""

    def preset(self) -> Preset:
        """The named preset, with the values that are given in its place."""
        base = PRESETS[self.goals]
        trial_s = self.trial_s or base.trial_s
        default_sum_s = base.sum_s * trial_s / base.trial_s
        return Preset(
            initial_s=min(self.initial_s or base.initial_s, trial_s),
            trial_s=trial_s,
            sum_s=max(trial_s, self.sum_s or default_sum_s),
            exceed_percent=base.exceed_percent if self.exceed_percent is None else self.exceed_percent,
            title=base.title,
        )
