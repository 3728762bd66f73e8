"""Transfers a file to the server and its stages by themselves, in random order, until the bottleneck is certain.

The I/O of `keisoku stream file`; the analysis computes the figures.
"""

from __future__ import annotations

import hashlib
import io
import random
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from ftplib import FTP, all_errors
from pathlib import Path
from typing import Any

import pyarrow as pa

from keisoku.errors import EngineError
from keisoku.ground.run.directory import RunDirectory
from keisoku.language import phrase
from keisoku.subjects.stream.file.bottleneck import find_bottleneck
from keisoku.subjects.stream.file.chunks import CHUNK_BYTES, forget, read_chunks
from keisoku.subjects.stream.file.settings import NETWORK, SINK, SOURCE, STAGES, WHOLE, FileSettings
from keisoku.subjects.stream.session import OPENING, StreamSession
from keisoku.subjects.stream.trial import StreamTrial

TABLE = "stages"
_STALL_S = 120.0
_MOST_S = 24 * 3600.0
_NETWORK_S = 1.0

Told = Callable[[str], None]


class FileTransfer:
    """Between this host and where `session` leads. Raises EngineError for whatever fails, with the remedy."""

    def __init__(self, session: StreamSession, settings: FileSettings) -> None:
        self._session, self._settings = session, settings
        self._source = Path(settings.source)
        begun = {"do": "file", "name": settings.name, "bytes": settings.bytes}
        answer, _ = session.control.ask({**begun, "direct": settings.direct, "bps": settings.limit_sink_bps})
        self._part = str(answer["part"])
        self._digest = ""

    def measure(self, stage: str) -> Mapping[str, Any]:
        """One measurement of a stage, or of all together: bytes and ns, and whether the received file is right."""
        if stage == SOURCE:
            return self._read()
        if stage == NETWORK:
            return self._send_memory()
        if stage == SINK:
            answer = self._ask("write", _MOST_S)
            return {"bytes": self._settings.bytes, "ns": int(answer["ns"])}
        return self._transfer()

    def keep(self) -> None:
        """Gives the last one that was transferred its name."""
        self._ask("keep")

    def _read(self) -> Mapping[str, Any]:
        forget(self._source)
        begun_ns = time.monotonic_ns()
        count = sum(len(chunk) for chunk in self._chunks())
        return {"bytes": count, "ns": time.monotonic_ns() - begun_ns}

    def _send_memory(self) -> Mapping[str, Any]:
        trial = StreamTrial(protocol="tcp", message_bytes=CHUNK_BYTES, duration_s=_NETWORK_S, warm_up_s=_NETWORK_S / 5)
        (row,) = self._session.measure(trial)
        if row["error"] or not row["settled_ns"]:
            raise EngineError(f"the network's stream broke off ({row['error']}); measure again")
        return {"bytes": row["settled_bytes"], "ns": row["settled_ns"]}

    def _transfer(self) -> Mapping[str, Any]:
        forget(self._source)
        begun_ns = time.monotonic_ns()
        if self._settings.over == "ftp":
            self._store()
        else:
            self._send()
        elapsed_ns = time.monotonic_ns() - begun_ns
        theirs = str(self._ask("sha256", _MOST_S)["sha256"])
        if not self._digest:
            with self._source.open("rb") as file:
                self._digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"bytes": self._settings.bytes, "ns": elapsed_ns, "same": theirs == self._digest, "sha256": theirs}

    def _send(self) -> None:
        place, remote = self._session.place, self._session.remote
        told = self._ask("receive")
        made = place.inside(lambda: socket.create_connection((remote, int(told["port"])), _STALL_S))
        with made:
            made.settimeout(_STALL_S)
            made.sendall(OPENING.pack(int(told["token"]), 0))
            for chunk in self._chunks():
                made.sendall(chunk)
            made.shutdown(socket.SHUT_WR)
            answer, _ = self._session.control.receive(_MOST_S)
        if answer["bytes"] != self._settings.bytes:
            problem = f"only {answer['bytes']} of {self._settings.bytes} byte came"
            raise EngineError(f"{problem}: the file changed, or the connection broke; transfer again")

    def _store(self) -> None:
        settings = self._settings
        # Its server may not be allowed to overwrite files of another user.
        self._ask("clear")
        try:
            with self._session.place.inside(lambda: _connected(self._session.remote, settings.ftp_port)) as ftp:
                ftp.login(settings.ftp_user, settings.ftp_password)
                ftp.cwd(settings.ftp_directory)
                # Its data connection is made on the thread that asks for it.
                self._session.place.inside(lambda: self._upload(ftp))
        except all_errors as error:
            raise EngineError(f"FTP: {str(error).strip()}; check the FTP server at {settings.address}") from error
        self._ask("sync", _MOST_S)

    def _upload(self, ftp: FTP) -> None:
        ftp.storbinary(f"STOR {self._part}", _Readable(self._chunks()), CHUNK_BYTES)

    def _chunks(self) -> Iterator[memoryview]:
        return read_chunks(self._source, self._settings.direct, self._settings.limit_source_bps)

    def _ask(self, operation: str, timeout_s: float = _STALL_S) -> dict[str, Any]:
        return self._session.control.ask({"do": "file-op", "op": operation}, timeout_s)[0]


def transfer(work: FileTransfer, settings: FileSettings, directory: RunDirectory, told: Told = lambda _: None) -> None:
    """Rounds of all stages and the whole, each round kept at once, until a stage is named or the most were made.

    Raises EngineError as soon as a transferred file differs from its source.
    """
    order = random.Random(settings.seed)
    bps: dict[str, list[float]] = {stage: [] for stage in STAGES}
    for number in range(max(settings.repetitions, settings.most_repetitions)):
        rows = []
        # The whole comes last, so that the file which is there at the end is the one that was verified.
        for stage in [*order.sample(STAGES, len(STAGES)), WHOLE]:
            told(phrase("round {number}: {stage}", number=number + 1, stage=stage))
            found = work.measure(stage)
            rows.append({"round": number, "stage": stage, "same": None, "sha256": None, **found})
            if stage in bps:
                bps[stage].append(8e9 * found["bytes"] / max(found["ns"], 1))
        directory.append(TABLE, pa.Table.from_pylist(rows, schema=SCHEMA))
        if not all(row["same"] for row in rows if row["stage"] == WHOLE):
            raise EngineError("the received file differs from the one sent; check disks and memory of both hosts")
        if number + 1 >= settings.repetitions and find_bottleneck(bps).named:
            break
    work.keep()


SCHEMA = pa.schema(
    [
        ("round", pa.int64()),
        ("stage", pa.string()),
        ("bytes", pa.int64()),
        ("ns", pa.int64()),
        ("same", pa.bool_()),
        ("sha256", pa.string()),
    ]
)


def _connected(address: str, port: int) -> FTP:
    ftp = FTP(timeout=_STALL_S)
    ftp.connect(address, port)
    return ftp


class _Readable(io.RawIOBase):
    """Chunks as what ftplib reads from: one a call, whatever is asked for."""

    def __init__(self, chunks: Iterator[memoryview]) -> None:
        self._chunks = chunks

    def read(self, size: int = -1, /) -> bytes:
        return bytes(next(self._chunks, b""))
