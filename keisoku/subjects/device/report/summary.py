"""The first paragraph of a report: the main results in words. All of them are also in the tables below."""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.ground.report import digits
from keisoku.ground.report.sentence import not_measured, sentence
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import first_lower, joined, phrase, plural, sentence_case
from keisoku.subjects.device.plan.procedure import PROCEDURES
from keisoku.subjects.device.report.accounting import accounts
from keisoku.subjects.device.report.device import Device
from keisoku.subjects.device.report.size_plots import line_text

_TOLD = ("trial", "throughput", "latency", "loss", "sweep", "port_map")
"""Methods that have a sentence of their own."""


def summary(device: Device) -> list[str]:
    """Sentences about one device: single trials, throughput, latency, loss, sweep, port map; then all other methods."""
    sentences = [
        said
        for said in (
            _trial(device),
            _throughput(device),
            _latency(device),
            _loss(device),
            _sweep(device),
            _port_map(device),
        )
        if said
    ]
    sentences += [said for result in device.run.results if (said := _other(result, len(device.run.results) > 1))]
    return sentences or ([] if device.run.results else [phrase("Nothing has been measured yet.")])


def conclusion(devices: Sequence[Device]) -> str:
    """How many frames and trials the report rests on, and whether every one is accounted for."""
    balances = [balance for device in devices for balance in accounts(device.run.records)]
    if not balances:
        return phrase("No trial was finished.")
    frames = sum(balance.record.facts.sent.offered_frames for balance in balances)
    invalid = sum(not balance.record.valid for balance in balances)
    faulty = sum(not balance.adds_up for balance in balances)
    offered = plural(
        "{frames} frames were offered in {count} trial",
        "{frames} frames were offered in {count} trials",
        frames=digits.count(frames),
        count=digits.count(len(balances)),
    )
    said = (
        plural(
            "{offered}; {count} trial does not add up.",
            "{offered}; {count} trials do not add up.",
            offered=offered,
            count=faulty,
        )
        if faulty
        else phrase("{offered}; every frame is accounted for.", offered=offered)
    )
    return joined(" ", [said, _invalid(devices, invalid)]) if invalid else said


def _invalid(devices: Sequence[Device], invalid: int) -> str:
    """How many trials are, and what rests on them."""
    cited = sum(
        not record.valid
        for device in devices
        for result in device.run.results
        for row in result.rows
        if (record := device.record(row))
    )
    said = plural(
        "{count} trial is invalid because of the tester itself",
        "{count} trials are invalid because of the tester itself",
        count=invalid,
    )
    if cited == 0:
        return phrase("{trials}, and no result rests on them.", trials=said)
    return plural(
        "{trials}, and {count} row of results rests on such trials.",
        "{trials}, and {count} rows of results rest on such trials.",
        trials=said,
        count=cited,
    )


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
        phrase(
            "{lost} were lost of {size}-byte frames at {rate}",
            lost=digits.value_text(row.figures["lost"]),
            size=row.frame_bytes,
            rate=digits.value_text(row.figures["offered"]),
        )
        for row in rows[:1] + rows[1:][-1:]
    ]
    return phrase("Of single loads, {losses}.", losses=_both(parts)) if parts else ""


def _both(parts: Sequence[str]) -> str:
    """One, or two with 'and' between them."""
    return parts[0] if len(parts) == 1 else phrase("{first} and {second}", first=parts[0], second=parts[1])


def _throughput(device: Device) -> str:
    result = device.result("throughput")
    ends = _ends(result.rows, "throughput") if result else []
    if not result or not ends:
        return ""
    shares = dict(_ends(result.rows, "line_share"))
    parts = []
    for size, rate in ends:
        rate_text = digits.value_text(rate)
        parts.append(
            phrase(
                "{rate} of {size}-byte frames ({share} of the link)",
                rate=rate_text,
                size=size,
                share=digits.value_text(shares[size]),
            )
            if size in shares
            else phrase("{rate} of {size}-byte frames", rate=rate_text, size=size)
        )
    return phrase("Forwards {rates} without losing one.", rates=_both(parts))


def _other(result: Result, many: bool) -> str:
    """What a method found that none of the sentences above is about, after its name where there are many methods; of
    every method, what was not measured."""
    procedure = PROCEDURES.get(result.measurement)
    if result.measurement in _TOLD or procedure is None or not any(row.figures for row in result.rows):
        return _not_measured(result)
    said = result.sentence or sentence(result, procedure.figure)
    return joined(": ", [procedure.title, first_lower(said)]) if many else said


def _not_measured(result: Result) -> str:
    """Which rows of a method have no figure, and why."""
    said = not_measured(result)
    title = PROCEDURES[result.measurement].title if result.measurement in PROCEDURES else result.measurement
    return joined(" ", [title, first_lower(said)]) if said else ""


def _latency(device: Device) -> str:
    result = device.result("latency")
    ends = _ends(result.rows, "mean") if result else []
    if not result or not ends:
        return ""
    high = dict(_ends(result.rows, "p99.9"))
    parts = []
    for size, mean in ends:
        known, text = _at_most(mean)
        text = text if known else phrase("less than {time}", time=text)
        parts.append(
            phrase("{time} at {size} byte (99.9 % within {most})", time=text, size=size, most=_at_most(high[size])[1])
            if size in high
            else phrase("{time} at {size} byte", time=text, size=size)
        )
    return phrase("A frame takes {times} on average.", times=_both(parts))


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
        # What a procedure remarks on a row without losses is why they may not have shown.
        most = max((bounds[1] for row in rows if row.remark and (bounds := row.figures["loss"].bounds)), default=None)
        if most is None:
            return phrase("It lost no frame at any load that was tried.")
        return phrase(
            "It lost no frame at any load that was tried, but the host disturbed the tester: a loss of up to {most} "
            "may not have shown.",
            most=digits.value_text(Quantity(value=most, unit="%", uncertainty=most)),
        )
    load, loss = worst.figures["load"], worst.figures["loss"]
    return phrase(
        "At {load} load it loses up to {loss} of {size}-byte frames.",
        load=digits.value_text(load),
        loss=digits.value_text(loss),
        size=worst.frame_bytes,
    )


def _sweep(device: Device) -> str:
    result = device.result("sweep")
    if not result:
        return ""
    said = []
    if result.line:
        said.append(phrase("Over the sweep of frame sizes, latency is {line}.", line=line_text(result.line)))
    passed = [row.frame_bytes for row in result.rows if "latency" in row.figures]
    if passed:
        said.append(phrase("The largest frame it forwards, of the sizes tried, has {size} byte.", size=max(passed)))
    return joined(" ", said)


def _port_map(device: Device) -> str:
    result = device.result("port_map")
    if not result or not result.remarks:
        return ""
    said = [joined("", [sentence_case(result.remarks[0]), "."])]
    for row in result.rows:
        if row.trial is None and "offset" in row.figures:
            longer, limit = digits.value_text(row.figures["offset"]), row.figures.get("largest_frame")
            said.append(
                phrase(
                    "From {ports} a frame takes {time} longer, and has {size} at most.",
                    ports=row.case,
                    time=longer,
                    size=digits.value_text(limit),
                )
                if limit
                else phrase("From {ports} a frame takes {time} longer.", ports=row.case, time=longer)
            )
    return joined(" ", said)
