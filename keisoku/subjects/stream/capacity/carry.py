"""Carries out one end of a test on a connected socket, in the calling thread."""

from __future__ import annotations

import errno
import select
import socket
import struct
import time
from contextlib import suppress
from dataclasses import dataclass

from keisoku.subjects.stream.capacity.end import NS, End
from keisoku.subjects.stream.capacity.sending_end import SendingEnd
from keisoku.subjects.stream.flow.socket import set_buffers

BUFFER_BYTES = 4 << 20
_LONGEST = 9216
_SO_TIMESTAMPNS, _TOLD_BYTES = 35, 64
_TIMESPEC = struct.Struct("@ll")
_READING_NS = 20_000_000
_RARE_NS = 1_000_000
"""How often a sender looks for statuses: each look costs as much as a datagram."""
_POLLED_NS = 1_500_000
"""Shorter times are slept: `poll` counts in ms."""
_AT_MOST_NS = 100_000_000
_SO_MEMINFO, _DROPS_AT, _MEMINFO_BYTES = 55, 8, 36


@dataclass
class Effort:
    """What this end itself had to do, since the test began."""

    waited_ns: int = 0
    """For the next departure, or for the next arrival."""
    unsent: int = 0
    """Datagrams that this host had no room for."""


def carry_out(end: End, made: socket.socket, effort: Effort) -> None:
    """Until the test is over. Raises OSError if the socket fails for good."""
    made.setblocking(False)
    made.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    poll = select.poll()
    poll.register(made, select.POLLIN)
    since_ns, now_ns, read_ns = wall_ns(), 0, 0
    rare = isinstance(end, SendingEnd)
    while not end.over:
        anything = False
        if not rare or now_ns - read_ns >= _RARE_NS:
            # First, as what came while this thread was held up came before what leaves now.
            anything, read_ns = _received(end, made, since_ns), now_ns
        now_ns = time.monotonic_ns()
        if not end.over and now_ns >= end.due_ns:
            for data in end.leave(now_ns):
                if not _sent(made, data, effort) and isinstance(end, SendingEnd):
                    end.refused()
        elif not anything:
            _wait(poll, min(end.due_ns - now_ns, _AT_MOST_NS), effort)


def wall_ns() -> int:
    """What turns the monotonic clock's readings into time of day."""
    return time.time_ns() - time.monotonic_ns()


def prepare(made: socket.socket) -> None:
    """Buffers for bursts."""
    set_buffers(made, BUFFER_BYTES)


def drops(made: socket.socket) -> int:
    """Datagrams that this socket had no room for."""
    found = made.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, _MEMINFO_BYTES)
    return int.from_bytes(found[4 * _DROPS_AT : 4 * _DROPS_AT + 4], "little")


def _sent(made: socket.socket, data: memoryview, effort: Effort) -> bool:
    """A refused port is the far end's, which may not be there yet or any more; the silence ends the test."""
    try:
        with suppress(ConnectionRefusedError):
            made.send(data)
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.ENOBUFS):
            raise
        effort.unsent += 1
        return False
    return True


def _received(end: End, made: socket.socket, since_ns: int) -> bool:
    """What has arrived, at the time at which the kernel had it; whether there was any. A sender reads one, as statuses
    are few, and a receiver all, but goes on to its status after a while even if more and more comes."""
    any_, until_ns = False, time.monotonic_ns() + _READING_NS
    while not end.over:
        try:
            data, told, _, _ = made.recvmsg(_LONGEST, _TOLD_BYTES)
        except ConnectionRefusedError:
            continue
        except BlockingIOError:
            return any_
        any_, now_ns = True, time.monotonic_ns()
        end.arrived(min(_stamp_ns(told) - since_ns, now_ns) if told else now_ns, data)
        if isinstance(end, SendingEnd) or now_ns >= until_ns:
            return any_
    return any_


def _stamp_ns(told: list[tuple[int, int, bytes]]) -> int:
    """The kernel's time of day of an arrival."""
    seconds, nanoseconds = _TIMESPEC.unpack(told[0][2][: _TIMESPEC.size])
    return int(seconds * NS + nanoseconds)


def _wait(poll: select.poll, left_ns: int, effort: Effort) -> None:
    if left_ns <= 0:
        return
    began_ns = time.monotonic_ns()
    if left_ns < _POLLED_NS:
        time.sleep(left_ns / 1e9)
    else:
        poll.poll(left_ns // 1_000_000)
    effort.waited_ns += time.monotonic_ns() - began_ns
