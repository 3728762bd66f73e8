"""A step of a study that transfers a file over a bare path of this host, kept as a run of 'stream file'.

A disk is made slow by the kernel, so the stage that must be named is known.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack
from pathlib import Path

from keisoku.errors import EngineError
from keisoku.ground.host.disk_limit import DiskLimit
from keisoku.ground.host.namespace import Namespace
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.far_end import FarEnd
from keisoku.ground.lab.path.bare_path import TARGET_ADDRESS, BarePath
from keisoku.ground.lab.system.ftp_server import FtpServer
from keisoku.ground.observer import Observer
from keisoku.ground.run.result import Result
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import phrase
from keisoku.running.study.file import TransferStep
from keisoku.running.study.step import run_step
from keisoku.subjects.stream.message import random_bytes

_CHUNK = 1 << 20
_NAME, _FOLDER = "file.bin", "came"


def measure_transfer(step: TransferStep, path: Path, observer: Observer) -> Result:
    """Measures and keeps the step. Raises PlanError where a lab is not possible."""
    with ExitStack() as stack:
        # Beside the run, and so on a disk that was chosen for much.
        path.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="transfer-", dir=path.parent)))
        folder.chmod(0o755)
        source, came = folder / _NAME, folder / _FOLDER
        came.mkdir()
        _fill(source, step.bytes)
        # Before the far ends, which are processes of their own and begin with the limits of this one.
        imitated, said = _slow_disk(step, folder, stack)
        lab = stack.enter_context(BarePath())
        here = Place(TARGET_ADDRESS, lab.target_namespace)
        server = stack.enter_context(FarEnd("stream", here, "--files", str(came.absolute())))
        if step.over == "ftp":
            stack.enter_context(FtpServer(Namespace(lab.target_namespace), came))
        outcome = run_step(
            "stream file",
            path,
            observer,
            source=str(source),
            host=f"{TARGET_ADDRESS}@{lab.tester_namespace}",
            port=server.port,
            over=step.over,
            # What the page cache takes is written at once.
            direct=step.sink_bps is not None,
            ftp_directory=_FOLDER,
            **imitated,
        )
    result = with_named(outcome.results[0])
    return result.model_copy(update={"deviations": [*result.deviations, *said]})


def _slow_disk(step: TransferStep, folder: Path, stack: ExitStack) -> tuple[dict[str, float | None], list[str]]:
    """Has the kernel limit the disk, or else returns settings that imitate it, with the reason."""
    if step.source_bps is None and step.sink_bps is None:
        return {}, []
    try:
        stack.enter_context(DiskLimit(folder, step.source_bps, step.sink_bps))
    except EngineError as error:
        said = phrase("no disk was slow: the program itself was, as {error}", error=error)
        return {"limit_source_bps": step.source_bps, "limit_sink_bps": step.sink_bps}, [said]
    return {}, []


def with_named(result: Result) -> Result:
    """`named` is 100 % of the stage that the result calls the bottleneck, and 0 % of all others."""
    rows = []
    for row in result.rows:
        is_named = result.flagged(f"bottleneck-{row.case.split()[0]}")
        named = Quantity(value=100.0 * is_named, unit="%", uncertainty=0.0)
        rows.append(row.model_copy(update={"figures": {**row.figures, "named": named}}))
    return result.model_copy(update={"rows": rows})


def _fill(path: Path, count: int) -> None:
    content = random_bytes(_CHUNK)
    with path.open("wb") as file:
        for left in range(count, 0, -_CHUNK):
            file.write(content[: min(left, _CHUNK)])
        file.flush()
        os.fsync(file.fileno())
