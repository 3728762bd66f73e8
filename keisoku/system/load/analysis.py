"""Result of the runs of a load: requests/s, bytes/s and latencies of each client and of all, at each concurrency.

Rates are means over repetitions, with the scatter between them as uncertainty. Percentiles are of all repetitions'
requests together; of all clients together, of all their requests.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from keisoku.analysis.quantity import Quantity
from keisoku.analysis.uncertainty import expanded, standard_error_of_mean
from keisoku.run.result import Flag, Result, Row
from keisoku.system.load.clients import BULK, PROGRAMS
from keisoku.system.load.schedule import ALONE, TOGETHER
from keisoku.system.load.settings import LoadSettings

NAME = "app load"
ALL = "all"
_EVEN = 1.1
"""Times of streams that ended together differ by less."""
PERCENTILES = (50.0, 90.0, 99.0)
Run = Mapping[str, Any]
"""Record of one client of a trial."""
Bucket = tuple[int, int, int]


def analyse(
    settings: LoadSettings, runs: Sequence[Run], latencies: Mapping[tuple[int, str], Sequence[Bucket]]
) -> Result:
    """`latencies` by trial and client."""
    bulk = settings.with_ in BULK
    return Result(
        measurement=NAME,
        title=f"{' '.join(settings.target)} by {settings.with_}",
        rows=rows_of(runs, latencies, bulk),
        flags=uneven(runs) if bulk else flags(runs),
        remarks=_remarks(runs, settings),
    )


def rows_of(
    runs: Sequence[Run], latencies: Mapping[tuple[int, str], Sequence[Bucket]], bulk: bool = False
) -> list[Row]:
    """A row for each pattern, concurrency and client, and one for all clients where several ran together.

    `bulk`: streams without requests. `of_alone`: what a client gets beside others in percent of that.
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
            title = ", ".join(filter(None, (group_title(pattern), file)))
            row = _bulk_row(title, concurrency, client, groups) if bulk else None
            row = row or _row(title, concurrency, client, groups, latencies)
            figure = row.figures["received" if bulk else "requests"]
            if pattern == ALONE:
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


def quantile(buckets: Iterable[Bucket], percent: float) -> tuple[float, float] | None:
    """The latency in ns that so many percent of requests did not exceed, and half the width of its bucket."""
    ordered = sorted(buckets)
    counts = np.cumsum([count for _, _, count in ordered])
    if not ordered or counts[-1] == 0:
        return None
    rank = max(1, int(np.ceil(counts[-1] * percent / 100)))
    low, high, _ = ordered[int(np.searchsorted(counts, rank))]
    return (low + high) / 2, (high - low) / 2


def flags(runs: Sequence[Run]) -> list[Flag]:
    """Flags that change the meaning of the figures: failures, requests never sent, a client that was the limit."""
    found = []
    why: dict[str, int] = {}
    for run in runs:
        for name, count in json.loads(run["failures"]).items():
            why[name] = why.get(name, 0) + count
    if why:
        words = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in sorted(why.items()))
        found.append(Flag(name="failed-requests", text=f"Some requests failed and count in no rate: {words}."))
    if unsent := sum(run["unsent"] for run in runs):
        text = f"{unsent:,} requests fell due and were never sent: the server or the connections could not keep up."
        found.append(Flag(name="unsent-requests", text=text))
    busy = sorted({run["client"] for run in runs if _busy(run) > 0.9})
    if busy:
        text = (
            f"The client's own thread was busy for more than 90 % of the time ({', '.join(busy)}): it may be the limit."
        )
        found.append(Flag(name="client-limited", text=text))
    return found


def uneven(runs: Sequence[Run]) -> list[Flag]:
    """Flag for streams that did not end together: some still emptied their buffers when others had ended."""
    trials: dict[int, list[float]] = {}
    for run in runs:
        trials.setdefault(int(run["trial"]), []).append(_seconds([run]))
    late = sum(max(group) > _EVEN * min(group) for group in trials.values())
    if not late:
        return []
    text = (
        f"In {late:,} of {len(trials):,} runs a client still emptied its buffers when others had long ended: the sum of"
        " their rates may exceed the total rate at any one time. Give a longer --duration."
    )
    return [Flag(name="uneven-ends", text=text)]


