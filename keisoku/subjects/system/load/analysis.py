"""Result of the runs of a load: requests/s, bytes/s and latencies of each client and of all, at each concurrency.

Rates are means over repetitions, with the scatter between them as uncertainty. Percentiles are of all repetitions'
requests together; of all clients together, of all their requests. Runs in which a server was lost are in none of them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from keisoku.ground.report import digits
from keisoku.ground.run.result import Flag, Result, Row
from keisoku.ground.statistics import budget
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.system.load.clients import BULK, PROGRAMS
from keisoku.subjects.system.load.host_time import host_rows
from keisoku.subjects.system.load.latency_figures import Bucket, latency_figures
from keisoku.subjects.system.load.lost_server import cause, failures, silent_since_s
from keisoku.subjects.system.load.schedule import ALONE, TOGETHER
from keisoku.subjects.system.load.settings import LoadSettings

NAME = "system load"
ALL = phrase("all")
_EVEN = 1.1
"""Times of streams that ended together differ by less."""
TOLERANCE = 0.005
"""Share of the intended rate by which the offered one may be less, as for devices."""
Run = Mapping[str, Any]
"""Record of one client of a trial."""
Lost = Mapping[tuple[int, str], float]
"""Runs in which the server was lost, by trial and client: s after which it no longer answered."""


def analyse(
    settings: LoadSettings,
    runs: Sequence[Run],
    latencies: Mapping[tuple[int, str], Sequence[Bucket]],
    answers: Mapping[tuple[int, str], Sequence[int]] | None = None,
    activity: Sequence[Mapping[str, Any]] = (),
) -> Result:
    """`latencies` by trial and client, and so `answers` of each tenth of a second; `activity` of this host."""
    bulk = settings.with_ in BULK
    lost = {} if bulk else lost_of(runs, answers or {})
    rows = rows_of(runs, latencies, bulk, lost)
    failure = (
        "" if any(row.figures for row in rows) else phrase("nothing was measured: {remark}", remark=rows[0].remark)
    )
    return Result(
        measurement=NAME,
        title=phrase("{target} by {with_}", target=join_texts(" ", settings.target), with_=settings.with_),
        rows=rows + host_rows(_trials(runs), activity),
        flags=uneven(runs) if bulk else [*flags(runs), *not_offered(runs, settings, lost), *lost_servers(runs, lost)],
        remarks=_remarks(runs, settings, bool(activity)),
        failure=failure,
        sentence=_sentence(rows, "received" if bulk else "requests"),
    )


def _sentence(rows: Sequence[Row], figure: str) -> str:
    """What all clients together got, at each concurrency; empty where no clients ran together."""
    whole = [row for row in rows if row.case.startswith(f"{ALL},") and figure in row.figures]
    if not whole:
        return ""
    said = join_texts(
        "; ",
        [
            join_texts(
                ": ",
                [
                    phrase("{concurrency:g} each", concurrency=row.at.value if row.at else 0),
                    digits.text(row.figures[figure]),
                ],
            )
            for row in whole
        ],
    )
    if figure == "received":
        return phrase("Received of all clients together: {said}.", said=said)
    return phrase("Requests of all clients together: {said}.", said=said)


def lost_of(runs: Sequence[Run], answers: Mapping[tuple[int, str], Sequence[int]]) -> Lost:
    """The runs in which the server was lost."""
    found = {}
    for run in runs:
        place = (run["trial"], run["client"])
        if (since_s := silent_since_s(run, answers.get(place, ()))) is not None:
            found[place] = since_s
    return found


def rows_of(
    runs: Sequence[Run],
    latencies: Mapping[tuple[int, str], Sequence[Bucket]],
    bulk: bool = False,
    lost: Lost | None = None,
) -> list[Row]:
    """A row for each pattern, concurrency and client, and one for all clients where several ran together.

    `bulk`: streams without requests. `of_alone`: what a client gets beside others in percent of that. A row of which
    all runs are `lost` has no figures.
    """
    found = []
    alone: dict[tuple[str, int, str], Quantity] = {}
    for (pattern, file, concurrency), of in sorted(_cells(runs).items(), key=lambda cell: _place(*cell[0])):
        trials: dict[str, list[list[Run]]] = {}
        for client in dict.fromkeys(str(run["client"]) for run in sorted(of, key=_order)):
            trials[client] = [[run] for run in of if run["client"] == client]
        together: dict[int, list[Run]] = {}
        for run in of:
            together.setdefault(int(run["trial"]), []).append(run)
        if any(len(group) > 1 for group in together.values()):
            trials[ALL] = list(together.values())
        for client, groups in trials.items():
            title = join_texts(", ", filter(None, (group_title(pattern), file)))
            row = _bulk_row(title, concurrency, client, groups) if bulk else None
            row = row or _row(title, concurrency, client, groups, latencies, lost or {})
            figure = row.figures.get("received" if bulk else "requests")
            if figure is None:
                pass
            elif pattern == ALONE:
                alone[file, concurrency, client] = figure
            elif (own := alone.get((file, concurrency, client))) and own.value > 0:
                row = row.model_copy(update={"figures": {**row.figures, "of_alone": _share(figure, own)}})
            found.append(row)
    return found


def _cells(runs: Sequence[Run]) -> dict[tuple[str, str, int], list[Run]]:
    """Runs of one pattern, file ('': all by weight) and concurrency."""
    cells: dict[tuple[str, str, int], list[Run]] = {}
    for run in runs:
        place = (str(run["pattern"]), str(run.get("file") or ""), int(run["concurrency"]))
        cells.setdefault(place, []).append(run)
    return cells


def _place(pattern: str, file: str, concurrency: int) -> tuple[object, ...]:
    """Those alone first, all together last; files by size where their names tell it."""
    return pattern != ALONE, pattern == TOGETHER, pattern, len(file), file, concurrency


def _trials(runs: Sequence[Run]) -> dict[str, list[int]]:
    """Numbers of the trials of each pattern, file and concurrency."""
    return {
        join_texts(
            ", ", filter(None, (group_title(pattern), file, phrase("{concurrency:g} each", concurrency=concurrency)))
        ): list(dict.fromkeys(int(run["trial"]) for run in of))
        for (pattern, file, concurrency), of in sorted(_cells(runs).items(), key=lambda cell: _place(*cell[0]))
    }


def flags(runs: Sequence[Run]) -> list[Flag]:
    """Flags that change the meaning of the figures: failures, requests never sent, a client that was the limit."""
    found = []
    why: dict[str, int] = {}
    for run in runs:
        for name, count in json.loads(run["failures"]).items():
            why[name] = why.get(name, 0) + count
    if why:
        words = join_texts(", ", [failures(name, count) for name, count in sorted(why.items())])
        found.append(
            Flag(
                name="failed-requests", text=phrase("Some requests failed and count in no rate: {words}.", words=words)
            )
        )
    if unsent := sum(run["unsent"] for run in runs):
        text = plural(
            "{count:,} request fell due and was never sent: the server or the connections could not keep up.",
            "{count:,} requests fell due and were never sent: the server or the connections could not keep up.",
            count=unsent,
        )
        found.append(Flag(name="unsent-requests", text=text))
    busy = sorted({run["client"] for run in runs if _busy(run) > 0.9})
    if busy:
        text = phrase(
            "The client's own thread was busy for more than 90 % of the time ({busy}): it may be the limit.",
            busy=join_texts(", ", busy),
        )
        found.append(Flag(name="client-limited", text=text))
    return found


def not_offered(runs: Sequence[Run], settings: LoadSettings, lost: Lost) -> list[Flag]:
    """Flag for an open loop that offered less than it was asked to."""
    if settings.rate_rps is None:
        return []
    short = []
    for run in runs:
        took_s = _seconds([run])
        offered = run["completed"] + run["failed"] + run["given_up"]
        intended = offered + run["unsent"] if run["unsent"] else settings.rate_rps * took_s
        by_chance = 4 * math.sqrt(intended) if settings.poisson and not run["unsent"] else 0.0
        if offered < intended * (1 - TOLERANCE) - by_chance - 1 and (run["trial"], run["client"]) not in lost:
            short.append((offered / took_s, intended / took_s))
    if not short:
        return []
    offered_rps, intended_rps = min(short, key=lambda one: one[0] / one[1])
    text = phrase(
        "In {count:,} of {runs:,} runs of a client less was offered than intended, at worst "
        "{offered:,.4g} of {intended:,.4g} requests/s: the connections or the client could "
        "not keep up.",
        count=len(short),
        runs=len(runs),
        offered=offered_rps,
        intended=intended_rps,
    )
    return [Flag(name="not-offered", text=text)]


def lost_servers(runs: Sequence[Run], lost: Lost) -> list[Flag]:
    """Flag for runs in which a server did not answer, or no longer."""
    found = [run for run in runs if (run["trial"], run["client"]) in lost]
    if not found:
        return []
    first = found[0]
    since_s = lost[first["trial"], first["client"]]
    when = phrase("from {since_s:.1f} s on", since_s=since_s) if since_s else phrase("at all")
    text = phrase(
        "In {count:,} of {runs:,} runs of a client the server did not answer to the end (run "
        "{trial}, {client}: not {when}); these runs are in no figure: {cause}.",
        count=len(found),
        runs=len(runs),
        trial=first["trial"] + 1,
        client=first["client"],
        when=when,
        cause=cause(found),
    )
    return [Flag(name="server-lost", text=text)]


def uneven(runs: Sequence[Run]) -> list[Flag]:
    """Flag for streams that did not end together: some still emptied their buffers when others had ended."""
    trials: dict[int, list[float]] = {}
    for run in runs:
        trials.setdefault(int(run["trial"]), []).append(_seconds([run]))
    late = sum(max(group) > _EVEN * min(group) for group in trials.values())
    if not late:
        return []
    text = phrase(
        "In {count:,} of {trials:,} runs a client still emptied its buffers when others had "
        "long ended: the sum of their rates may exceed the total rate at any one time. Give "
        "a longer --duration.",
        count=late,
        trials=len(trials),
    )
    return [Flag(name="uneven-ends", text=text)]


def _row(
    title: str,
    concurrency: int,
    client: str,
    every: Sequence[Sequence[Run]],
    latencies: Mapping[tuple[int, str], Sequence[Bucket]],
    lost: Lost,
) -> Row:
    groups = [group for group in every if not any((run["trial"], run["client"]) in lost for run in group)]
    connections = sum(run["connections"] for run in every[0])
    left_out = len(every) - len(groups)
    remark = ""
    figures: dict[str, Quantity] = {}
    if left_out:
        silent = [run for group in every for run in group if (run["trial"], run["client"]) in lost]
        if any(run["completed"] for run in silent):
            said = phrase(
                "the server was lost in {count} of {runs} runs, which do not count", count=left_out, runs=len(every)
            )
        else:
            said = phrase("the server never answered in {count} of {runs} runs", count=left_out, runs=len(every))
        remark = join_texts(": ", [said, cause(silent)])
    if groups:
        seconds = [_seconds(group) for group in groups]
        requests = [sum(run["completed"] for run in group) / s for group, s in zip(groups, seconds, strict=True)]
        bits = [8 * sum(run["received_bytes"] for run in group) / s for group, s in zip(groups, seconds, strict=True)]
        figures = {"requests": budget.mean(requests, "requests/s"), "received": budget.mean(bits, "bit/s")}
        figures |= latency_figures(
            [[b for run in group for b in latencies.get((run["trial"], run["client"]), ())] for group in groups]
        )
        figures["failed"] = Quantity(
            value=sum(run["failed"] for group in groups for run in group), unit="", uncertainty=0.0
        )
        figures["runs"] = Quantity(value=len(groups), unit="", uncertainty=0.0)
    return Row(
        case=join_texts(", ", [client, plural("{count} connection", "{count} connections", count=connections)]),
        figures=figures,
        at=Quantity(value=concurrency, unit="", uncertainty=0.0),
        group=title,
        remark=remark,
    )


def _bulk_row(title: str, concurrency: int, client: str, groups: Sequence[Sequence[Run]]) -> Row:
    """Bits of all clients together are the sum of their rates, each over its own time."""
    rates = [sum(8 * run["received_bytes"] / _seconds([run]) for run in group) for group in groups]
    streams = sum(run["connections"] for run in groups[0])
    return Row(
        case=join_texts(", ", [client, streams_text(streams)]),
        figures={
            "received": budget.mean(rates, "bit/s"),
            "runs": Quantity(value=len(groups), unit="", uncertainty=0.0),
        },
        at=Quantity(value=concurrency, unit="", uncertainty=0.0),
        group=title,
    )


def streams_text(count: float) -> str:
    """'1 stream', '4 streams'."""
    return plural("{count:g} stream", "{count:g} streams", count=count)


def group_title(pattern: str) -> str:
    """What rows of a pattern are grouped by."""
    return {ALONE: phrase("Alone"), TOGETHER: phrase("Together")}.get(pattern, pattern)


def _share(part: Quantity, whole: Quantity) -> Quantity:
    """In percent; of two independent means."""
    share = 100 * part.value / whole.value
    if part.uncertainty is None or whole.uncertainty is None or not part.value:
        return Quantity(value=share, unit="%")
    relative = math.hypot(part.uncertainty / part.value, whole.uncertainty / whole.value)
    return Quantity(value=share, unit="%", uncertainty=share * relative)


def _seconds(group: Sequence[Run]) -> float:
    """From the first client's beginning to the last one's end."""
    return max(1e-9, float(max(run["ended_ns"] for run in group) - min(run["began_ns"] for run in group)) / 1e9)


def _busy(run: Run) -> float:
    took_ns = float(run["ended_ns"] - run["began_ns"])
    return float(run["cpu_ns"] or 0.0) / max(1.0, took_ns)


def _order(run: Run) -> tuple[int, str]:
    return len(str(run["client"])), str(run["client"])


def _remarks(runs: Sequence[Run], settings: LoadSettings, host: bool) -> list[str]:
    said = []
    if settings.rate_rps:
        said.append(
            phrase("Open loop: each request is timed from when it was due, whether a connection was free or not.")
        )
    if settings.with_ in PROGRAMS:
        said.append(PROGRAMS[settings.with_].remark)
    if settings.with_ in BULK:
        said.append(phrase("Received is what the servers read; of all clients together it is the sum of their rates."))
    if settings.with_ not in BULK:
        said.append(
            phrase(
                "Intervals of percentiles are of the requests as if they were independent, or of the "
                "scatter between runs where that is wider; 'at least' where there were too few "
                "requests. The maximum is of these requests."
            )
        )
    if host:
        said.append(
            phrase(
                "The rows of the host are of all CPUs of this host, whatever used them; the table "
                "'activity' of the run has them for each half second. Retransmissions are those of "
                "the clients' and servers' namespaces here."
            )
        )
    if len({run["repetition"] for run in runs}) < 2:
        said.append(phrase("One repetition has no scatter: rates are without an uncertainty."))
    return said
