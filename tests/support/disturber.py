"""Takes each CPU from every other program for a short time in each period, as a busy host does. Root only.

    python tests/support/disturber.py --seconds 60
    python tests/support/disturber.py -- make demo

One process for each CPU goes before everything else of this machine (SCHED_FIFO, highest priority): it sleeps, and at
a random moment of each period it keeps its CPU busy for `stop_ms`. The moments are a function of the seed. The
processes end with the one that started them, however that ends. In tests: `with Disturber() as disturber: ...`.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

STOP_MS = 5.0
EVERY_MS = 100.0
_PR_SET_PDEATHSIG = 1
_READY = b"ready\n"


@dataclass(frozen=True)
class Taken:
    """What was taken from a CPU: number of stops, their total length, and the time from the first period's begin."""

    cpu: int
    stops: int
    taken_ns: int
    span_ns: int


class Disturber:
    """Disturbs `cpus` (all that this process may use, if absent) while its block runs; `taken` has the account then.

    Raises RuntimeError if the kernel refuses the priority.
    """

    def __init__(
        self,
        stop_ms: float = STOP_MS,
        every_ms: float = EVERY_MS,
        seed: int = 1,
        cpus: Sequence[int] | None = None,
        together: bool = False,
    ) -> None:
        self._arguments = ["--stop-ms", str(stop_ms), "--every-ms", str(every_ms), "--seed", str(seed)]
        if cpus is not None:
            self._arguments += ["--cpus", ",".join(map(str, cpus))]
        if together:
            self._arguments.append("--together")
        self.taken: list[Taken] = []

    def __enter__(self) -> Disturber:
        program = [sys.executable, __file__, "--account", *self._arguments]
        self._program = subprocess.Popen(program, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        assert self._program.stdout is not None
        if self._program.stdout.readline() != _READY:
            self._program.communicate()
            raise RuntimeError("the disturber could not be started: it needs the privilege to use SCHED_FIFO")
        return self

    def __exit__(self, *_: object) -> None:
        self._program.terminate()
        told = self._program.communicate()[0]
        self.taken = [Taken(**json.loads(line)) for line in told.splitlines()]


def moments(cpu: int | None, stop_ns: int, every_ns: int, seed: int) -> Iterator[int]:
    """When the stops of a CPU (None: of all) begin, in ns from the start: one in each period, at a random moment."""
    chosen = random.Random(f"{seed} {cpu}")
    begin_ns = 0
    while True:
        yield begin_ns + chosen.randint(0, every_ns - stop_ns)
        begin_ns += every_ns


def _end(*_: object) -> NoReturn:
    raise SystemExit


def _end_with_parent(parent: int) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        raise SystemExit


def _disturb(cpu: int, began_ns: int, stop_ns: int, every_ns: int, options: argparse.Namespace) -> None:
    """Stops a CPU again and again until this process is ended; then tells what it took."""
    stops = taken_ns = 0
    try:
        for begin_ns in moments(None if options.together else cpu, stop_ns, every_ns, options.seed):
            now_ns = time.monotonic_ns()
            if began_ns + begin_ns < now_ns - every_ns:
                continue  # The host itself was away for longer than a period: nothing is made up for.
            time.sleep(max(0, began_ns + begin_ns - now_ns) / 1e9)
            from_ns = now_ns = time.monotonic_ns()
            while now_ns < from_ns + stop_ns:
                now_ns = time.monotonic_ns()
            stops += 1
            taken_ns += now_ns - from_ns
    finally:
        if options.account:
            taken = {"cpu": cpu, "stops": stops, "taken_ns": taken_ns, "span_ns": time.monotonic_ns() - began_ns}
            os.write(1, json.dumps(taken).encode() + b"\n")


def _started(cpu: int, began_ns: int, options: argparse.Namespace) -> int:
    """The number of a new process that disturbs a CPU."""
    parent = os.getpid()
    child = os.fork()
    if child:
        return child
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _end_with_parent(parent)
        stop_ns, every_ns = round(options.stop_ms * 1e6), round(options.every_ms * 1e6)
        _disturb(cpu, began_ns, stop_ns, every_ns, options)
    except SystemExit:
        pass
    finally:
        os._exit(0)


def _options() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=float, help="how long (until it is ended); not with a command")
    options.add_argument("--stop-ms", type=float, default=STOP_MS, help="length of each stop (5)")
    options.add_argument("--every-ms", type=float, default=EVERY_MS, help="length of a period (100)")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--cpus", help="such as 0,1 (all)")
    options.add_argument("--together", action="store_true", help="stop all CPUs at the same moments")
    options.add_argument("--account", action="store_true", help="print 'ready', and at the end what was taken")
    options.add_argument("command", nargs="*", help="a command that is run meanwhile")
    chosen = options.parse_args()
    if not 0 < chosen.stop_ms <= chosen.every_ms:
        options.error("--stop-ms must be above 0 and at most --every-ms")
    return chosen


def main() -> int:
    """The exit code of the command, or 0."""
    options = _options()
    cpus = sorted(os.sched_getaffinity(0)) if options.cpus is None else [int(cpu) for cpu in options.cpus.split(",")]
    began_ns = time.monotonic_ns()
    signal.signal(signal.SIGTERM, _end)
    own, disturbing = os.sched_getaffinity(0), list[int]()
    scheduler, priority = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        _end_with_parent(os.getppid())
        for cpu in cpus:
            # A child has these from its beginning; what the kernel refuses is seen here.
            os.sched_setaffinity(0, {cpu})
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(os.sched_get_priority_max(os.SCHED_FIFO)))
            disturbing.append(_started(cpu, began_ns, options))
        os.sched_setscheduler(0, scheduler, priority)
        os.sched_setaffinity(0, own)
        if options.account:
            os.write(1, _READY)
        if options.command:
            return subprocess.run(options.command, check=False).returncode
        if options.seconds is None:
            signal.pause()
        else:
            time.sleep(options.seconds)
    except PermissionError:
        print("disturber: SCHED_FIFO is not permitted; run as root", file=sys.stderr)
        return 1
    except (KeyboardInterrupt, SystemExit):
        pass
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for process in disturbing:
            os.kill(process, signal.SIGTERM)
        for process in disturbing:
            os.waitpid(process, 0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
