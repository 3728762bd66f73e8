"""E5: every published cell finds its figure in what streams and transfers give, and a tool that is wrong fails."""

from __future__ import annotations

import pytest

from keisoku.ground.run.result import Flag, Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.running.study.cell import FAILED, Cell, cells
from keisoku.running.study.file import find_studies
from keisoku.running.study.transfer_step import with_named
from keisoku.running.study.truth import most_bps, with_share


def _rates(group: str, **bps: float) -> list[Row]:
    return [
        Row(case=name, group=group, figures={"throughput": Quantity(value=value, unit="bit/s")})
        for name, value in bps.items()
    ]


def _e5(off: float = 1.0, named: str = "", error: float = 0.0) -> list[Cell]:
    """Every cell, as if links gave `off` of what they can with this relative standard error, all CPUs were full, and
    `named` were always named where given."""
    (study,) = find_studies("e5")
    results = {}
    for step in study.stream:
        most = most_bps(step.rate_bps or 2e10, step.mtu)
        rows = _rates("Message", **{f"{size} byte": off * most for size in step.sizes})
        if error:
            rows = [_uncertain(row, error) for row in rows]
            rows.append(Row(case="threads", figures={"cpu": Quantity(value=100.0, unit="%")}))
        result = Result(measurement="stream tcp", rows=rows)
        results[step.name] = with_share(result, "throughput", most) if step.rate_bps else result
    for transfer in study.transfer:
        limits = {"source disk": transfer.source_bps, "destination disk": transfer.sink_bps, "network": None}
        stages = {stage: limit or 2e9 for stage, limit in limits.items()}
        slowest = named or min(stages, key=lambda stage: stages[stage])
        flag = Flag(name=f"bottleneck-{slowest.split()[0]}", text="x")
        rows = _rates("Stage", **stages, together=0.95 * min(stages.values()))
        results[transfer.name] = with_named(Result(measurement="stream file", rows=rows, flags=[flag]))
    return cells(study, results)


def _uncertain(row: Row, error: float) -> Row:
    rate = row.figures["throughput"]
    return row.model_copy(
        update={"figures": {"throughput": rate.model_copy(update={"uncertainty": 2 * error * rate.value})}}
    )


def _failing(found: list[Cell]) -> set[str]:
    return {cell.row for cell in found if cell.agreement in FAILED}


def test_every_cell_of_e5_finds_ours_and_the_labs_truth_agrees() -> None:
    found = _e5()
    assert len(found) == 7 and _failing(found) == set()
    assert {cell.agreement for cell in found if cell.table == "Truth of the lab"} == {"agrees"}
    assert most_bps(1e9, 1500) == pytest.approx(956.4e6, rel=1e-4)


def test_full_cpus_explained_a_rate_that_filled_the_link() -> None:
    """950 ± 9 Mb/s of 956 on a host that was full of other work."""
    verdicts = {cell.row: cell.agreement for cell in _e5(off=0.9936, error=0.0093)}
    assert verdicts["copper, direct"] == verdicts["fibre, direct"] == "undecided"
    verdicts = {cell.row: cell.agreement for cell in _e5(off=0.97, error=0.002)}
    assert verdicts["copper, direct"] == "differs"


def test_e5_fails_on_a_wrong_rate_and_on_a_wrong_bottleneck() -> None:
    assert "100 Mb/s" in _failing(_e5(off=0.9))
    assert _failing(_e5(named="network")) == {"source disk at 200 Mb/s, by FTP", "destination disk at 200 Mb/s"}
