"""Result of trials of transactions: how many a second, how long they took, and where that time went.

Each figure is that of every trial, put together by `statistics/repeated.py`: transactions of one trial depend on
each other, as all that waits behind a slow one is slow too, so their number says little about how sure a figure is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from keisoku.ground.run.result import Flag, Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.ground.statistics.repeated import combined
from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.path.unfinished import UNFINISHED
from keisoku.subjects.stream.transaction.rows import FAILURES, NOT_BEGUN
from keisoku.subjects.stream.transaction.settings import TransactionSettings

PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
ABOVE = 10
"""A trial has a percentile if so many of its transactions are beyond it: with fewer, chance decides which one it is."""
WHOLE, SETUP, ANSWER = phrase("transaction"), phrase("connection"), phrase("request to response")
NETWORK = phrase("network")
LATE_SHARE = 0.05
"""Share of the median latency from which on it matters that the tester itself began late."""

Times = NDArray[np.float64]


@dataclass
class TrialOutcome:
    """One trial; times are ns."""

    number: int
    rate_rps: float
    """Transactions answered within the window, a second."""
    answered: int
    whole: Times
    """Of each transaction, from when it was due until it was answered; infinite for those that failed."""
    setup: Times
    """Of each connection that was made for transactions of this trial."""
    answer: Times
    """From the call to send the request to its answer, of those that were answered."""
    late: Times
    """How much later than due they began, of those that were answered."""
    parts: dict[str, float] = field(default_factory=dict)
    """Mean of each part of the time from request to response, for those that were stamped; they sum to their mean."""
    failures: dict[int, int] = field(default_factory=dict)
    """How many failed, by the number of the reason."""
    stamped: int = 0
    foreign: int = 0
    full: bool = False


def outcome(part: pa.Table, trial: Mapping[str, Any]) -> TrialOutcome:
    """One trial's transactions, and its own row."""
    columns = {
        name: part[name].to_numpy(zero_copy_only=False).astype(float)
        for name in ("due_ns", "begun_ns", "setup_ns", "sent_ns", "left_ns", "arrived_ns", "ended_ns")
    }
    failure = part["failure"].to_numpy()
    good = failure == 0
    ended, due, sent = columns["ended_ns"], columns["due_ns"], columns["sent_ns"]
    whole = np.where(good, ended - due, np.inf)
    window_ns = float(trial["window_ns"])
    reasons, counts = np.unique(failure[~good], return_counts=True)
    setup = columns["setup_ns"][good]
    stamped = good & ~np.isnan(columns["left_ns"]) & ~np.isnan(columns["arrived_ns"])
    found = TrialOutcome(
        number=int(trial["number"]),
        rate_rps=float(np.count_nonzero(good & (ended <= window_ns)) * 1e9 / window_ns) if window_ns else 0.0,
        answered=int(good.sum()),
        whole=np.sort(whole),
        setup=np.sort(setup[~np.isnan(setup)]),
        answer=np.sort((ended - sent)[good]),
        late=np.sort((columns["begun_ns"] - due)[good]),
        failures={int(reason): int(count) for reason, count in zip(reasons, counts, strict=True)},
        stamped=int(stamped.sum()),
        foreign=int(trial["foreign"] + trial["far_foreign"]),
        full=bool(trial["full"]),
    )
    if stamped.any() and trial["far_all_ns"] is not None:
        left, arrived = columns["left_ns"][stamped], columns["arrived_ns"][stamped]
        found.parts = {
            phrase("client sends"): float((left - sent[stamped]).mean()),
            NETWORK: float((arrived - left).mean()) - trial["far_all_ns"],
            phrase("server reads"): trial["far_reading_ns"],
            phrase("server answers"): trial["far_answering_ns"],
            phrase("server sends"): trial["far_sending_ns"],
            phrase("client reads"): float((ended[stamped] - arrived).mean()),
        }
    return found


