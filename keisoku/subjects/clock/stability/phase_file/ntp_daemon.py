"""Logs of NTP's daemons: chrony's tracking, statistics and measurements.log (chrony.conf(5), log), ntpd's loopstats and
peerstats (monopt.html).

Offsets are in s with the sign of the program; times are dates, or MJD and seconds of the day, in UTC.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from keisoku.errors import PlanError
from keisoku.ground.run.result import Flag
from keisoku.language import plural
from keisoku.subjects.clock.stability.phase_file.recorded import FREQUENCY, Column, Recorded, steered

_NUMBER = r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?"
_DATE = r"(?P<date>\d{4}-\d\d-\d\d +\d\d:\d\d:\d\d)"
_MJD = r"(?P<day>[3-9]\d{4}) +(?P<second>\d{1,5}(?:\.\d+)?)"
_DAY_S = 86_400


@dataclass(frozen=True)
class _Form:
    name: str
    line: re.Pattern[str]
    columns: tuple[tuple[str, str], ...]
    """Groups of `line`, and their units."""
    resolution_s: float
    flags: tuple[Flag, ...]


_FORMS = (
    _Form(
        "chrony tracking.log",
        re.compile(
            rf"^{_DATE} +\S+ +\d+ +(?P<freq>[+-]?\d+\.\d+) +(?P<skew>\d+\.\d+) +"
            rf"(?P<offset>{_NUMBER}) +[NDI?+-] +\d+(?P<rest>(?: +{_NUMBER})*)\s*$"
        ),
        (("offset", "s"), ("freq", FREQUENCY), ("skew", FREQUENCY)),
        1.0,
        (steered("chrony"),),
    ),
    _Form(
        "chrony statistics.log",
        re.compile(
            rf"^{_DATE} +(?P<peer>\S+) +{_NUMBER} +(?P<offset>{_NUMBER}) +(?P<deviation>{_NUMBER})(?: +{_NUMBER}){{3}}"
            rf"(?: +\d+){{3}}(?: +{_NUMBER})?\s*$"
        ),
        (("offset", "s"), ("deviation", "s")),
        1.0,
        (steered("chrony"),),
    ),
    _Form(
        "chrony measurements.log",
        re.compile(
            rf"^{_DATE} +(?P<peer>\S+) +[N?+-] +\d+ +[01]{{3}} +[01]{{3}} +[01]{{3,4}} +-?\d+ +-?\d+ +{_NUMBER} +"
            rf"(?P<offset>{_NUMBER}) +(?P<delay>{_NUMBER}) +(?P<dispersion>{_NUMBER}) +{_NUMBER} +{_NUMBER} +\S+.*$"
        ),
        (("offset", "s"), ("delay", "s"), ("dispersion", "s")),
        1.0,
        (steered("chrony"),),
    ),
    _Form(
        "ntpd loopstats",
        re.compile(
            rf"^{_MJD} +(?P<offset>{_NUMBER}) +(?P<freq>{_NUMBER}) +(?P<jitter>{_NUMBER}) +(?P<wander>{_NUMBER}) +"
            r"(?:1?\d)\s*$"
        ),
        (("offset", "s"), ("freq", FREQUENCY), ("jitter", "s"), ("wander", FREQUENCY)),
        1e-3,
        (steered("ntpd"),),
    ),
    _Form(
        "ntpd peerstats",
        re.compile(
            rf"^{_MJD} +(?P<peer>[\w:%-]*[.:()a-zA-Z][\w.:%()-]*) +[0-9a-fA-F]{{1,4}} +(?P<offset>{_NUMBER}) +"
            rf"(?P<delay>{_NUMBER}) +(?P<dispersion>{_NUMBER})(?: +(?P<jitter>{_NUMBER}))?\s*$"
        ),
        (("offset", "s"), ("delay", "s"), ("dispersion", "s")),
        1e-3,
        (steered("ntpd"),),
    ),
)


def daemon_form(line: str) -> str:
    """The name of the form of this line; empty if none of these daemons wrote it."""
    return next((form.name for form in _FORMS if form.line.match(line)), "")


def read_daemon(name: str, lines: Iterable[str]) -> Recorded:
    """The columns of the form of that name. Raises PlanError for the log of several peers."""
    form = next(form for form in _FORMS if form.name == name)
    rows, first, peers, other = [], list[str](), dict[str, None](), 0
    for line in lines:
        found = form.line.match(line)
        if found is None:
            head = not line.strip() or line.startswith(("=", "#")) or "Date (UTC) Time" in line
            other += 0 if head else 1
            continue
        groups = found.groupdict()
        try:
            since = _moment(groups)
        except ValueError:  # a date that there is not
            other += 1
            continue
        rows.append((since, *(float(groups[column]) for column, _ in form.columns)))
        peers[groups.get("peer", "")] = None
        first += [line] if len(first) < 2 else []
    if len(peers) > 1:
        shown = ", ".join(list(peers)[:5])
        raise PlanError("file", f"it holds {len(peers)} peers: {shown}", "keep the lines of one peer")
    if not rows:
        raise PlanError("file", "it holds no whole line of a log", "give the log as it was written")
    table = np.array(rows)
    flags = list(form.flags)
    if other:
        text = plural(
            "{count} line of the file is none of {form} and is left out",
            "{count} lines of the file are none of {form} and are left out",
            count=other,
            form=form.name,
        )
        flags.append(Flag(name="lines-left-out", text=text))
    return Recorded(
        form=form.name,
        columns=tuple(
            Column(column, table[:, number], unit) for number, (column, unit) in enumerate(form.columns, start=1)
        ),
        phase=0,
        times=table[:, 0],
        resolution=form.resolution_s,
        first_lines=tuple(first),
        flags=tuple(flags),
    )


def _moment(groups: dict[str, str]) -> float:
    """In s of UTC."""
    if "date" in groups:
        return datetime.fromisoformat(" ".join(groups["date"].split()) + "+00:00").timestamp()
    return int(groups["day"]) * float(_DAY_S) + float(groups["second"])
