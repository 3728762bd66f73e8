"""`stream file` as an entry of the table of measurements: a verified transfer, and which of its stages limits it."""

from __future__ import annotations

import os
from pathlib import Path

from keisoku.errors import PlanError
from keisoku.ground.entry import Findings, Measurement, Work
from keisoku.ground.host.text_file import check_regular
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.settings import parsed
from keisoku.language import phrase
from keisoku.subjects.stream.file.analysis import NAME
from keisoku.subjects.stream.file.analysis import analyse as analyse_stages
from keisoku.subjects.stream.file.plot import stage_plot
from keisoku.subjects.stream.file.settings import PASSWORD, STAGES, WHOLE, FileSettings
from keisoku.subjects.stream.file.transfer import TABLE, FileTransfer, transfer
from keisoku.subjects.stream.session import StreamSession


def measure(work: Work[FileSettings]) -> None:
    """Transfers and keeps each round. Raises EngineError without an answer, or if the received file differs."""
    settings = filled_in(work.settings)
    with StreamSession(settings.place, settings.port) as session:
        between = FileTransfer(session, settings)
        transfer(between, settings, work.begin({}, settings), work.observer.tell)


def filled_in(settings: FileSettings) -> FileSettings:
    """With name and size of the source, and the password. Raises PlanError for a source that cannot be sent."""
    source = Path(settings.source)
    check_regular("source", source)
    if not source.stat().st_size:
        raise PlanError("source", f"{source} is empty", "give a file with content")
    password = settings.ftp_password or os.environ.get(PASSWORD, "")
    named = {"name": settings.name or source.name, "bytes": source.stat().st_size, "ftp_password": password}
    return parsed(FileSettings, {**settings.model_dump(), **named})


def analyse(directory: RunDirectory) -> Findings:
    """From a run's rows alone, finished or not. Raises PlanError if there is no whole round."""
    settings = FileSettings.model_validate(directory.plan)
    rows = directory.rows(TABLE).to_pylist()
    bps: dict[str, list[float]] = {stage: [] for stage in (*STAGES, WHOLE)}
    for row in rows:
        bps[row["stage"]].append(8e9 * row["bytes"] / max(row["ns"], 1))
    whole = [row for row in rows if row["stage"] == WHOLE]
    result = analyse_stages(settings, bps, [row["same"] for row in whole], {row["sha256"] for row in whole})
    return Findings([result], [stage_plot(bps)])


MEASUREMENT = Measurement(
    name=NAME,
    title=phrase("Transfer of a file"),
    settings=FileSettings,
    measure=measure,
    analyse=analyse,
    figure="throughput",
    units={"bit/s": "throughput", "": "runs"},
    same=("bytes", "over", "direct"),
    summary="Transfers SOURCE to HOST, where 'keisoku stream serve --files DIRECTORY' runs, and verifies the copy.",
    help="""\b
    keisoku stream file image.iso 192.0.2.7
    keisoku stream file image.iso 192.0.2.7 --over ftp --ftp-directory /upload

    Source disk, network and destination disk are also measured separately, and the bottleneck is named.""",
)
