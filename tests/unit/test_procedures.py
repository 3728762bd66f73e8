"""What is said of procedures is complete: docs/procedures.md has a row for each."""

from __future__ import annotations

import re
from pathlib import Path

from keisoku.plan.procedure import PROCEDURES


def test_every_procedure_has_its_row_in_the_documentation() -> None:
    text = (Path(__file__).parents[2] / "docs" / "procedures.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    assert set(PROCEDURES) <= set(rows)
    assert len(rows) == len(set(rows))
