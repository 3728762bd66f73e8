"""The part of a page about devices: all devices side by side, every trial's account, lost frames, calibration."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment

from keisoku.ground.report import digits
from keisoku.ground.report.budget import budget_tables
from keisoku.ground.report.part import LONG_TABLE, Extra, Part, RunPart, Section, result_tables
from keisoku.ground.report.plot import Plot
from keisoku.ground.report.row_plot import row_plot
from keisoku.ground.report.template import environment
from keisoku.language import phrase
from keisoku.subjects.device.plan.uri import is_lab
from keisoku.subjects.device.plot.device import Device, devices
from keisoku.subjects.device.record.run import DeviceRun
from keisoku.subjects.device.record.trial import NS_PER_S
from keisoku.subjects.device.record.validity import why_invalid
from keisoku.subjects.device.report import statement
from keisoku.subjects.device.report.accounting import accounts
from keisoku.subjects.device.report.answer import device_answer
from keisoku.subjects.device.report.late_places import late_frames, late_limits, late_plot, late_sentence, row_texts
from keisoku.subjects.device.report.loss_list import losses
from keisoku.subjects.device.report.lost_places import by, limits, lost_frames, sentence_of, time_text
from keisoku.subjects.device.report.setup import setup
from keisoku.subjects.device.report.summary import conclusion, summary
from keisoku.subjects.device.report.time_plot import time_plot
from keisoku.subjects.device.report.traffic import traffic
from keisoku.subjects.device.table import PROCEDURES

_FOLDER = Path(__file__).parent / "templates"


def part(runs: Sequence[DeviceRun]) -> Part:
    """The part of one or several runs, which are side by side in every section."""
    found = devices(runs)
    templates = environment(_FOLDER)
    templates.filters["count"] = digits.count
    templates.filters["rate"] = lambda rate, divisor: digits.significant(rate / divisor, 6)
    over_time = time_plot(found)
    named = {result.measurement for run in runs for result in run.results}
    measured = [name for name in PROCEDURES if name in named]
    return Part(
        runs=[_run(device) for device in found],
        sections=[
            *(section for method in measured if (section := _section(found, method))),
            *(
                [Section("over-time", phrase("Over time"), phrase("inside one trial"), [over_time], [], [])]
                if over_time
                else []
            ),
            *_late(found),
        ],
        extras=[
            *_late_places(found, templates),
            *_lost_places(found, templates),
            *_lost(found, templates),
            _accounts(found, templates),
            _calibration(found, templates),
        ],
        conclusion=conclusion(found),
        notes=[statement.SIMULATED, statement.NOT_INCLUDED],
        no_deviation=phrase("None: every method ran as the standard it is named after prescribes."),
        titles={name: PROCEDURES[name].title for name in measured},
    )


def _run(device: Device) -> RunPart:
    run = device.run
    return RunPart(
        name=device.name,
        sentences=summary(device),
        results=run.results,
        answer=device_answer(device),
        setup=setup(device),
        what=traffic(run.plan),
        plan={"measurement": "device", **run.plan},
        context={key: value for key, value in run.context.items() if key not in ("calibration", "host_look")},
        started_at=str(run.context.get("started_at") or (run.records[0].started_at if run.records else "")),
    )


def _section(found: Sequence[Device], method: str) -> Section | None:
    """Plots and tables of one method over all devices that it was run on."""
    measured = [(device, result) for device in found if (result := device.result(method))]
    if not measured:
        return None
    return Section(
        anchor=method,
        title=PROCEDURES[method].title,
        subtitle=PROCEDURES[method].standard,
        plots=_plots(found, method),
        tables=[
            (device.name, [table for each in PROCEDURES[method].tables(result) for table in result_tables(each)])
            for device, result in measured
        ],
        budgets=[(device.name, tables) for device, result in measured if (tables := budget_tables(result))],
    )


def _plots(found: Sequence[Device], method: str) -> list[Plot]:
    """Plots of all devices that the method was run on; of its main figure where it has none of its own."""
    drawn = [plot for draw in PROCEDURES[method].plots if (plot := draw(found)) and plot.has_an_axis]
    if drawn:
        return drawn
    rows = [(device.name, result.rows) for device in found if (result := device.result(method))]
    plain = row_plot(PROCEDURES[method].command, PROCEDURES[method].figure, rows)
    return [plain] if plain else []


def _lost(found: Sequence[Device], templates: Environment) -> list[Extra]:
    """Which frames were lost; empty if none were."""
    lost = {device.name: losses(device.run) for device in found}
    if not any(shown for shown, _ in lost.values()):
        return []
    return [
        Extra("lost", phrase("Lost frames"), templates.get_template("lost.html").render(devices=found, losses=lost))
    ]


def _lost_places(found: Sequence[Device], templates: Environment) -> list[Extra]:
    """Where frames were lost; empty if nobody watched or none was lost."""
    places = {device.name: own for device in found if (own := lost_frames(device.run.records)) and own.lost_frames}
    if not places:
        return []
    markup = templates.get_template("lost_places.html").render(
        devices=[device for device in found if device.name in places],
        found=places,
        said={
            device.name: sentence_of(places[device.name], is_lab(device.run.plan.get("dut")))
            for device in found
            if device.name in places
        },
        by=by,
        limits=limits,
        time_text=time_text,
    )
    return [Extra("lost-places", phrase("Where frames were lost"), markup)]


def _late(found: Sequence[Device]) -> list[Section]:
    """Where the slowest frames waited, drawn; empty if nobody watched."""
    plots = [late_plot(late, device) for device in found if (late := late_frames(device.run.records))]
    if not plots:
        return []
    title = phrase("Where the slowest frames waited")
    return [Section("late", title, phrase("in this host's kernel"), plots, [], [])]


def _late_places(found: Sequence[Device], templates: Environment) -> list[Extra]:
    """The same in words and as a table."""
    late = {device.name: own for device in found if (own := late_frames(device.run.records))}
    if not late:
        return []
    markup = templates.get_template("late_places.html").render(
        devices=[device for device in found if device.name in late],
        late=late,
        sentence=late_sentence,
        limits=late_limits,
        row_texts=row_texts,
    )
    return [Extra("late-places", phrase("Parts of the way of the slowest frames"), markup)]


def _accounts(found: Sequence[Device], templates: Environment) -> Extra:
    """Every trial with the counts of its frames."""
    balances = {device.name: accounts(device.run.records) for device in found}
    every = [balance for rows in balances.values() for balance in rows]
    markup = templates.get_template("accounts.html").render(
        devices=found,
        accounts=balances,
        load_units={
            name: digits.scale("frames/s", max((row.record.offered_fps for row in rows), default=0.0))
            for name, rows in balances.items()
        },
        trials=len(every),
        hosts={device.name: statement.host(device) for device in found},
        adding_up=sum(balance.adds_up for balance in every),
        why_invalid=why_invalid,
        long_table=LONG_TABLE,
        ns_per_s=NS_PER_S,
    )
    return Extra("accounts", phrase("Accounts"), markup)


def _calibration(found: Sequence[Device], templates: Environment) -> Extra:
    """Where frames were timestamped, and what was subtracted."""
    markup = templates.get_template("calibration.html").render(
        devices=found,
        stamps={device.name: statement.stamps(device) for device in found},
        calibrations={device.name: statement.calibration(device) for device in found},
    )
    return Extra("calibration", phrase("Calibration"), markup)
