"""The server's end of a trial of transactions: a socket for them, and what answers at it until the client is done."""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from keisoku._core import TransactionServer
from keisoku.errors import EngineError, PlanError
from keisoku.ground.host.address import family, socket_address
from keisoku.ground.host.open_files import allow_files
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.control import Control
from keisoku.subjects.stream.flow.socket import UDP_BUFFER_BYTES, set_buffers
from keisoku.subjects.stream.transaction.trial import TransactionTrial

_BACKLOG = 4096


def answer_transactions(
    control: Control, trial: TransactionTrial, place: Place, address: str, host: str, patience_s: float
) -> None:
    """Answers the transactions of `host` at `address`. Raises EngineError if this host cannot."""
    with answering(trial, place, address, host) as (port, token, report):
        control.send({"port": port, "token": token})
        message, _ = control.receive(patience_s)
    if message.get("do") != "transactions-end":
        raise ValueError(f"{message.get('do')} instead of transactions-end")
    control.send({"report": report})


@contextmanager
def answering(
    trial: TransactionTrial, place: Place, address: str, host: str
) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Answers meanwhile; port, token, and the report, which is empty until the block has ended. Raises EngineError."""
    try:
        allow_files("connections", trial.connections)
    except PlanError as error:
        raise EngineError(str(error)) from error
    token = secrets.randbits(63)
    service = {
        "kind": trial.kind,
        "peer": host.partition("%")[0],
        "token": token,
        "request_bytes": trial.request_bytes,
        "response_bytes": trial.response_bytes,
        "stamps": trial.stamps,
    }
    with place.inside(lambda: _opened(trial, address)) as opened:
        try:
            server = TransactionServer(json.dumps(service), opened.fileno())
        except OSError as error:
            raise EngineError(f"transactions cannot be answered: {error}; measure again") from error
        report: dict[str, Any] = {}
        try:
            yield opened.getsockname()[1], token, report
        finally:
            report |= _ended(server)


def _ended(server: TransactionServer) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(server.end())
    except OSError as error:
        raise EngineError(f"transactions could not be answered: {error}; measure again") from error
    return found


def _opened(trial: TransactionTrial, address: str) -> socket.socket:
    made = socket.socket(family(address), socket.SOCK_DGRAM if trial.kind == "udp-rr" else socket.SOCK_STREAM)
    try:
        if trial.kind == "udp-rr":
            # One socket answers all connections.
            set_buffers(made, UDP_BUFFER_BYTES)
        made.bind(socket_address(address, 0))
        if trial.kind != "udp-rr":
            made.listen(_BACKLOG)
    except OSError as error:
        made.close()
        raise EngineError(f"no port can be opened at {address}: {error.strerror}; measure again") from error
    return made
