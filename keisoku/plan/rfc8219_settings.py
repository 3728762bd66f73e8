"""Settings of RFC 8219's delay and delay variation and of RFC 4737's reordering; the RFCs' values are the defaults.

Also the frame sizes that the RFCs after 2544 ask for. Says nothing of how a procedure proceeds.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from keisoku.plan.settings import Settings


class DelaySettings(Settings):
    """RFC 8219 §7.2: at least 500 frames tagged after 60 s of at least 120 s, 20 times."""

    trial_s: float = Field(120.0, gt=0)
    tag_after_s: float = Field(60.0, ge=0)
    """From when on every frame counts; half way through a trial that is shorter than 120 s."""
    trials: int = Field(20, ge=1)
    """Repetitions (default 20)."""
    rate_fps: float | None = Field(None, gt=0)
    """Load to measure at; the throughput of each size if not given."""

    @model_validator(mode="before")
    @classmethod
    def _tag_of_a_short_trial(cls, source: Any) -> Any:
        if isinstance(source, dict) and "tag_after_s" not in source and isinstance(source.get("trial_s"), int | float):
            return source | {"tag_after_s": min(60.0, source["trial_s"] / 2)}
        return source


class DelayVariationSettings(Settings):
    """RFC 8219 §7.3: all frames of at least 60 s, 20 times."""

    trial_s: float = Field(60.0, gt=0)
    trials: int = Field(20, ge=1)
    """Repetitions (default 20)."""
    rate_fps: float | None = Field(None, gt=0)
    """Load to measure at; the throughput of each size if not given."""


class ReorderingSettings(Settings):
    """RFC 4737 and RFC 5236, at several loads: a device may reorder above a certain one only."""

    trial_s: float = Field(60.0, gt=0)
    loads_percent: tuple[float, ...] = Field((10.0, 50.0, 90.0, 100.0), min_length=1)
    """Loads as shares of the maximum (default 10,50,90,100)."""
    maximum_fps: float | None = Field(None, gt=0)
    """What 100 % means; the theoretical maximum of the link if not given."""
