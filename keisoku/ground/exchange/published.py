"""What other testers published, as rows of results: CSIT's test cases, NFVbench's results, TRex's statistics, and logs
of HdrHistogram. Each function reads one form; it does no I/O, and guesses no figure that is not there.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from keisoku.ground.exchange.hdr_histogram import HdrHistogram, NotAHistogram, OldHistogram, decode
from keisoku.ground.run.criterion import ANY_UNIT
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.ground.statistics.uncertainty import student
from keisoku.language import phrase

_NS_PER_US = 1000.0
PERCENTILES = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p99.9": 99.9, "max": 100.0}
FIGURES = {"throughput": "throughput", "latency": "mean", "loss": "loss"}
"""The main figure of each result."""
COLUMNS = {
    "throughput": {"throughput": ANY_UNIT, "bit_rate": "bit/s"},
    "latency": dict.fromkeys(("min", "mean", *PERCENTILES), "ns"),
    "loss": {"loss": "%", "lost": "frames"},
}
"""The unit of each figure that a result may have; CSIT publishes rates of frames, connections, requests and bits."""
_BOTH = phrase("Rates are those of both directions together, as they were published.")
_CSIT_SIZE = re.compile(r"(?:^|[-.])(\d{2,5})b-")
_CSIT_LATENCY = re.compile(r"pdr_(\d+)")
_CSIT_UNITS = {"pps": "frames/s", "cps": "connections/s", "rps": "requests/s", "bps": "bit/s"}
_LOG_FORMAT = "#[Histogram log format version 1."
"""The line behind that of the program that wrote the log, if there is one."""
_LOG_START = re.compile(r"^#\[StartTime: (\d+(?:\.\d+)?) ", re.MULTILINE)
_LOG_UNITS = {"ns": 1e17, "µs": 1e14, "ms": 1e11, "s": 0.0}
"""Units of a log's start, each with the number above which it can only be that one: 1e11 s are 3000 years."""
_LOG_UNIT_S = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
_ROUNDING_PERCENT = 0.001
"""By how much a share that was published may differ from that of its counts."""


@dataclass
class Published:
    """What a document says."""

    form: str
    device: str = ""
    started_at: str = ""
    """ISO 8601, as it was published; empty if it is not known."""
    rows: dict[str, list[Row]] = field(default_factory=dict)
    """By the name of the result."""
    remarks: list[str] = field(default_factory=list)
    failure: str = ""

    @property
    def results(self) -> list[Result]:
        """A result for each name, in the order of `FIGURES`."""
        return [
            Result(measurement=name, rows=self.rows[name], remarks=self.remarks, failure=self.failure)
            for name in FIGURES
            if self.rows.get(name)
        ]

    def add(
        self, result: str, figures: Mapping[str, Quantity], size: int = 0, case: str = "", remark: str = ""
    ) -> None:
        """A row of a result, if there is a figure, or a remark that says why there is none."""
        if not figures and not remark:
            return
        row = Row(figures=dict(figures), frame_bytes=size, case=case, remark=remark)
        self.rows.setdefault(result, []).append(row)


class NotPublished(ValueError):
    """The document has none of the known forms, or lacks what its form has; the message says which."""


def read(document: Any, frame_bytes: int = 0) -> Published:
    """A document of JSON, or the text of a log; `frame_bytes` is the size of frames where it does not say it.

    Raises NotPublished.
    """
    form = next((form for form, fits in _FITS.items() if fits(document)), None)
    if form is None:
        raise NotPublished("it is neither CSIT's, NFVbench's or TRex's JSON nor a log of HdrHistogram")
    try:
        found = _READERS[form](document, frame_bytes)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        said = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise NotPublished(f"it looks like {form}'s, but {said}") from error
    if not found.rows:
        raise NotPublished(f"it looks like {form}'s, but holds no rate, loss or latency")
    try:
        if datetime.fromisoformat(found.started_at).tzinfo is None:
            found.remarks = [
                *found.remarks,
                phrase("The document does not name the time zone of its date: it is read as UTC."),
            ]
    except ValueError:
        pass  # not known, or no time
    return found