def _row(
    title: str,
    concurrency: int,
    client: str,
    groups: Sequence[Sequence[Run]],
    latencies: Mapping[tuple[int, str], Sequence[Bucket]],
) -> Row:
    seconds = [_seconds(group) for group in groups]
    requests = [sum(run["completed"] for run in group) / s for group, s in zip(groups, seconds, strict=True)]
    bits = [8 * sum(run["received_bytes"] for run in group) / s for group, s in zip(groups, seconds, strict=True)]
    figures = {"requests": _mean(requests, "requests/s"), "received": _mean(bits, "bit/s")}
    buckets = [b for group in groups for run in group for b in latencies.get((run["trial"], run["client"]), ())]
    for percent in PERCENTILES:
        if (found := quantile(buckets, percent)) is not None:
            each = [_own(group, latencies, percent) for group in groups]
            scatter = _mean([one for one in each if one is not None], "ns").uncertainty
            figures[f"p{percent:g}"] = Quantity(value=found[0], unit="ns", uncertainty=max(found[1], scatter or 0.0))
    figures["failed"] = Quantity(
        value=sum(run["failed"] for group in groups for run in group), unit="", uncertainty=0.0
    )
    figures["runs"] = Quantity(value=len(groups), unit="", uncertainty=0.0)
    connections = sum(run["connections"] for run in groups[0])
    return Row(
        case=f"{client}, {connections} connections",
        figures=figures,
        at=Quantity(value=concurrency, unit="", uncertainty=0.0),
        group=title,
    )


def _bulk_row(title: str, concurrency: int, client: str, groups: Sequence[Sequence[Run]]) -> Row:
    """Bits of all clients together are the sum of their rates, each over its own time."""
    rates = [sum(8 * run["received_bytes"] / _seconds([run]) for run in group) for group in groups]
    streams = sum(run["connections"] for run in groups[0])
    return Row(
        case=f"{client}, {streams} stream{'s' * (streams > 1)}",
        figures={
            "received": _mean(rates, "bit/s"),
            "runs": Quantity(value=len(groups), unit="", uncertainty=0.0),
        },
        at=Quantity(value=concurrency, unit="", uncertainty=0.0),
        group=title,
    )


def group_title(pattern: str) -> str:
    """What rows of a pattern are grouped by."""
    return pattern.capitalize() if pattern in (ALONE, TOGETHER) else pattern


def _share(part: Quantity, whole: Quantity) -> Quantity:
    """In percent; of two independent means."""
    share = 100 * part.value / whole.value
    if part.uncertainty is None or whole.uncertainty is None or not part.value:
        return Quantity(value=share, unit="%")
    relative = math.hypot(part.uncertainty / part.value, whole.uncertainty / whole.value)
    return Quantity(value=share, unit="%", uncertainty=share * relative)


def _own(group: Sequence[Run], latencies: Mapping[tuple[int, str], Sequence[Bucket]], percent: float) -> float | None:
    found = quantile([b for run in group for b in latencies.get((run["trial"], run["client"]), ())], percent)
    return None if found is None else found[0]


def _seconds(group: Sequence[Run]) -> float:
    """From the first client's beginning to the last one's end."""
    return max(1e-9, float(max(run["ended_ns"] for run in group) - min(run["began_ns"] for run in group)) / 1e9)


def _busy(run: Run) -> float:
    took_ns = float(run["ended_ns"] - run["began_ns"])
    return float(run["cpu_ns"] or 0.0) / max(1.0, took_ns)


def _order(run: Run) -> tuple[int, str]:
    return len(str(run["client"])), str(run["client"])


def _mean(values: Sequence[float], unit: str) -> Quantity:
    """Uncertain by the scatter between repetitions; a single one has no uncertainty."""
    if not values:
        return Quantity(value=0.0, unit=unit)
    spread = None
    if len(values) > 1:
        spread = expanded(standard_error_of_mean(float(np.std(values, ddof=1)), len(values)))
    return Quantity(value=float(np.mean(values)), unit=unit, uncertainty=spread)


def _remarks(runs: Sequence[Run], settings: LoadSettings) -> list[str]:
    said = []
    if settings.rate_rps:
        said.append("Open loop: each request is timed from when it was due, whether a connection was free or not.")
    if settings.with_ in PROGRAMS:
        said.append(PROGRAMS[settings.with_].remark)
    if settings.with_ in BULK:
        said.append("Received is what the servers read; of all clients together it is the sum of their rates.")
    if len({run["repetition"] for run in runs}) < 2:
        said.append("One repetition has no scatter: rates are without an uncertainty.")
    return said
