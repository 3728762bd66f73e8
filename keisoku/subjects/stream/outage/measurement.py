"""`outage udp` and `outage tcp` as entries of the table of measurements, but for what differs between them."""

from __future__ import annotations

import json

from keisoku.errors import PlanError
from keisoku.ground.entry import Findings, Measurement, Work
from keisoku.ground.run.directory import RunDirectory
from keisoku.language import phrase
from keisoku.subjects.stream.outage.analysis import outcome_of
from keisoku.subjects.stream.outage.figures import UNITS, interruption_lines, result_of
from keisoku.subjects.stream.outage.measure import RECORD, measure_outage
from keisoku.subjects.stream.outage.plot import outage_plots
from keisoku.subjects.stream.outage.settings import OutageSettings, refuse_from_afar

_ENDING_S = 2.0


def outage_measurement(protocol: str, title: str, summary: str, help: str) -> Measurement[OutageSettings]:
    """The entry of a protocol, 'udp' or 'tcp'."""
    name = f"outage {protocol}"

    def measure(work: Work[OutageSettings]) -> None:
        """Raises EngineError if the far end does not let this one in, or a command fails."""
        measure_outage(work, protocol == "tcp")

    def analyse(directory: RunDirectory) -> Findings:
        """From the last record of the run alone, finished or not. Raises PlanError if there is none."""
        lines = directory.lines(RECORD)
        if not lines:
            raise PlanError("run", f"{directory.path} holds no record", "measure again")
        found = outcome_of(json.loads(lines[-1]))
        settings = OutageSettings.model_validate(directory.plan)
        of = phrase("interruptions between here and {host} ({protocol})", host=settings.host, protocol=protocol.upper())
        result = result_of(found, settings, name, of)
        return Findings([result], outage_plots(found), {"interruptions": interruption_lines(found)})

    def seconds(settings: OutageSettings) -> float | None:
        """With the report of the far end; None: as long as a command runs."""
        return None if settings.length_s is None else settings.length_s + _ENDING_S

    return Measurement(
        name=name,
        title=title,
        settings=OutageSettings,
        seconds=seconds,
        shortens=("duration_s", "watch_s"),
        measure=measure,
        analyse=analyse,
        figure="interruption",
        units=UNITS,
        same=("flows", "interval_s"),
        summary=summary,
        help=help,
        from_afar=refuse_from_afar,
    )
