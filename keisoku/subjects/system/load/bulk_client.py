"""Bulk TCP in place of requests, as iperf sends it: a client sends to its server for a time.

By keisoku's own stream engine, or by iperf3; for both the server's end is a `keisoku stream serve`. The
figure is what the server *read*; there are no latencies.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod

from keisoku.errors import EngineError, PlanError
from keisoku.ground.host.place import Place
from keisoku.subjects.stream import iperf3
from keisoku.subjects.stream.session import StreamSession
from keisoku.subjects.stream.trial import MOST_S, MOST_STREAMS, StreamTrial
from keisoku.subjects.system.load.client_load import ClientLoad
from keisoku.subjects.system.load.client_run import ClientRun
from keisoku.subjects.system.load.ssh_hosts import SshHosts

MESSAGE_BYTES = 131_072
"""Bytes of one call to send: iperf's default, and among the fastest of a sweep."""


class BulkClient(ABC):
    """Connected from the start; `connections` are streams. Raises PlanError for a load that it cannot make."""

    name: str

    def __init__(self, load: ClientLoad, hosts: SshHosts) -> None:
        load.check()
        _check(load, self.name)
        self._load = load
        address, _, port = load.server.rpartition(":")
        self._session = StreamSession(Place(address, load.namespace), int(port))
        self._trial = StreamTrial(
            protocol="tcp", message_bytes=MESSAGE_BYTES, streams=load.connections, duration_s=float(load.seconds or 0)
        )
        self._stopped = threading.Event()
        self._run: ClientRun | None = None
        self._failure: BaseException | None = None
        self._thread: threading.Thread | None = None

    def begin(self, at_ns: int) -> None:
        """At that time of CLOCK_MONOTONIC; returns before."""
        self._thread = threading.Thread(target=self._work, args=(at_ns,), name=f"keisoku-{self.name}", daemon=True)
        self._thread.start()

    def finish(self) -> ClientRun:
        """Waits for its end. Raises EngineError if the server went away."""
        try:
            if self._thread is not None:
                self._thread.join()
            if self._failure is not None:
                raise self._failure
            if self._run is None:
                raise EngineError(f"the streams of {self._load.name} were stopped before they began")
            return self._run
        finally:
            self._session.close()

    def stop(self) -> None:
        """Ends it early, without figures."""
        self._stopped.set()
        self._session.abandon()

    @abstractmethod
    def _measure(self, at_ns: int) -> ClientRun:
        """Sends, from that time on."""

    def _wait(self, at_ns: int) -> None:
        if self._stopped.wait(max(0.0, (at_ns - time.monotonic_ns()) / 1e9)):
            raise EngineError(f"the streams of {self._load.name} were stopped before they began")

    def _work(self, at_ns: int) -> None:
        try:
            self._run = self._measure(at_ns)
        except BaseException as failure:
            self._failure = failure


class StreamClient(BulkClient):
    """By keisoku's own engine: what was read after a warm-up, to the last byte."""

    name = "stream"

    def _measure(self, at_ns: int) -> ClientRun:
        began: list[int] = []

        def wait() -> None:
            self._wait(at_ns)
            began.append(time.monotonic_ns())

        rows = self._session.measure(self._trial, wait)
        if errors := [str(row["error"]) for row in rows if row["error"]]:
            raise EngineError(f"a stream of {self._load.name} broke: {errors[0]}; measure again")
        longest_ns = max(row["settled_ns"] for row in rows)
        # As `keisoku stream` has it: each stream's rate is over its own time, so that one that was starved and has
        # to empty its buffer when all others are done does not make them slow.
        settled = sum(row["settled_bytes"] * longest_ns / max(1, row["settled_ns"]) for row in rows)
        begin_ns = began[0] + round(self._trial.warm_up_s * 1e9)
        return ClientRun(self._load.name, 0, 0, round(settled), begin_ns, begin_ns + max(1, longest_ns))


class Iperf3Client(BulkClient):
    """By iperf3, all of its time with the start."""

    name = "iperf3"

    def __init__(self, load: ClientLoad, hosts: SshHosts) -> None:
        super().__init__(load, hosts)
        try:
            self._port = self._session.start_iperf3()
        except BaseException:
            self._session.close()
            raise

    def _measure(self, at_ns: int) -> ClientRun:
        self._wait(at_ns)
        began_ns = time.monotonic_ns()
        try:
            said = iperf3.client(self._session.place.inside, self._session.remote, self._port, self._trial)
        finally:
            self._session.end_iperf3()
        took_ns = round(said["seconds"] * 1e9)
        return ClientRun(self._load.name, 0, 0, round(said["bps"] * said["seconds"] / 8), began_ns, began_ns + took_ns)


KINDS = {one.name: one for one in (StreamClient, Iperf3Client)}


def _check(load: ClientLoad, name: str) -> None:
    if load.ssh:
        raise PlanError("with", f"{name} has no clients over ssh", "run keisoku there, or use own, ab, wrk or oha")
    if load.requests is not None or load.per_second is not None or load.seconds is None:
        raise PlanError("with", f"{name} sends bytes for a time, without requests", "give --duration only")
    if load.connections > MOST_STREAMS or load.seconds > MOST_S:
        most = f"at most {MOST_STREAMS} streams for {MOST_S:g} s"
        raise PlanError("with", f"{name} cannot do more", f"give {most}")
