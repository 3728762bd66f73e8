"""A step of a study that transfers a file over a bare path of this host; its answer in the form of a result.

Where a disk is held back, the stage that must be named is known.
"""

from __future__ import annotations

import tempfile
import threading
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from keisoku.analysis.quantity import Quantity
from keisoku.host.context import host_context
from keisoku.host.namespace import Namespace
from keisoku.host.place import Place
from keisoku.lab.path.bare_path import TARGET_ADDRESS, BarePath
from keisoku.lab.system.ftp_server import FtpServer
from keisoku.run.directory import RunDirectory
from keisoku.run.result import Result, Row
from keisoku.stream.file.run import KIND, analyse
from keisoku.stream.file.settings import FileSettings
from keisoku.stream.file.transfer import FileTransfer, transfer
from keisoku.stream.message import random_bytes
from keisoku.stream.serve import StreamServer
from keisoku.stream.session import StreamSession
from keisoku.study.file import TransferStep
from keisoku.study.stream_step import as_result, publish_quietly

_CHUNK = 1 << 20
_NAME, _FOLDER = "file.bin", "came"


def measure_transfer(step: TransferStep, path: Path) -> Result:
    """Measures and keeps the step as a run of 'stream file'. Raises PlanError where there can be no lab."""
    with ExitStack() as stack:
        # Beside the run, and so on a disk that was chosen for much.
        path.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="transfer-", dir=path.parent)))
        folder.chmod(0o755)
        source, came = folder / _NAME, folder / _FOLDER
        came.mkdir()
        _fill(source, step.bytes)
        lab = stack.enter_context(BarePath())
        server = StreamServer(Place(TARGET_ADDRESS, lab.target_namespace), 0, files=came)
        thread = threading.Thread(target=server.serve)
        thread.start()
        stack.callback(thread.join)
        stack.callback(server.stop)
        if step.over == "ftp":
            stack.enter_context(FtpServer(Namespace(lab.target_namespace), came))
        settings = FileSettings(
            host=TARGET_ADDRESS,
            port=server.port,
            source=str(source),
            name=_NAME,
            bytes=step.bytes,
            over=step.over,
            source_bps=step.source_bps,
            sink_bps=step.sink_bps,
            ftp_directory=_FOLDER,
        )
        context = {**host_context(), "started_at": datetime.now(UTC).isoformat(timespec="seconds")}
        directory = RunDirectory.create(path, KIND, settings.model_dump(), context)
        session = stack.enter_context(StreamSession(Place(TARGET_ADDRESS, lab.tester_namespace), server.port))
        transfer(FileTransfer(session, settings, ""), settings, directory)
        observation, plots = analyse(directory)
    publish_quietly(directory, observation, plots)
    return named_result(observation)


def named_result(observation: Result) -> Result:
    """As of streams; each stage's `named` is 100 % if it, and no other one, is the bottleneck, else 0 %."""
    plain = as_result(observation, 0, None)
    rows = []
    for row in plain.rows:
        stage = row.case.partition(": ")[2].split()[0]
        named = Quantity(value=100.0 * observation.flagged(f"bottleneck-{stage}"), unit="%", uncertainty=0.0)
        rows.append(Row(frame_bytes=0, case=row.case, figures={**row.figures, "named": named}))
    return Result(method=plain.method, rows=rows, remarks=plain.remarks)


def _fill(path: Path, count: int) -> None:
    content = random_bytes(_CHUNK)
    with path.open("wb") as file:
        for left in range(count, 0, -_CHUNK):
            file.write(content[: min(left, _CHUNK)])
