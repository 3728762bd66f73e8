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

from keisoku.ground.exchange.hdr_histogram import HdrHistogram, NotAHistogram, decode
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.ground.statistics.uncertainty import student
from keisoku.language import phrase

_NS_PER_US = 1000.0
PERCENTILES = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p99.9": 99.9, "max": 100.0}
FIGURES = {"throughput": "throughput", "latency": "mean", "loss": "loss"}
"""The main figure of each result."""
_BOTH = phrase("Rates are those of both directions together, as they were published.")
_CSIT_SIZE = re.compile(r"(?:^|[-.])(\d{2,5})b-")
_CSIT_LATENCY = re.compile(r"pdr_(\d+)")
_CSIT_UNITS = {"pps": "frames/s", "cps": "connections/s", "rps": "requests/s", "bps": "bit/s"}
_LOG_FORMAT = "#[Histogram log format version 1."
"""The line behind that of the program that wrote the log, if there is one."""
_LOG_START = re.compile(r"^#\[StartTime: (\d+(?:\.\d+)?) ", re.MULTILINE)


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
        """A row of a result, if there is a figure."""
        if not figures:
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
        lost = Quantity(value=float(result["loss"]["packet"]["value"]), unit="frames", uncertainty=0.0)
        found.add("loss", {"lost": lost}, size_bytes, "reconfiguration")
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
                    share = Quantity(value=float(lost), unit="%", uncertainty=0.0)  # of counts
                    found.add("loss", {"loss": share}, size_bytes, words)
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


def _trex(document: Any, frame_bytes: int) -> Published:
    """What `get_stats()` of TRex's stateless client returns, as JSON: losses and latencies of flows."""
    found = Published("TRex", "TRex")
    for flow, counts in document.get("flow_stats", {}).items():
        if not flow.isdigit():
            continue  # 'global'
        sent, received = (int(counts[way]["total"]) for way in ("tx_pkts", "rx_pkts"))
        if sent:
            figures = {
                "loss": Quantity(value=100 * (sent - received) / sent, unit="%", uncertainty=0.0),
                "lost": Quantity(value=sent - received, unit="frames", uncertainty=0.0),
            }
            found.add("loss", figures, frame_bytes, f"flow {flow}")
    for flow, content in document.get("latency", {}).items():
        if flow.isdigit():
            numbers = content["latency"]
            names = ("total_min", "average", "total_max")
            found.add("latency", _latency(numbers, *names, numbers.get("hdrh")), frame_bytes, f"flow {flow}")
    return found


def _log(document: Any, frame_bytes: int) -> Published:
    """A log of HdrHistogram; its values are taken for nanoseconds."""
    found = Published("HdrHistogram")
    found.remarks = [phrase("The log does not say its unit: its values are taken for nanoseconds.")]
    if start := _LOG_START.search(document):
        found.started_at = datetime.fromtimestamp(float(start[1]), UTC).isoformat(timespec="seconds")
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
