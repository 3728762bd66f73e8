"""Transactions on a veth: keisoku with and without stamps beside sockperf and qperf, in turns of one run; medians.

Run: python benchmarks/speed/transactions.py [--turns N]. Needs root, sockperf and qperf. All send 64 byte both ways on
one connection, the next when one is answered. sockperf and qperf state half a round trip, which is doubled here. Then
what keisoku says of a path with a known delay of 5 ms each way, and how many transactions 1 to 10 000 connections make.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median

import numpy as np

from keisoku.ground.host.namespace import Namespace
from keisoku.ground.host.place import Place
from keisoku.ground.lab.path.bare_path import TARGET_ADDRESS, BarePath
from keisoku.ground.lab.path.hop import Hop
from keisoku.ground.lab.path.lab import PathLab
from keisoku.subjects.stream.session import StreamSession
from keisoku.subjects.stream.transaction.analysis import TrialOutcome, outcome
from keisoku.subjects.stream.transaction.near import carry_out_trial
from keisoku.subjects.stream.transaction.trial import TransactionTrial

BYTES = 64
SECONDS = 2
DELAY_NS = 5_000_000
CONNECTIONS = (1, 10, 100, 1000, 10_000)
_PORT = 5521
_UNITS_US = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "sec": 1e6}


def trial(session: StreamSession, kind: str, seconds: float = SECONDS, **more: object) -> TrialOutcome:
    """One trial, as the analysis sees it."""
    values = {"kind": kind, "request_bytes": BYTES, "response_bytes": BYTES, "duration_s": seconds, **more}
    rows, row = carry_out_trial(session, TransactionTrial.model_validate(values), 1)
    return outcome(rows, row.to_pylist()[0])


class Bed:
    """All programs on one bare path; each returns the median or mean round trip in µs."""

    def __init__(self, lab: BarePath, session: StreamSession) -> None:
        self.near, self.far = Namespace(lab.tester_namespace), Namespace(lab.target_namespace)
        self._session, self._port = session, _PORT
        self.programs: dict[str, Callable[[str], float]] = {
            "keisoku": lambda kind: self._keisoku(kind, True),
            "keisoku --no-stamps": lambda kind: self._keisoku(kind, False),
            "sockperf": self._sockperf,
            "qperf": self._qperf,
        }

    def _keisoku(self, kind: str, stamps: bool) -> float:
        return float(np.mean(trial(self._session, kind, stamps=stamps).whole)) / 1e3

    def _sockperf(self, kind: str) -> float:
        tcp = ["--tcp"] if kind == "rr" else []
        at = ["-i", TARGET_ADDRESS, "-p", str(_PORT), *tcp]
        with self._serving(["sockperf", "server", *at]):
            command = ["sockperf", "ping-pong", *at, "-t", str(SECONDS), "-m", str(BYTES)]
            said = self.near.run(lambda: subprocess.run(command, capture_output=True, text=True, check=True)).stdout
        found = re.search(r"avg-lat(?:ency)?=\s*([0-9.]+)", said)
        assert found, said
        return 2 * float(found[1])

    def _qperf(self, kind: str) -> float:
        test = "tcp_lat" if kind == "rr" else "udp_lat"
        self._port += 1  # the last one may be taken by a connection that waits
        at = ["qperf", "-lp", str(self._port)]
        with self._serving(at):
            command = [*at, TARGET_ADDRESS, "-t", str(SECONDS), "-m", str(BYTES), test]
            said = self.near.run(lambda: subprocess.run(command, capture_output=True, text=True, check=True)).stdout
        found = re.search(r"latency\s*=\s*([0-9.]+)\s*(\w+)", said)
        assert found, said
        return 2 * float(found[1]) * _UNITS_US[found[2]]

    @contextmanager
    def _serving(self, command: list[str]) -> Iterator[None]:
        quiet = subprocess.DEVNULL
        server = self.far.run(lambda: subprocess.Popen(command, stdout=quiet, stderr=quiet))
        try:
            time.sleep(0.5)  # neither program says when it listens
            yield
        finally:
            server.terminate()
            server.wait()


@contextmanager
def served(address: str, near: str, far: str) -> Iterator[StreamSession]:
    """A session from one namespace to a server in another one, which is a process of its own."""
    command = [sys.executable, "-m", "keisoku", "stream", "serve", "--at", f"{address}@{far}", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline().split()[-1])
            with StreamSession(Place(address, near), port) as session:
                yield session
        finally:
            server.terminate()


def side_by_side(turns: int) -> None:
    """Prints the round trips of all programs, and what many connections make."""
    order = random.Random(1)
    with BarePath() as lab, served(TARGET_ADDRESS, lab.tester_namespace, lab.target_namespace) as session:
        bed = Bed(lab, session)
        for kind in ("rr", "udp-rr"):
            found: dict[str, list[float]] = {name: [] for name in bed.programs}
            for _ in range(turns):
                for name in order.sample(list(bed.programs), len(bed.programs)):
                    found[name].append(bed.programs[name](kind))
            for name, values in found.items():
                print(
                    f"{kind:>7} {name:<20} mean round trip {median(values):7.2f} µs"
                    f" ({min(values):.2f} to {max(values):.2f} in {turns} turns)"
                )
        print(f"{'':>7} {'connections':>12} {'rr/s':>8} {'p50 µs':>9} {'p99 µs':>9} {'udp-rr/s':>9} {'failed':>7}")
        for many in CONNECTIONS:
            tcp, udp = (trial(session, kind, connections=many) for kind in ("rr", "udp-rr"))
            p50, p99 = (float(np.quantile(tcp.whole, share)) / 1e3 for share in (0.5, 0.99))
            failed = sum(sum(each.failures.values()) for each in (tcp, udp))
            print(f"{'':>7} {many:>12} {tcp.rate_rps:8.0f} {p50:9.1f} {p99:9.1f} {udp.rate_rps:9.0f} {failed:>7}")


def known_delay() -> None:
    """Prints what is above a delay that is known."""
    with (
        PathLab([Hop(1_000_000_000, propagation_ns=DELAY_NS)]) as lab,
        served(lab.target_address, lab.tester_namespace, lab.target_namespace) as session,
    ):
        for kind in ("rr", "crr", "udp-rr"):
            made = trial(session, kind)
            network_us = (made.parts["network"] - 2 * DELAY_NS) / 1e3
            whole_us = (float(np.median(made.answer)) - 2 * DELAY_NS) / 1e3
            print(
                f"{kind:>7} above the known {2 * DELAY_NS / 1e6:g} ms: median from request to response"
                f" {whole_us:.1f} µs, mean of the network {network_us:.1f} µs"
            )


def main() -> None:
    """Prints all tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--turns", type=int, default=5)
    side_by_side(options.parse_args().turns)
    known_delay()


if __name__ == "__main__":
    main()
