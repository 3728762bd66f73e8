"""One run: the plan, the context, the trial records and the results of one device.

Holds them together and computes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keisoku.device.record.trial import TrialRecord
from keisoku.run.result import Result


@dataclass(frozen=True)
class Run:
    """What a run directory holds; `context` says where and with what it was measured."""

    directory: Path
    plan: dict[str, Any]
    context: dict[str, Any]
    records: list[TrialRecord]
    results: list[Result]
