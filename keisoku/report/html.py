"""The report as one HTML file that loads nothing: plots, tables, accounts, context.

Gathers what the other files of `report` make and fills the template; decides no figure and no
rounding. A content security policy in the page forbids every request.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from plotly.offline import get_plotlyjs

import keisoku
from keisoku.device.plan.procedure import PROCEDURES
from keisoku.device.record.trial import NS_PER_S
from keisoku.device.report.accounting import accounts
from keisoku.device.report.device import Device, devices
from keisoku.device.report.loss_list import losses
from keisoku.device.report.section import parts, plots
from keisoku.device.report.summary import conclusion, summary
from keisoku.device.report.time_plot import time_plot
from keisoku.report import digits, statement
from keisoku.report.budget import budget_tables
from keisoku.report.finding import Finding
from keisoku.report.table import WORDS, line_table, method_table
from keisoku.report.template import environment
from keisoku.run.run import Run

LONG_TABLE = 24
"""Rows above which a table starts folded."""


class Criterion(NamedTuple):
    """What was required, whether it was met, and what was measured instead or at least."""

    text: str
    met: bool
    measured: str


def render_html(
    runs: Sequence[Run],
    criteria: Sequence[tuple[str, bool, str]] = (),
    findings: Sequence[Finding] = (),
    title: str = "",
) -> str:
    """One self-contained page about one or several devices; opens offline.

    `criteria` are (text, met, measured) triples, shown first; `findings` come next. The title names the devices if
    none is given. Raises ValueError for no runs.
    """
    if not runs:
        raise ValueError("a report needs at least one run")
    found = devices(runs)
    templates = environment()
    templates.filters["count"] = digits.count
    templates.filters["rate"] = lambda rate, divisor: digits.significant(rate / divisor, 6)
    balances = {device.name: accounts(device.run.records) for device in found}
    return templates.get_template("report.html").render(
        title=title or ", ".join(device.name for device in found),
        findings=findings,
        words=WORDS,
        version=keisoku.__version__,
        when=_when(runs),
        devices=found,
        criteria=[Criterion(*criterion) for criterion in criteria],
        summaries={device.name: summary(device) for device in found},
        conclusion=conclusion(found),
        sections=[section for method in PROCEDURES if (section := _section(found, method))],
        time=time_plot(found),
        losses={device.name: losses(device.run) for device in found},
        lossy=any(losses(device.run)[0] for device in found),
        accounts=balances,
        load_units={
            name: digits.scale("frames/s", max((row.record.offered_fps for row in rows), default=0.0))
            for name, rows in balances.items()
        },
        trials=sum(len(rows) for rows in balances.values()),
        adding_up=sum(balance.adds_up for rows in balances.values() for balance in rows),
        deviations=statement.deviations(found),
        remarks=statement.remarks(found),
        coverage=statement.COVERAGE,
        not_included=statement.NOT_INCLUDED,
        stamps={device.name: statement.stamps(device) for device in found},
        calibrations={device.name: statement.calibration(device) for device in found},
        context=_context(found),
        plans={device.name: statement.plan_toml(device.run.plan) for device in found},
        marks=digits.MARKS,
        long_table=LONG_TABLE,
        ns_per_s=NS_PER_S,
        plotly=get_plotlyjs().replace("</script", "<\\/script"),
    )


def _section(found: Sequence[Device], method: str) -> dict[str, Any] | None:
    """Plots and tables of one method over all devices that it was run on."""
    measured = [(device, result) for device in found if (result := device.result(method))]
    if not measured:
        return None
    return {
        "method": method,
        "title": PROCEDURES[method].title,
        "standard": PROCEDURES[method].standard,
        "plots": plots(found, method),
        "tables": [
            (device, method_table(part), line_table(part.line) if part.line else None)
            for device, result in measured
            for part in parts(result)
        ],
        "budgets": [(device, tables) for device, result in measured if (tables := budget_tables(result))],
    }


def _when(runs: Sequence[Run]) -> str:
    """The day and the span in UTC that the runs took, from the context or the first and last trial."""
    starts = [str(run.context["started_at"]) for run in runs if run.context.get("started_at")]
    starts = starts or [record.started_at for run in runs for record in run.records]
    try:
        times = sorted(datetime.fromisoformat(start) for start in starts)
    except ValueError:
        return ", ".join(starts)
    if not times:
        return ""
    first, last = times[0], times[-1]
    if first.date() == last.date():
        return f"{first:%-d %B %Y, %H:%M} UTC"
    return f"{first:%-d %B %Y} to {last:%-d %B %Y}"


def _context(found: Sequence[Device]) -> list[tuple[str, list[str]]]:
    """One row per key; one cell that spans all devices where they agree, else one for each."""
    flat = [
        dict(statement.flattened({key: value for key, value in device.run.context.items() if key != "calibration"}))
        for device in found
    ]
    keys = dict.fromkeys(key for context in flat for key in context)
    rows = []
    for key in keys:
        cells = [context.get(key, "") for context in flat]
        rows.append((key, cells[:1] if len(set(cells)) == 1 else cells))
    return rows
