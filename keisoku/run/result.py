"""What a method found: rows of quantities, each with unit and uncertainty, and what was deviated from.

A result is computed from trial records alone and can be computed again. It never formats:
digits and layout belong to `report`.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from keisoku.analysis.quantity import Quantity


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Row(_Model):
    """All figures of one frame size (or of one load, where a method has several for a size)."""

    frame_bytes: int
    case: str = ""
    """Which row of several of one size this is, for people: '1 to 5', 'bursts of 64'."""
    figures: dict[str, Quantity]
    """Keyed by the name that `--require` uses: 'throughput', 'mean', 'min', 'max', 'loss', …"""
    trial: int | None = None
    """Index of the trial record that shows this row's behaviour over time and its histogram."""
    remark: str = ""


class Line(_Model):
    """Least-squares line y = slope·x + constant, with standard errors (E1)."""

    slope: Quantity
    constant: Quantity
    slope_error: float
    """Asymptotic standard error, in the slope's unit."""
    constant_error: float
    points: list[tuple[float, float]]
    """What was fitted: (frame bytes, latency ns)."""


class Result(_Model):
    """One method's answer for one device."""

    method: str
    """Name of the procedure (`keisoku/device/plan/procedure.py`)."""
    rows: list[Row]
    line: Line | None = None
    deviations: list[str] = []
    """Where the procedure differs from the standard it is named after, clause first."""
    remarks: list[str] = []
