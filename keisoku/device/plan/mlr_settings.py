"""Settings of the search by MLRsearch: goals as draft-ietf-bmwg-mlrsearch has them, and where each preset comes from.

Holds values; what a goal means is a controller's (`keisoku/device/method/search_goal.py`).
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from keisoku.run.settings import Settings

Percent = Annotated[float, Field(ge=0, lt=100)]


class Preset(NamedTuple):
    """What all goals of a search have in common but their loss ratio."""

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
"""draft-ietf-bmwg-mlrsearch-15, its examples of goals; CSIT's from its published methodology."""


class MlrSettings(Settings):
    """NDR and PDR by MLRsearch (draft-ietf-bmwg-mlrsearch)."""

    goals: Literal["rfc2544", "tst009", "csit"] = "rfc2544"
    """Which trials a bound needs: rfc2544 (what holds if none is named), tst009 or csit."""
    loss_percent: tuple[Percent, ...] = Field((0.0, 0.5), min_length=1)
    """Loss ratio of each goal: 0 is NDR, others are PDR."""
    trial_s: float | None = Field(None, gt=0)
    """Final trial duration, in place of the preset's."""
    sum_s: float | None = Field(None, gt=0)
    """Sum of durations that classifies a load, in place of the preset's."""
    exceed_percent: Percent | None = None
    """Share of that sum that may exceed the loss, in place of the preset's."""
    initial_s: float | None = Field(None, gt=0)
    """Shortest trials of the search (default 1 s, or the final duration if that is shorter)."""
    width_percent: float = Field(0.5, gt=0, lt=100)
    """How close the bounds must be, relative to the upper one."""
    controller: Literal["mlrsearch", "descent"] = "mlrsearch"
    """Who chooses loads: the package MLRsearch, or for loss goals of 0 without exceeding ours, which is quicker."""
    maximum_fps: float | None = Field(None, gt=0)
    """Search below this load even if the link could carry more."""
    minimum_fps: float | None = Field(None, gt=0)
    """Least load tried (default a ten-thousandth of the highest)."""
    ceiling_percent: float = Field(99.98, gt=0, le=100)
    """Highest load, of the maximum of the link (clocks differ by up to 100 ppm each way)."""
    stop_at_loss: bool = True
    """End a trial when more frames are lost than its goal allows, where one such trial decides."""

    def preset(self) -> Preset:
        """The goals' common part with what is given in its place."""
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
