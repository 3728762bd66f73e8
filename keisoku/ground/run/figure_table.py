"""The figures of results as one table: a row for each figure of each row."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from keisoku.ground.run.result import Result
from keisoku.ground.statistics.quantity import Quantity

if TYPE_CHECKING:  # Arrow loads slowly, and is not everywhere
    import pyarrow as pa


def figures(results: Iterable[Result]) -> pa.Table:
    """Long form, one figure in each row, with its unit and uncertainty; null: not known.

    'bound' is 'at least' or 'at most' where the value is only a bound, whose open side is null; 'covers' is
    'resolution' where the uncertainty is only that of the run's resolution, 'observed' where it is that of one
    observation, and 'repetitions' where the tester was not calibrated.
    """
    import pyarrow as pa

    rows = [
        {
            "measurement": result.measurement,
            "frame_bytes": row.frame_bytes or None,
            "group": row.group or None,
            "case": row.case or None,
            "figure": name,
            "value": figure.value,
            "unit": figure.unit,
            "uncertainty_k2": figure.uncertainty,
            "lower": _end(figure, 0),
            "upper": _end(figure, 1),
            "bound": figure.bound or None,
            "covers": figure.covers or None,
            "trial": row.trial,
            "remark": row.remark or None,
        }
        for result in results
        for row in result.rows
        for name, figure in row.figures.items()
    ]
    types = [
        ("measurement", pa.string()),
        ("frame_bytes", pa.int64()),
        ("group", pa.string()),
        ("case", pa.string()),
        ("figure", pa.string()),
        ("value", pa.float64()),
        ("unit", pa.string()),
        ("uncertainty_k2", pa.float64()),
        ("lower", pa.float64()),
        ("upper", pa.float64()),
        ("bound", pa.string()),
        ("covers", pa.string()),
        ("trial", pa.int64()),
        ("remark", pa.string()),
    ]
    return pa.Table.from_pylist(rows, schema=pa.schema(types))


def _end(figure: Quantity, side: int) -> float | None:
    bounds = figure.bounds
    return bounds[side] if bounds and math.isfinite(bounds[side]) else None