def _csit(document: Any, frame_bytes: int) -> Published:
    """A test case in CSIT's model 1.x (UTI, 'info' output)."""
    device = " ".join(filter(None, (str(document.get("dut_type", "")), str(document.get("dut_version", "")))))
    found = Published("CSIT", device.strip(), str(document.get("start_time", "")))
    named = str(document.get("test_name_long") or document["test_id"])
    size = _CSIT_SIZE.search(named)
    size_bytes = int(size[1]) if size else frame_bytes
    found.remarks = [str(document["test_id"]), _BOTH]
    if document.get("passed") is False:
        found.failure = str(document.get("message") or "the test failed")
    result = document["result"]
    for name, case in (("ndr", ""), ("pdr", "PDR 0.5 %"), ("critical_rate", "PLRsearch")):
        if name in result:
            found.add("throughput", {"throughput": _csit_found(result[name])}, size_bytes, case)
    if "receive_rate" in result:
        rate = result["receive_rate"]["rate"]
        count = len(rate["values"])
        error = student(count - 1) * float(rate["stdev"]) / count**0.5 if count > 1 else None
        figure = Quantity(value=float(rate["avg"]), unit=_CSIT_UNITS[rate["unit"]], uncertainty=error)
        found.add("throughput", {"throughput": figure}, size_bytes, "MRR")
    if "rate" in result:  # of a host stack
        figure = Quantity(value=float(result["rate"]["value"]), unit=_CSIT_UNITS[result["rate"]["unit"]])
        found.add("throughput", {"throughput": figure}, size_bytes, "host stack")
    if "bandwidth" in result:
        figure = Quantity(value=float(result["bandwidth"]["value"]), unit=_CSIT_UNITS[result["bandwidth"]["unit"]])
        found.add("throughput", {"bit_rate": figure}, size_bytes, "host stack, goodput")
    if "packet" in result.get("loss", {}):
        told = float(result["loss"]["packet"]["value"])
        lost = {"lost": Quantity(value=told, unit="frames")} if 0 <= told < math.inf else {}
        remark = "" if lost else phrase("published as {count} lost frames, which is not possible", count=told)
        found.add("loss", lost, size_bytes, "reconfiguration", remark)
    for way in ("forward", "reverse"):
        for name, numbers in result.get(f"latency_{way}", {}).items():
            percent = _CSIT_LATENCY.fullmatch(name)
            load = f"{percent[1]} % of PDR" if percent else name
            found.add(
                "latency", _latency(numbers, "min", "avg", "max", numbers.get("hdrh")), size_bytes, f"{way}, {load}"
            )
    return found


def _csit_found(bounds: Mapping[str, Any]) -> Quantity:
    """A rate that was searched for. Since model 1.5 the upper bound is missing where the lower one is the estimate
    itself (the conditional throughput of MLRsearch)."""
    low = bounds["lower"]["rate"]
    value, unit = float(low["value"]), _CSIT_UNITS[low["unit"]]
    if "upper" not in bounds:
        return Quantity(value=value, unit=unit)
    high = float(bounds["upper"]["rate"]["value"])
    return Quantity(value=value, unit=unit, interval=_interval(value, high), covers="resolution")


def _nfvbench(document: Any, frame_bytes: int) -> Published:
    """The JSON of NFVbench's --json: chains, and in each the sizes."""
    version = str(document.get("nfvbench_version") or document.get("version") or "")
    found = Published("NFVbench", f"NFVbench {version}".strip(), str(document.get("date", "")))
    found.remarks = [_BOTH]
    for chain, content in document["benchmarks"]["network"]["service_chain"].items():
        for size, measured in content["result"]["result"].items():
            if not isinstance(measured, Mapping):
                continue  # 'warning'
            size_bytes, mix = (int(size), "") if size.isdigit() else (frame_bytes, size)
            trials = {case: measured[key] for key, case in (("ndr", "NDR"), ("pdr", "PDR")) if key in measured}
            for case, trial in (trials or {"": measured}).items():
                overall = trial["stats"]["overall"]
                words = ", ".join(filter(None, (chain, case, mix)))
                if "rate_pps" in trial:
                    figure = Quantity(value=float(trial["rate_pps"]), unit="frames/s")
                    found.add("throughput", {"throughput": figure}, size_bytes, words)
                lost = overall.get("drop_percentage", overall.get("drop_rate_percent"))
                if lost is not None and math.isfinite(float(lost)):
                    figures, remark = _nfvbench_loss(float(lost), overall)
                    found.add("loss", figures, size_bytes, words, remark)
                delays = overall if "avg_delay_usec" in overall else overall.get("rx", {})
                if "avg_delay_usec" in delays:
                    names = ("min_delay_usec", "avg_delay_usec", "max_delay_usec")
                    histogram = overall.get("hdrh")
                    found.add(
                        "latency",
                        _latency(delays, *names, histogram if isinstance(histogram, str) else None),
                        size_bytes,
                        words,
                    )
    return found


