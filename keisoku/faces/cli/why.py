"""`keisoku why`: where the lost frames of a run were lost, and why."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

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
from keisoku.subjects.device.report.lost_places import LostPlace, by, limits, lost_frames, sentence_of, time_text


@click.command("why")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--trial", type=int, metavar="NUMBER", help="only this trial (default: all)")
@click.option("--json", "as_json", is_flag=True, help="print the places as JSON on standard output")
@LANG
def command(run: Path, trial: int | None, as_json: bool) -> None:
    """Says where each lost frame of RUN was lost, and why.

    RUN was measured with --why-lost.

    \b
    keisoku loss --dut lab:firewall?rules=8 --why-lost --out runs/today
    keisoku why runs/today
    keisoku query runs/today "from lost_places where interface = 'eth2'"
    """
    directory = RunDirectory.open(run)
    if directory.measurement != DEVICE:
        raise PlanError("run", f"{run} holds a run of {directory.measurement}", "give a run of a device")
    records = [record for record in TrialLog(directory).records() if trial in (None, record.index)]
    found = lost_frames(records)
    if found is None:
        raise PlanError("run", "nobody watched where its frames were lost", "measure again with --why-lost")
    if as_json:
        places = [{**one.place.model_dump(), **asdict(one), "place": by(one.place)} for one in found.places]
        click.echo(json.dumps({**asdict(found), "places": places}, indent=1))
        return
    several = len(records) > 1
    click.echo(translated(sentence_of(found, is_lab(directory.plan.get("dut"))) or phrase("No frame was lost.")))
    if found.places:
        heads = ("frames", "share", "place", "function", "first", "last", "streams")
        click.echo(columns(heads, [_row(one, several) for one in found.places]))
    for sentence in limits(found):
        click.echo(translated(sentence))


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
