"""Whether an entry declares the figures that its runs have: a criterion may name no other."""

from __future__ import annotations

import json
from pathlib import Path

from keisoku.ground.run.criterion import ANY_UNIT
from keisoku.ground.run.directory import RunDirectory
from keisoku.running.measurement.table import of_run


def undeclared(run: Path) -> list[str]:
    """'RESULT.FIGURE in UNIT' of each figure of a run that its entry does not declare in that unit."""
    directory = RunDirectory.open(run)
    columns = of_run(directory).columns_of(directory.plan)
    found = {
        (result["measurement"], name, figure["unit"])
        for result in json.loads((run / "result.json").read_text())
        for row in result["rows"]
        for name, figure in row["figures"].items()
    }
    return [
        f"{result}.{name} in {unit or 'no unit'}"
        for result, name, unit in sorted(found)
        if columns.get(result, {}).get(name) not in (unit, ANY_UNIT)
    ]