def _nfvbench_loss(percent: float, overall: Mapping[str, Any]) -> tuple[dict[str, Quantity], str]:
    """The share that was published, exact only if the counts beside it say the same; and what is wrong with it."""
    if not 0 <= percent <= 100:
        return {}, phrase("published as a loss of {percent} %, which is not possible", percent=f"{percent:g}")
    sent, received = ((overall.get(way) or {}).get("total_pkts") for way in ("tx", "rx"))
    if sent and received is not None:
        lost = int(sent) - int(received)
        if not 0 <= lost <= int(sent):
            return {}, _impossible(int(sent), int(received))
        if abs(100 * lost / int(sent) - percent) <= _ROUNDING_PERCENT:
            return _counted_loss(lost, int(sent)), ""
    return {"loss": Quantity(value=percent, unit="%")}, ""


def _impossible(sent: int, received: int) -> str:
    return phrase(
        "{sent:,} frames sent and {received:,} received: these counts give no loss", sent=sent, received=received
    )


def _counted_loss(lost: int, sent: int, other: int | None = None, certain: bool = True) -> dict[str, Quantity]:
    """Of counts: exact if they are certain; in an interval if the frames were counted otherwise, too."""
    how: dict[str, Any] = {"uncertainty": 0.0} if certain else {}
    lowest, highest = sorted((lost, lost if other is None else other))
    found = {}
    for name, whole, unit in (("loss", 100, "%"), ("lost", sent, "frames")):
        if lowest < highest:
            how = {"interval": Interval(lower=lowest * whole / sent, upper=highest * whole / sent)}
        found[name] = Quantity(value=lost * whole / sent, unit=unit, **how)
    return found


def _trex(document: Any, frame_bytes: int) -> Published:
    """What `get_stats()` of TRex's stateless client returns, as JSON: losses and latencies of flows."""
    found = Published("TRex", "TRex")
    errors = _trex_errors(document)
    if errors:
        found.remarks = [
            phrase("TRex counted errors of its own, so its counts are not certain: {errors}", errors=errors)
        ]
    flows, streams = document.get("flow_stats", {}), document.get("latency", {})
    for flow in filter(str.isdigit, {**flows, **streams}):  # not 'global'
        counters = streams[flow].get("err_cntrs", {}) if flow in streams else {}
        figures, remark = _trex_loss(flows.get(flow), counters, certain=not errors)
        found.add("loss", figures, frame_bytes, f"flow {flow}", remark)
    for flow, content in document.get("latency", {}).items():
        if flow.isdigit():
            numbers = content["latency"]
            names = ("total_min", "average", "total_max")
            found.add("latency", _latency(numbers, *names, numbers.get("hdrh")), frame_bytes, f"flow {flow}")
    return found


def _trex_loss(
    counts: Mapping[str, Any] | None, counters: Mapping[str, Any], certain: bool
) -> tuple[dict[str, Quantity], str]:
    """Lost frames of a flow, and what is wrong with them.

    Only a latency stream has sequence numbers, and with them a second account: `dropped`, and `dup`, which hides lost
    frames in the counts. What has only one account is not known to be exact.
    """
    dropped = int(counters["dropped"]) if "dropped" in counters else None
    if counts is None:
        return ({} if dropped is None else {"lost": Quantity(value=dropped, unit="frames")}), ""
    sent, received = (int(counts[way]["total"]) for way in ("tx_pkts", "rx_pkts"))
    if not sent:
        return {}, ""
    lost = sent - received + int(counters.get("dup", 0))
    if received < 0 or not 0 <= lost <= sent:
        return {}, _impossible(sent, received)
    if dropped is None or not 0 <= dropped <= sent:
        return _counted_loss(lost, sent, certain=False), ""
    if dropped == lost:
        return _counted_loss(lost, sent, certain=certain), ""
    remark = phrase("by TRex's sequence numbers; its counts of frames say {lost:,} lost ones", lost=lost)
    return _counted_loss(dropped, sent, lost), remark


def _trex_errors(document: Mapping[str, Any]) -> str:
    """What TRex counts of itself, where it is not zero: 'rx_err 3, ierrors 1'."""
    told: Counter[str] = Counter()
    for of_all in (document.get(kind, {}).get("global", {}) for kind in ("flow_stats", "latency")):
        for name, count in of_all.items():
            told[name] += sum(count.values()) if isinstance(count, Mapping) else count  # by port, or one
    for kind, names in (("total", ("ierrors", "oerrors")), ("global", ("queue_full",))):
        told.update({name: document.get(kind, {}).get(name, 0) for name in names})
    return ", ".join(f"{name} {count:,}" for name, count in told.items() if count)


