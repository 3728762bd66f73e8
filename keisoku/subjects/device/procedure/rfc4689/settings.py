"""The settings of procedures for classes of traffic."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from keisoku.errors import PlanError
from keisoku.ground.run.settings import Settings
from keisoku.subjects.device.plan.rate import Load

MOST_CODES = {"dscp": 63, "pcp": 7}
"""The greatest code point of each field."""
Code = Annotated[int, Field(ge=0, le=63)]


class ClassSettings(Settings):
    """How frames say which class they are of."""

    field: Literal["dscp", "pcp"] = "dscp"
    """The field that tells classes apart; with 'pcp' frames have a VLAN tag."""
    vlan: int = Field(0, ge=0, le=4094)
    """VLAN of frames with a PCP; 0: a priority tag."""
    maximum_fps: Load | None = None
    """Load of each sending port (default: the maximum of the link)."""


class QosSettings(ClassSettings):
    """What a device does to classes of traffic under congestion (RFC 4689)."""

    trial_s: float = Field(10.0, gt=0)
    """Length of the trial in which all classes are sent together."""
    window_s: float = Field(1.0, gt=0)
    """Length of each part of the trials in which one class, or two, are sent alone."""
    pause_s: float = Field(0.5, ge=0)
    """Pause between these parts, in which queues drain."""
    classes: tuple[Code, ...] = Field((), max_length=8)
    """Code points of the classes, at least two (default: 0, 8, 16, …, 56 of the DSCP, 0 to 7 of the PCP)."""
    counted_bytes: int = Field(0, ge=-64, le=64)
    """What the device counts of a frame in its policers and shapers beside the frame with FCS: -4 does Linux, 20 the
    whole frame on the wire."""

    @model_validator(mode="after")
    def _check(self) -> QosSettings:
        codes = self.codes
        check_codes("qos.classes", self.field, codes)
        if len(codes) < 2:
            raise PlanError("qos.classes", "there is one class only", "give at least two, such as 0,46")
        return self

    @property
    def codes(self) -> tuple[int, ...]:
        """The code points that are sent."""
        return self.classes or (tuple(range(0, 64, 8)) if self.field == "dscp" else tuple(range(8)))


def check_codes(where: str, field: str, codes: tuple[int, ...]) -> None:
    """Raises PlanError, naming the setting `where`, for a code point that the field has not, or that is given twice."""
    most = MOST_CODES[field]
    for place, code in enumerate(codes):
        if code > most:
            raise PlanError(where, f"{code} is no {field.upper()}", f"use 0 to {most}")
        if code in codes[:place]:
            raise PlanError(where, f"{code} is listed twice", "list each once")
