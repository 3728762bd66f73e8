"""The entry `runs import`: results that another tester published, kept as a run that is compared like any other.

The run holds the document itself; nothing is measured, and nothing is said of this host.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from pydantic import Field

from keisoku.errors import PlanError
from keisoku.ground.entry import Findings, Measurement, Work
from keisoku.ground.exchange.published import COLUMNS, FIGURES, NotPublished, Published, read
from keisoku.ground.host.text_file import read_bytes
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.settings import RunSettings, argument

NAME = "runs import"
_DOCUMENT = "published.jsonl"
_MOST_BYTES = 1 << 28


class ImportSettings(RunSettings):
    """A document, and what it does not say itself."""

    file: Path = argument()
    """JSON of a test case of CSIT, a result of NFVbench or statistics of TRex, or a log of HdrHistogram; .gz is read,
    too."""
    frame_bytes: int = Field(0, ge=0, le=65_535)
    """Size of the frames, where the document does not say it."""
    device: str = ""
    """Name of what was measured, in place of the document's own."""


def measure(work: Work[ImportSettings]) -> None:
    """Keeps the document. Raises PlanError if it cannot be read, or has no form that is known."""
    settings = work.settings
    document = _document(settings.file)
    found = _read(settings.file, document, settings.frame_bytes)
    context = {
        "device": settings.device or found.device,
        "started_at": found.started_at,
        "published_by": found.form,
    }
    # Not begun as a measurement is: this host and this hour have nothing to do with it.
    work.directory = RunDirectory.create(work.path, NAME, settings.plain(), context)
    work.directory.append_line(_DOCUMENT, json.dumps(document).encode())


def analyse(directory: RunDirectory) -> Findings:
    """The published figures. Raises PlanError if the document is not there."""
    lines = directory.lines(_DOCUMENT)
    if not lines:
        raise PlanError("run", f"{directory.path} holds no document", "import it again")
    return Findings(_read(directory.path, json.loads(lines[0]), directory.plan.get("frame_bytes", 0)).results)


def _document(file: Path) -> Any:
    content = read_bytes("file", file, _MOST_BYTES)
    try:
        if file.suffix == ".gz":
            with gzip.open(file) as unpacked:
                content = unpacked.read(_MOST_BYTES)
        text = content.decode("utf-8-sig")
        return text if text.startswith("#[") else json.loads(text)
    except (ValueError, OSError, EOFError, RecursionError) as error:
        problem = f"{file} is neither JSON nor a log of HdrHistogram"
        raise PlanError("file", problem, "give what CSIT, NFVbench or TRex published") from error


def _read(file: Path, document: Any, frame_bytes: int) -> Published:
    try:
        return read(document, frame_bytes)
    except NotPublished as error:
        raise PlanError("file", f"{file}: {error}", "give what CSIT, NFVbench or TRex published") from error


MEASUREMENT = Measurement(
    name=NAME,
    title="Published results",
    settings=ImportSettings,
    measure=measure,
    analyse=analyse,
    summary="Keeps the published results of CSIT, NFVbench or TRex as a run, so that others can be compared with them.",
    help="""\b
keisoku runs import 10ge2p1x710-64b-1c-ethip4-ip4base-ndrpdr.info.json
keisoku runs import stats.json --frame 64 --device vpp
""",
    figure="throughput",
    figures=lambda plan: FIGURES,
    columns=lambda plan: COLUMNS,
    same=("frame_bytes",),
    named=lambda settings: f"import-{settings.file.stem}",
)