def _log(document: Any, frame_bytes: int) -> Published:
    """A log of HdrHistogram; its values are taken for nanoseconds."""
    found = Published("HdrHistogram")
    found.remarks = [phrase("The log does not say its unit: its values are taken for nanoseconds.")]
    if start := _LOG_START.search(document):
        found.started_at, unit = _log_start(float(start[1]))
        if unit != "s":
            found.remarks.append(
                phrase("The start of the log is not in seconds, as it says: it is read in {unit}.", unit=unit)
            )
    document, cut_off = _whole_lines(document)
    if cut_off:
        found.remarks.append(phrase("The log ends within its last line, which is left out."))
    lines = [
        (number, line.split(","))
        for number, line in enumerate(document.splitlines(), 1)
        if not line.startswith(("#", '"')) and line.count(",") >= 3
    ]
    tags = Counter(fields[0] for _, fields in lines)
    for number, fields in lines:
        case = f"line {number}"
        if fields[0].startswith("Tag="):
            tag = fields[0].removeprefix("Tag=")
            case = tag if tags[fields.pop(0)] == 1 else f"{tag}, {case}"
        if len(fields) < 4:
            continue
        found.add("latency", _of_histogram(_decoded(fields[3].strip()), 1.0), frame_bytes, case)
    return found


def _log_start(number: float) -> tuple[str, str]:
    """The start of a log in ISO 8601, empty if it is no time; and its unit, which some writers take for seconds."""
    unit = next(unit for unit, above in _LOG_UNITS.items() if number >= above)
    try:
        begun = datetime.fromtimestamp(number * _LOG_UNIT_S[unit], UTC)
    except (OverflowError, ValueError, OSError):
        return "", unit
    return begun.isoformat(timespec="seconds"), unit


def _whole_lines(log: str) -> tuple[str, bool]:
    """The log without its last line if the end of the program that wrote it cut that line off, and whether it did."""
    before, _, last = log.rpartition("\n")
    if not last or last.startswith(("#", '"')):
        return log, False
    fields = last.removeprefix("Tag=").split(",")
    try:
        decode(fields[-1].strip())
    except OldHistogram:
        pass
    except NotAHistogram:
        return before, True
    return log, len(fields) < 4


def _latency(
    numbers: Mapping[str, Any], least: str, mean: str, most: str, histogram: str | None
) -> dict[str, Quantity]:
    """Latencies in µs, with percentiles if there is a histogram."""
    figures = {
        name: Quantity(value=_NS_PER_US * float(numbers[key]), unit="ns")
        for name, key in (("min", least), ("mean", mean), ("max", most))
        if numbers.get(key) not in (None, "", "n/a") and 0 <= float(numbers[key]) < math.inf  # -1: not measured
    }
    if histogram:
        figures |= _of_histogram(_decoded(histogram), _NS_PER_US)
    return figures


def _of_histogram(histogram: HdrHistogram, ns: float) -> dict[str, Quantity]:
    """Percentiles, each as wide as its bucket; the mean is that of the buckets' middles."""
    if not histogram.total:
        return {}
    every = {"min": 0.0, **PERCENTILES}
    values = list(histogram.counts)
    figures = {}
    for name, percent in every.items():
        most = histogram.percentile(percent) / histogram.ratio
        least = max(value for value in values if value <= most)
        ends = (least * ns * histogram.ratio, (most + 1) * ns * histogram.ratio)
        figures[name] = Quantity(
            value=sum(ends) / 2, unit="ns", interval=Interval(lower=ends[0], upper=ends[1]), covers="resolution"
        )
    return {"mean": Quantity(value=histogram.mean * ns * histogram.ratio, unit="ns"), **figures}


def _decoded(text: str) -> HdrHistogram:
    try:
        return decode(text)
    except NotAHistogram as error:
        raise ValueError(f"a histogram in it cannot be read: {error}") from error


def _interval(low: float, high: float) -> Interval | None:
    return Interval(lower=low, upper=high) if high > low else None


_FITS: dict[str, Callable[[Any], bool]] = {
    "HdrHistogram": lambda document: isinstance(document, str) and _LOG_FORMAT in document,
    "CSIT": lambda document: isinstance(document, Mapping) and {"test_id", "result"} <= document.keys(),
    "NFVbench": lambda document: isinstance(document, Mapping) and "benchmarks" in document,
    "TRex": lambda document: isinstance(document, Mapping) and not {"latency", "flow_stats"}.isdisjoint(document),
}
"""What each form is known by."""
_READERS: dict[str, Callable[[Any, int], Published]] = {
    "HdrHistogram": _log,
    "CSIT": _csit,
    "NFVbench": _nfvbench,
    "TRex": _trex,
}
