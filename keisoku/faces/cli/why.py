"""`keisoku why`: where the lost frames of a run were lost, and where its slowest frames waited."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from keisoku.errors import PlanError
from keisoku.faces.cli.columns import columns
from keisoku.faces.cli.lang import LANG
from keisoku.ground.report import digits
from keisoku.ground.run.directory import RunDirectory
from keisoku.language import phrase, translated
from keisoku.running.measurement.plan_values import DEVICE
from keisoku.subjects.device.plan.uri import is_lab
from keisoku.subjects.device.record.trial_log import TrialLog
from keisoku.subjects.device.report.late_places import (
    LateFrames,
    late_frames,
    late_limits,
    late_sentence,
    row_texts,
    where,
)
from keisoku.subjects.device.report.lost_places import (
    LostFrames,
    LostPlace,
    by,
    limits,
    lost_frames,
    sentence_of,
    time_text,
)


@click.command("why")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--trial", type=int, metavar="NUMBER", help="only this trial (default: all)")
@click.option("--json", "as_json", is_flag=True, help="print the places as JSON on standard output")
@LANG
def command(run: Path, trial: int | None, as_json: bool) -> None:
    """Says where each lost frame of RUN was lost, and why, and where its slowest frames waited.

    RUN was measured with --why-lost, --why-late or both.

    \b
    keisoku loss --dut lab:firewall?rules=8 --why-lost --out runs/today
    keisoku why runs/today
    keisoku query runs/today "from lost_places where interface = 'eth2'"
    """
    directory = RunDirectory.open(run)
    if directory.measurement != DEVICE:
        raise PlanError("run", f"{run} holds a run of {directory.measurement}", "give a run of a device")
    records = [record for record in TrialLog(directory).records() if trial in (None, record.index)]
    lost, late = lost_frames(records), late_frames(records)
    if lost is None and late is None:
        problem = "nobody watched where its frames were lost or waited"
        raise PlanError("run", problem, "measure again with --why-lost or --why-late")
    if as_json:
        click.echo(json.dumps({**_lost_json(lost), **_late_json(late)}, indent=1))
        return
    several = len(records) > 1
    if lost is not None:
        sentence = sentence_of(lost, is_lab(directory.plan.get("dut"))) or phrase("No frame was lost.")
        click.echo(translated(sentence))
        if lost.places:
            heads = ("frames", "share", "place", "function", "first", "last", "streams")
            click.echo(columns(heads, [_row(one, several) for one in lost.places]))
        for limit in limits(lost):
            click.echo(translated(limit))
    if late is not None:
        sentence = late_sentence(late)
        if several:
            sentence = phrase("Trial {trial}: {sentence}", trial=late.trial, sentence=sentence)
        click.echo(translated(sentence))
        late_heads = ("place", "slowest", "median", "frames")
        click.echo(columns(late_heads, [(*map(translated, row_texts(one)),) for one in late.places]))
        for limit in late_limits(late):
            click.echo(translated(limit))


def _lost_json(lost: LostFrames | None) -> dict[str, Any]:
    if lost is None:
        return {}
    places = [{**one.place.model_dump(), **asdict(one), "place": by(one.place)} for one in lost.places]
    return {**asdict(lost), "places": places}


def _late_json(late: LateFrames | None) -> dict[str, Any]:
    if late is None:
        return {}
    cause = late.cause
    places = [{**one.place.model_dump(), **asdict(one), "place": where(one.place)} for one in late.places]
    return {"late": {**asdict(late), "places": places, "cause": cause and where(cause.place)}}


def _row(one: LostPlace, several: bool) -> tuple[str, ...]:
    return (
        digits.count(one.frames),
        f"{100 * one.share:.3g} %",
        translated(by(one.place)),
        one.place.function,
        translated(time_text(one.first, several)),
        translated(time_text(one.last, several)),
        ",".join(map(str, one.streams)),
    )
