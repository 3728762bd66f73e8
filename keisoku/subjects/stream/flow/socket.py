"""Sockets of a trial's streams, with the options that the trial asks for. It sends nothing but what opens a stream."""

from __future__ import annotations

import os
import socket
from contextlib import suppress

from keisoku.errors import EngineError
from keisoku.ground.host.address import family
from keisoku.subjects.stream.trial import StreamTrial

UDP_BUFFER_BYTES = 8 << 20
_TCP_MAXSEG, _TCP_CONGESTION = 2, 13
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33


def new_socket(trial: StreamTrial, address: str) -> socket.socket:
    """Of the address's family, for either end. Raises EngineError for an option that this host refuses."""
    kind = socket.SOCK_STREAM if trial.protocol == "tcp" else socket.SOCK_DGRAM
    made = socket.socket(family(address), kind)
    try:
        prepare(made, trial)
    except BaseException:
        made.close()
        raise
    return made


def prepare(made: socket.socket, trial: StreamTrial) -> None:
    """Sets what a trial asks for, before connecting or listening. Raises EngineError for what this host refuses."""
    buffer_bytes = trial.buffer_bytes or (UDP_BUFFER_BYTES if trial.protocol == "udp" else None)
    if buffer_bytes is not None:
        set_buffers(made, buffer_bytes)
    if trial.protocol == "udp":
        return
    if trial.no_delay:
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if trial.segment_bytes is not None:
        made.setsockopt(socket.IPPROTO_TCP, _TCP_MAXSEG, trial.segment_bytes)
    if trial.congestion is not None:
        try:
            made.setsockopt(socket.IPPROTO_TCP, _TCP_CONGESTION, trial.congestion.encode())
        except OSError as error:
            known = "/proc/sys/net/ipv4/tcp_available_congestion_control"
            raise EngineError(
                f"congestion control {trial.congestion} is refused by this host ({os.strerror(error.errno or 0)});"
                f" choose one of {known}"
            ) from error


def set_buffers(made: socket.socket, size_bytes: int) -> None:
    """Both buffers, larger than the host's limit where this process may."""
    for forced, asked in ((_SO_SNDBUFFORCE, socket.SO_SNDBUF), (_SO_RCVBUFFORCE, socket.SO_RCVBUF)):
        try:
            made.setsockopt(socket.SOL_SOCKET, forced, size_bytes)
        except PermissionError:
            made.setsockopt(socket.SOL_SOCKET, asked, size_bytes)


def facts(made: socket.socket, trial: StreamTrial) -> dict[str, object]:
    """What the kernel made of the options."""
    found: dict[str, object] = {
        "send_buffer_bytes": made.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF),
        "receive_buffer_bytes": made.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF),
    }
    if trial.protocol == "tcp":
        name = made.getsockopt(socket.IPPROTO_TCP, _TCP_CONGESTION, 16)
        found["congestion"] = name.rstrip(b"\0").decode("ascii", "replace")
    return found


def close_all(made: list[socket.socket]) -> None:
    """However many were opened."""
    while made:
        with suppress(OSError):
            made.pop().close()