def analyse(settings: TransactionSettings, trials: Sequence[TrialOutcome]) -> tuple[Result, dict[str, Times]]:
    """The result, and the sorted times in ns of all counted trials together for its plot, by what they are of."""
    counted = [one for one in trials if one.number > 0]
    rows: list[Row] = []
    curves: dict[str, Times] = {}
    if counted:
        rows.append(_whole_row(settings, counted))
        curves[WHOLE] = np.sort(np.concatenate([one.whole for one in counted]))
        apart = {SETUP: [one.setup for one in counted], ANSWER: [one.answer for one in counted]}
        if settings.kind == "crr":
            for name, times in apart.items():
                rows.append(Row(case=name, figures=_percentiles(times), group=phrase("Of which")))
                curves[name] = np.sort(np.concatenate(times))
        elif settings.kind == "rr":
            rows += _setup_rows(np.concatenate(apart[SETUP]))
        rows += _share_rows(counted)
        rows += _failure_rows(counted)
    result = Result(
        measurement=f"stream {settings.kind}",
        title=phrase(
            "{what} to {address}, {load}", what=_TITLES[settings.kind], address=settings.address, load=_load(settings)
        ),
        rows=rows,
        flags=_flags(settings, counted),
        remarks=_remarks(settings, counted),
    )
    return result, curves


_TITLES = {
    "rr": phrase("transactions over TCP"),
    "crr": phrase("transactions over TCP connections of their own"),
    "udp-rr": phrase("transactions over UDP"),
}


def _load(settings: TransactionSettings) -> str:
    many = plural("{count} connection", "{count} connections", count=settings.connections)
    return (
        phrase("{many}, closed loop", many=many)
        if settings.rate_rps is None
        else phrase("{many}, {rate_rps:g} requests/s", many=many, rate_rps=settings.rate_rps)
    )


def _whole_row(settings: TransactionSettings, trials: Sequence[TrialOutcome]) -> Row:
    figures = {"requests": combined([Quantity(value=one.rate_rps, unit="requests/s") for one in trials], least=0.0)}
    figures |= _percentiles([one.whole for one in trials])
    figures["answered"] = _count(sum(one.answered for one in trials))
    figures["failed"] = _count(sum(sum(one.failures.values()) for one in trials))
    remark = phrase("with the kernels' stamps, which take some µs of each; --no-stamps leaves them out")
    return Row(case=WHOLE, figures=figures, group=phrase("Time of a"), remark=remark if settings.stamps else "")


def _setup_rows(times: Times) -> list[Row]:
    """Connections were made before the trials, so few of them are timed: their median and the longest."""
    if not len(times):
        return []
    figures = {
        "median": Quantity(value=float(np.median(times)), unit="ns"),
        "max": Quantity(value=float(times.max()), unit="ns"),
        "connections": _count(len(times)),
    }
    return [Row(case=phrase("before the transactions"), figures=figures, group=phrase("Connections made"))]


def _percentiles(trials: Sequence[Times]) -> dict[str, Quantity]:
    """Those that every trial has, of its sorted times; infinite ones are longer than any."""
    found = {}
    for name, share in PERCENTILES.items():
        if all(len(times) * (1 - share) > ABOVE - 1e-6 for times in trials):
            found[name] = combined([_percentile(times, share) for times in trials], least=0.0)
    return found


def _percentile(times: Times, share: float) -> Quantity:
    """The smallest that at least `share` of all do not exceed; a bound if that is one that failed."""
    value = float(times[math.ceil(share * len(times)) - 1])
    if math.isfinite(value):
        return Quantity(value=value, unit="ns")
    finite = times[np.isfinite(times)]
    return Quantity(value=float(finite[-1]) if len(finite) else 0.0, unit="ns", bound="at least")


def _share_rows(trials: Sequence[TrialOutcome]) -> list[Row]:
    """Where the time from request to response went, if every trial was stamped at both ends."""
    if not all(one.parts for one in trials):
        return []
    rows = []
    for name in trials[0].parts:
        of_all = [100 * one.parts[name] / sum(one.parts.values()) for one in trials]
        figures = {
            "mean": combined([Quantity(value=one.parts[name], unit="ns") for one in trials]),
            "of_time": combined([Quantity(value=value, unit="%") for value in of_all], least=0.0),
        }
        rows.append(Row(case=name, figures=figures, group=phrase("Where the time goes")))
    hosts = [100 - 100 * one.parts[NETWORK] / sum(one.parts.values()) for one in trials]
    figures = {
        "mean": combined([Quantity(value=sum(one.parts.values()) - one.parts[NETWORK], unit="ns") for one in trials]),
        "of_time": combined([Quantity(value=value, unit="%") for value in hosts], least=0.0),
    }
    return [*rows, Row(case=phrase("both hosts together"), figures=figures, group=phrase("Where the time goes"))]


def _failure_rows(trials: Sequence[TrialOutcome]) -> list[Row]:
    reasons = sorted({reason for one in trials for reason in one.failures})
    return [
        Row(
            case=FAILURES[reason],
            figures={"failed": _count(sum(one.failures.get(reason, 0) for one in trials))},
            group=phrase("Failed"),
        )
        for reason in reasons
    ]


