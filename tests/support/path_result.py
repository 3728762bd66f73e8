"""A result of a path, with all that a page, a table and a terminal can be asked to show."""

from __future__ import annotations

from keisoku.ground.run.result import Flag, Result, Row
from keisoku.ground.statistics.quantity import Interval, Quantity

RESULT = Result(
    measurement="path one-packet",
    title="Path to <192.0.2.1>",
    rows=[
        Row(
            case="1",
            group="Hop",
            figures={
                "forward_rate": Quantity(
                    value=99.5e6, unit="bit/s", uncertainty=2e6, interval=Interval(lower=98e6, upper=103e6)
                ),
                "latency": Quantity(value=1200.0, unit="ns", uncertainty=None),
            },
        ),
        Row(case="2", group="Hop", figures={"forward_rate": Quantity(value=50e6, unit="bit/s")}, remark="mixed paths"),
        Row(
            case="1 s",
            group="Averaging time",
            figures={"deviation": Quantity(value=5.4, unit="ppb", uncertainty=0.1)},
        ),
        Row(
            case="1000 s",
            group="Averaging time",
            figures={"deviation": Quantity(value=5.4e-6, unit="ppb", uncertainty=1e-7)},
        ),
    ],
    flags=[
        Flag(
            name="token-bucket",
            text="An isolated packet passes at once",
            figures={"burst": Quantity(value=15000, unit="byte", uncertainty=0.0)},
        ),
    ],
    remarks=["rate limit met"],
)
