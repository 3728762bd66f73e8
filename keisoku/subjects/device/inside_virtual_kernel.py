"""Run in a virtual kernel: measures what an order says, and tells how that ended (`virtual_lab.py` starts it).

Its arguments are two files of JSON. The order has `plan`, `path` (the run directory) and `resumed`. The answer has
`plan` (the parts of a PlanError, or nothing) and `engine` (the text of an EngineError, or nothing).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from keisoku.errors import EngineError, PlanError
from keisoku.ground.entry import Work
from keisoku.ground.run.directory import RunDirectory
from keisoku.subjects.device.measurement import MEASUREMENT
from keisoku.subjects.device.plan.plan import parse


def main(order: Path, answer: Path) -> None:
    """Measures, and writes the answer."""
    asked = json.loads(order.read_text())
    said: dict[str, object] = {"plan": [], "engine": ""}
    path = Path(asked["path"])
    work = Work(MEASUREMENT, parse(asked["plan"]), path, RunDirectory.open(path) if asked["resumed"] else None)
    try:
        MEASUREMENT.measure(work)
    except PlanError as error:
        said["plan"] = [error.field, error.problem, error.remedy]
    except EngineError as error:
        said["engine"] = str(error)
    answer.write_text(json.dumps(said))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
