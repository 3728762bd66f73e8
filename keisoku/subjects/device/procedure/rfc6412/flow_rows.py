"""What each event did to each flow, as rows of a CSV file. Full precision, units in column names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from keisoku.subjects.device.analysis.outage import Between, reaches
from keisoku.subjects.device.record.trial_record import TrialRecord


def flow_files(records: Sequence[TrialRecord]) -> Mapping[str, Iterable[Sequence[object]]]:
    """The rows, by the name of their file."""
    return {"flows": flow_rows(records)}


def flow_rows(records: Iterable[TrialRecord]) -> Iterable[Sequence[object]]:
    """The header, then a row for each flow and event of the trials with events. Ports are counted from 1; a time is
    three columns, its least, its likely and its greatest value, of which the last is empty if it is not known."""
    times = [
        f"{name}_{kind}_ns"
        for name in ("interruption", "onset", "convergence")
        for kind in ("least", "likely", "greatest")
    ]
    yield [
        *("trial", "event", "undone", "flow", "transmit", "receive", "interruptions", "first_lost", "last_lost"),
        *("lost_frames", "duplicated_frames", "reordered_frames", "port_before", "port_after", *times),
    ]
    for record in records:
        if record.method != "convergence":
            continue
        for reach in reaches(record):
            event = None if reach.event is None else record.trial.events[reach.event]
            for impact in reach.impacts:
                yield [
                    record.index,
                    "" if event is None else event.name,
                    "" if event is None else event.undo,
                    impact.flow,
                    impact.transmit + 1,
                    impact.receive + 1,
                    len(impact.outages),
                    impact.outages[0].first if impact.outages else "",
                    impact.outages[-1].last if impact.outages else "",
                    impact.lost,
                    impact.duplicated,
                    impact.reordered,
                    impact.port_before + 1,
                    impact.port_after + 1,
                    *_columns(impact.interruption),
                    *_columns(impact.onset),
                    *_columns(impact.convergence),
                ]


def _columns(time: Between | None) -> list[object]:
    if time is None:
        return ["", "", ""]
    if math.isinf(time.highest):
        return [time.lowest, "", ""]
    return [time.lowest, time.likely, time.highest]