def _flags(settings: TransactionSettings, trials: Sequence[TrialOutcome]) -> list[Flag]:
    flags = []
    failed = sum(sum(one.failures.values()) for one in trials)
    total = failed + sum(one.answered for one in trials)
    if failed:
        reasons = sorted({reason for one in trials for reason in one.failures})
        named = join_texts("; ", [FAILURES[reason] for reason in reasons])
        text = phrase(
            "{failed} of {total} transactions failed and count as longer than any other: {named}",
            failed=failed,
            total=total,
            named=named,
        )
        flags.append(Flag(name="failed", text=text))
    if waited := sum(one.failures.get(NOT_BEGUN, 0) for one in trials):
        text = plural(
            "{count} transaction was due and could not begin in time: use more connections, or a lower rate",
            "{count} transactions were due and could not begin in time: use more connections, or a lower rate",
            count=waited,
        )
        flags.append(Flag(name="not-offered", text=text))
    if late := _late(settings, trials):
        flags.append(late)
    if any(one.full for one in trials):
        text = phrase("trials ended before their time, with as many transactions as one trial can hold")
        flags.append(Flag(name="cut-short", text=text))
    if foreign := sum(one.foreign for one in trials):
        text = plural(
            "{count} connection or datagram of others came to the ports of this measurement",
            "{count} connections or datagrams of others came to the ports of this measurement",
            count=foreign,
        )
        flags.append(Flag(name="foreign", text=text))
    if settings.stamps and trials and not all(one.parts for one in trials):
        text = phrase("the kernels did not stamp packets at both ends, so the hosts' share is not known")
        flags.append(Flag(name="no-stamps", text=text))
    if len(trials) < settings.repetitions:
        text = phrase(
            "the measurement was stopped before its end: {count} of {repetitions} trials",
            count=len(trials),
            repetitions=settings.repetitions,
        )
        flags.append(Flag(name=UNFINISHED, text=text))
    return flags


def _late(settings: TransactionSettings, trials: Sequence[TrialOutcome]) -> Flag | None:
    """Where transactions of an open loop typically began late."""
    if settings.rate_rps is None or not trials:
        return None
    whole = np.concatenate([one.whole for one in trials])
    late = np.concatenate([one.late for one in trials])
    if not len(late) or np.median(late) <= LATE_SHARE * np.median(whole):
        return None
    text = phrase(
        "half of the transactions began at least {late:.3g} µs after they were due, which "
        "their times contain: more connections, or a host with more free CPUs, would begin "
        "them earlier",
        late=np.median(late) / 1e3,
    )
    return Flag(name="begun-late", text=text)


def _remarks(settings: TransactionSettings, trials: Sequence[TrialOutcome]) -> list[str]:
    since = phrase("it was due") if settings.rate_rps is not None else phrase("it began")
    remarks = [
        phrase("a transaction is timed from when {since} until the program had read the whole response", since=since)
        + (phrase(", with the connection that it opens") if settings.kind == "crr" else ""),
        phrase(
            "figures are medians of {trials} trials of {duration_s:g} s, with intervals of 95 % "
            "that contain how trials differ; a first trial does not count",
            trials=len(trials),
            duration_s=settings.duration_s,
        ),
    ]
    if trials:
        least = min(len(one.whole) for one in trials)
        missing = [name for name, share in PERCENTILES.items() if least * (1 - share) <= ABOVE - 1e-6]
        if missing and least:
            needed = settings.duration_s * ABOVE / (1 - PERCENTILES[missing[-1]]) / least
            remarks.append(
                phrase(
                    "{missing}: not given, as the shortest trial has {least} transactions; trials of "
                    "about {needed:,.0f} s would have enough",
                    missing=join_texts(", ", missing),
                    least=least,
                    needed=math.ceil(needed),
                )
            )
        if all(one.parts for one in trials):
            share = 100 * sum(one.stamped for one in trials) / max(sum(one.answered for one in trials), 1)
            remarks.append(
                phrase(
                    "where the time goes: by the kernels' stamps of packets that leave and arrive, at "
                    "both ends; the network is what lies between the stamps of both hosts, with "
                    "interface, driver and interrupt of each. Means of the {share:.3g} % of transactions "
                    "that have all stamps",
                    share=share,
                )
            )
    return remarks


def _count(value: int) -> Quantity:
    return Quantity(value=value, unit="", uncertainty=0.0)
