"""`outage mesh` as an entry of the table of measurements: the ends send, and this host looks on and asks them."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from keisoku.errors import PlanError
from keisoku.ground.entry import Findings, Measurement, Work
from keisoku.ground.run.directory import RunDirectory
from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.stream.outage.course import Course
from keisoku.subjects.stream.outage.figures import interruption_lines
from keisoku.subjects.stream.outage.mesh.analysis import mesh_outcome_of
from keisoku.subjects.stream.outage.mesh.ends import Mesh
from keisoku.subjects.stream.outage.mesh.figures import UNITS, matrix_lines, result_of
from keisoku.subjects.stream.outage.mesh.plot import mesh_plots
from keisoku.subjects.stream.outage.mesh.settings import MeshSettings, name_of
from keisoku.subjects.stream.outage.settings import refuse_from_afar

NAME = "outage mesh"
RECORD = "record.jsonl"
_LOOK_S, _WAKE_S = 1.0, 0.05
_LINGER_S = 0.5
"""For packets that are under way at the end."""
_ENDING_S = 10.0


def measure(work: Work[MeshSettings]) -> None:
    """Raises EngineError if an end cannot be started, asked or reached by another one, or a command fails."""
    settings = work.settings.with_files_read()
    with Mesh(settings) as mesh:
        directory = work.begin({"ends": [name_of(end) for end in settings.ends]}, settings)
        begun_ns = time.monotonic_ns()
        with Course(settings) as course:
            _look_on(work, mesh, settings, course)
            marks = course.marks
        ended_ns = time.monotonic_ns()
        time.sleep(settings.interval_s + _LINGER_S)
        mesh.look()
        record = {"begun_ns": begun_ns, "ended_ns": ended_ns, "marks": marks, **mesh.report()}
        directory.append_line(RECORD, json.dumps(record, separators=(",", ":")).encode())


def _look_on(work: Work[MeshSettings], mesh: Mesh, settings: MeshSettings, course: Course) -> None:
    begun_s = looked_s = time.monotonic()
    while not course.is_over():
        time.sleep(_WAKE_S)
        now_s = time.monotonic()
        if now_s - looked_s < _LOOK_S:
            continue
        away = mesh.look()
        silent = mesh.silent()
        looked_s, elapsed_s = time.monotonic(), now_s - begun_s
        said = [
            plural("nothing comes on {count} way", "nothing comes on {count} ways", count=silent)
            if silent
            else phrase("all pairs are heard")
        ]
        if away:
            said.append(plural("{count} end does not answer", "{count} ends do not answer", count=len(away)))
        length_s = settings.length_s
        whole_s = elapsed_s if length_s is None else max(length_s, elapsed_s)
        work.observer.came_to(elapsed_s, whole_s, join_texts("; ", said))


def analyse(directory: RunDirectory) -> Findings:
    """From the record of the run alone. Raises PlanError if there is none."""
    lines = directory.lines(RECORD)
    if not lines:
        raise PlanError("run", f"{directory.path} holds no record", "measure again")
    found = mesh_outcome_of(json.loads(lines[-1]))
    settings = MeshSettings.model_validate(directory.plan)
    title = plural("interruptions among {count} end", "interruptions among {count} ends", count=len(found.names))
    files = {"matrix": matrix_lines(found), "interruptions": interruption_lines(found.as_one())}
    return Findings([result_of(found, settings, NAME, title)], mesh_plots(found), files)


def _from_afar(values: Mapping[str, Any]) -> None:
    """Raises PlanError for a command or a file of the server."""
    refuse_from_afar(values)
    if any(str(end).startswith("@") for end in values.get("ends", ())):
        raise PlanError("ends", "names a file of the server", "name the ends themselves")


MEASUREMENT = Measurement(
    name=NAME,
    title=phrase("Interruptions among many ends"),
    settings=MeshSettings,
    seconds=lambda settings: None if settings.length_s is None else settings.length_s + _ENDING_S,
    shortens=("duration_s", "watch_s"),
    measure=measure,
    analyse=analyse,
    figure="interruption",
    units=UNITS,
    same=("interval_s",),
    summary="Measures for how long UDP is interrupted between each two of many ENDS, in both directions.",
    help="""The ends send to each other; this host tells them to, and asks them afterwards.

    \b
    keisoku outage mesh 192.0.2.7 192.0.2.8 192.0.2.9 --while 'kubectl drain node3' --budget 2s
    keisoku outage mesh @hosts.txt --event 'ssh r1 reboot' --watch 60s""",
    from_afar=_from_afar,
)
