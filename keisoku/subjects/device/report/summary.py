"""The first paragraph of a report: the main results in words. All of them are also in the tables below."""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.ground.report import digits
from keisoku.ground.report.sentence import not_measured, sentence
from keisoku.ground.run.result import Result
from keisoku.language import first_lower, join_texts, phrase, plural
from keisoku.subjects.device.plot.device import Device
from keisoku.subjects.device.report.accounting import accounts
from keisoku.subjects.device.table import PROCEDURES


def summary(device: Device) -> list[str]:
    """Sentences about one device: of the procedures that have one of their own, in the order of the table, then of all
    others."""
    measured = {result.measurement for result in device.run.results}
    own = {name: PROCEDURES[name].sentence for name in PROCEDURES if name in measured}
    sentences = [
        text
        for name, said in own.items()
        if said is not None and (result := device.result(name)) and (text := said(result))
    ]
    sentences += [text for result in device.run.results if (text := _other(result, len(device.run.results) > 1))]
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
    return join_texts(" ", [said, _invalid(devices, invalid)]) if invalid else said


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
        "{count} trial was disturbed by the tester itself and repeated",
        "{count} trials were disturbed by the tester itself and repeated",
        count=invalid,
    )
    if cited == 0:
        return phrase("{trials}, and no result rests on them.", trials=said)
    return plural(
        "{trials}; {count} row of results could only use such trials.",
        "{trials}; {count} rows of results could only use such trials.",
        trials=said,
        count=cited,
    )


def _other(result: Result, many: bool) -> str:
    """What a method found that none of the sentences above is about, after its name where there are many methods; of
    every method, what was not measured."""
    procedure = PROCEDURES.get(result.measurement)
    if procedure is None or procedure.sentence is not None or not any(row.figures for row in result.rows):
        return _not_measured(result)
    said = result.sentence or sentence(result, procedure.figure)
    return join_texts(": ", [procedure.title, first_lower(said)]) if many else said


def _not_measured(result: Result) -> str:
    """Which rows of a method have no figure, and why."""
    said = not_measured(result)
    title = PROCEDURES[result.measurement].title if result.measurement in PROCEDURES else result.measurement
    return join_texts(" ", [title, first_lower(said)]) if said else ""
