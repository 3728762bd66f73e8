"""The page of a clock's or path's measurement: flags, plots, tables, context; one HTML file that loads nothing.

Plots come from the file of each kind ('keisoku/report/…_plot.py'); nothing is computed here. A content security
policy in the page forbids every request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from plotly.offline import get_plotlyjs

import keisoku
from keisoku.report import digits, statement
from keisoku.report.html import LONG_TABLE
from keisoku.report.observation_table import flag_text, observation_tables
from keisoku.report.plot import Plot
from keisoku.report.table import WORDS
from keisoku.report.template import environment
from keisoku.run.observation import Observation

_COVERAGE = (
    "A figure reads value ± U, with the expanded uncertainty U = 2u: a coverage factor of k = 2, about 95 % if the "
    "errors are normal (GUM, JCGM 100:2008). A figure that reads value (lower … upper) has a confidence interval of "
    "95 % that is not symmetrical. The value is rounded to its uncertainty; no digit below it is shown."
)


def render_observation(
    observation: Observation, settings: Mapping[str, Any], context: Mapping[str, Any], plots: Sequence[Plot] = ()
) -> str:
    """One self-contained page; opens offline. `context` may say `started_at` (ISO 8601).

    Raises ValueError if two plots have one name.
    """
    if len({plot.name for plot in plots}) < len(plots):
        raise ValueError("plots of a page need different names")
    return (
        environment()
        .get_template("observation.html")
        .render(
            observation=observation,
            flags=[(flag, flag_text(flag)) for flag in observation.flags],
            tables=observation_tables(observation),
            plots=plots,
            context=statement.flattened(context),
            settings=statement.plan_toml(settings),
            coverage=_COVERAGE,
            when=_when(context.get("started_at")),
            version=keisoku.__version__,
            words=(*WORDS, *observation.groups()),
            marks=digits.MARKS,
            long_table=LONG_TABLE,
            plotly=get_plotlyjs().replace("</script", "<\\/script"),
        )
    )


def _when(started_at: object) -> str:
    if not started_at:
        return ""
    try:
        return f"{datetime.fromisoformat(str(started_at)):%-d %B %Y, %H:%M} UTC"
    except ValueError:
        return str(started_at)
