"""`Frozen`: the base of values that come from files and other programs, or go there."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """Checked when it is made, and never changed. A field that it does not know is an error, so nothing is silently
    ignored. Raises pydantic's ValidationError."""

    model_config = ConfigDict(frozen=True, extra="forbid")
