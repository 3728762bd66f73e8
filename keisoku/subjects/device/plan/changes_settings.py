"""Settings of the procedure that finds what a device changes."""

from __future__ import annotations

from typing import Any

from pydantic import Field, field_validator

from keisoku.ground.frame.separated import separated
from keisoku.ground.run.settings import Settings
from keisoku.subjects.device.plan.rate import Load


class ChangesSettings(Settings):
    """One load at each size; the headers of every frame that arrives are compared with those that are expected."""

    trial_s: float = Field(10.0, gt=0)
    """Length of each trial."""
    rate_fps: Load | None = None
    """Load of each sending port (default: 99.98 % of the link's maximum)."""
    expect: tuple[str, ...] = ()
    """What the device is to change, such as 'IP.ttl=-1', 'IP.dst=10.0.0.1' or 'pop=Dot1Q'; it is added to what is known
    of the device, and a field that is named here is not taken from there."""
    learn_s: float | None = Field(None, gt=0)
    """Length of a first trial: what the device does there to most frames of a stream is then expected as well (default:
    no such trial)."""

    @field_validator("expect", mode="before")
    @classmethod
    def _whole(cls, value: Any) -> Any:
        """A comma between parentheses belongs to one change: 'push=Dot1Q(vlan=5, prio=1)'."""
        parts = [value] if isinstance(value, str) else list(value) if isinstance(value, list | tuple) else value
        if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
            return value
        return separated(",".join(parts)) if parts else ()
