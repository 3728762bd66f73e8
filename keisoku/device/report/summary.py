"""The first paragraph of a report: the main results in words. All of them are also in the tables below."""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.analysis.quantity import Quantity
from keisoku.device.plan.procedure import PROCEDURES
from keisoku.device.report.accounting import accounts
from keisoku.device.report.device import Device
from keisoku.device.report.size_plots import line_text
from keisoku.report import digits
from keisoku.report.sentence import not_measured
from keisoku.run.result import Result, Row


def summary(device: Device) -> list[str]:
    """Sentences about one device: single trials, throughput, latency, loss, sweep, port map."""
    sentences = [
        sentence
        for sentence in (
            _trial(device),
            _throughput(device),
            _latency(device),
            _loss(device),
            _sweep(device),
            _port_map(device),
        )
        if sentence
    ]
    sentences += [said for result in device.run.results if (said := _not_measured(result))]
    return sentences or ([] if device.run.results else ["Nothing has been measured yet."])


def conclusion(devices: Sequence[Device]) -> str:
    """How many frames and trials the report rests on, and whether every one is accounted for."""
    balances = [balance for device in devices for balance in accounts(device.run.records)]
    if not balances:
        return "No trial was finished."
    frames = sum(balance.record.facts.sent.offered_frames for balance in balances)
    invalid = sum(not balance.record.valid for balance in balances)
    faulty = sum(not balance.adds_up for balance in balances)
    said = f"{digits.count(frames)} frames were offered in {digits.count(len(balances))} trials"
    said += f"; {faulty} trials do not add up" if faulty else "; every frame is accounted for"
    if invalid:
        noun = "trial is" if invalid == 1 else "trials are"
        cited = sum(
            not record.valid
            for device in devices
            for result in device.run.results
            for row in result.rows
            if (record := device.record(row))
        )
        rests = (
            f"and {cited} {'row' if cited == 1 else 'rows'} of results rest on such trials"
            if cited
            else "and no result rests on them"
        )
        said += f". {invalid} {noun} invalid because of the tester itself, {rests}"
    return said + "."


def _ends(rows: Sequence[Row], figure: str) -> list[tuple[int, Quantity]]:
    """The figure at the smallest and at the largest size that have it."""
    known = sorted(
        ((row.frame_bytes, row.figures[figure]) for row in rows if figure in row.figures),
        key=lambda entry: entry[0],
    )
    return known[:1] + known[-1:] if len(known) > 1 else known


def _trial(device: Device) -> str:
    result = device.result("trial")
    rows = [row for row in result.rows if row.trial is not None and row.figures] if result else []
    parts = [
        f"{digits.value_text(row.figures['lost'])} were lost of {row.frame_bytes}-byte frames"
        f" at {digits.value_text(row.figures['offered'])}"
        for row in rows[:1] + rows[1:][-1:]
    ]
    return f"Of single loads, {' and '.join(parts)}." if parts else ""


def _throughput(device: Device) -> str:
    result = device.result("throughput")
    ends = _ends(result.rows, "throughput") if result else []
    if not result or not ends:
        return ""
    shares = dict(_ends(result.rows, "line_share"))
    parts = []
    for size, rate in ends:
        share = f" ({digits.value_text(shares[size])} of the link)" if size in shares else ""
        parts.append(f"{digits.value_text(rate)} of {size}-byte frames{share}")
    return f"Forwards {' and '.join(parts)} without losing one."


def _not_measured(result: Result) -> str:
    """Which rows of a method have no figure, and why."""
    said = not_measured(result)
    title = PROCEDURES[result.measurement].title if result.measurement in PROCEDURES else result.measurement
    return f"{title} {said[:1].lower()}{said[1:]}" if said else ""


def _latency(device: Device) -> str:
    result = device.result("latency")
    ends = _ends(result.rows, "mean") if result else []
    if not result or not ends:
        return ""
    high = dict(_ends(result.rows, "p99.9"))
    parts = []
    for size, mean in ends:
        tail = f" (99.9 % within {_at_most(high[size])[1]})" if size in high else ""
        known, text = _at_most(mean)
        parts.append(f"{'' if known else 'less than '}{text} at {size} byte{tail}")
    return f"A frame takes {' and '.join(parts)} on average."


def _at_most(figure: Quantity) -> tuple[bool, str]:
    """Whether a figure is larger than its uncertainty, and the figure itself; if it is not, the upper end of its
    interval, because its own digits would say nothing."""
    bounds = figure.bounds
    if figure.bound or bounds is None or bounds[0] > 0 or figure.value <= 0:
        return True, digits.value_text(figure)
    return False, digits.value_text(figure.model_copy(update={"value": bounds[1]}))


def _loss(device: Device) -> str:
    result = device.result("loss")
    rows = [row for row in result.rows if {"load", "loss"} <= row.figures.keys()] if result else []
    if not rows:
        return ""
    worst = max(rows, key=lambda row: row.figures["loss"].value)
    if worst.figures["loss"].value == 0:
        return "It lost no frame at any load that was tried."
    load, loss = worst.figures["load"], worst.figures["loss"]
    return (
        f"At {digits.value_text(load)} load it loses up to {digits.value_text(loss)} "
        f"of {worst.frame_bytes}-byte frames."
    )


def _sweep(device: Device) -> str:
    result = device.result("sweep")
    if not result:
        return ""
    said = f"Over the sweep of frame sizes, latency is {line_text(result.line)}. " if result.line else ""
    passed = [row.frame_bytes for row in result.rows if "latency" in row.figures]
    if passed:
        said += f"The largest frame it forwards, of the sizes tried, has {max(passed)} byte."
    return said


def _port_map(device: Device) -> str:
    result = device.result("port_map")
    if not result or not result.remarks:
        return ""
    said = f"{result.remarks[0][:1].upper()}{result.remarks[0][1:]}."
    for row in result.rows:
        if row.trial is None and "offset" in row.figures:
            said += f" From {row.case} a frame takes {digits.value_text(row.figures['offset'])} longer"
            limit = row.figures.get("largest_frame")
            said += f", and has {digits.value_text(limit)} at most." if limit else "."
    return said
