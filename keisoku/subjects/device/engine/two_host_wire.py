"""The core's `Wire` over two hosts: frames leave at a port here, and arrive at a port of another host.

The host there accounts for every frame (`device/testbed/receiving_host.py`). It is told beforehand what to
expect and when the first frame is due, and afterwards how many frames of each stream were sent. This file decides
nothing about a trial.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy as np

from keisoku._core import Wire
from keisoku.errors import EngineError
from keisoku.ground.host.two_ended.control import Control, ControlError
from keisoku.subjects.clock.host_relation import related
from keisoku.subjects.clock.relation import Relation, between
from keisoku.subjects.device.engine.watched import Parts
from keisoku.subjects.device.record.arrival import ENTRY, NO_TIME_NS

GREETING = b"keisoku-port 2\n"
SENDS, RECEIVES = 0, 1
"""The ports of a trial, by index."""
_LEAD_NS = 300_000_000
"""From the last word with the host there to the first frame."""
_EXCHANGES = 8
_PATIENCE_S = 30.0
_LOOK_S = 0.5
_OF_LATENCY = ("latency", "variation", "jitter", "tagged_latency_ns", "latency_since_tag", "lost_at")


class ReceivingHost:
    """The connection to the host that receives; one request at a time."""

    def __init__(self, control: Control) -> None:
        self._control, self._lock = control, threading.Lock()

    @property
    def name(self) -> str:
        """As errors name it."""
        return self._control.peer

    def ask(
        self, what: str, block: bytes = b"", timeout_s: float = _PATIENCE_S, **more: Any
    ) -> tuple[dict[str, Any], bytes]:
        """The answer. Raises EngineError if there is none, or if the host refuses."""
        with self._lock:
            self._control.send({"do": what, **more}, block)
            return self._control.receive(timeout_s)

    def glance(self, what: str) -> dict[str, Any] | None:
        """The answer; None while another request is answered."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            return self._control.ask({"do": what})[0]
        finally:
            self._lock.release()

    def ahead_ns(self) -> int:
        """By how much CLOCK_MONOTONIC there is ahead of the one here, by the narrowest of some exchanges."""
        exchanges = []
        for _ in range(_EXCHANGES):
            before = time.monotonic_ns()
            there = int(self.ask("clock")[0]["monotonic_ns"])
            after = time.monotonic_ns()
            exchanges.append((after - before, there - (before + after) // 2))
        return min(exchanges, key=lambda exchange: exchange[0])[1]

    def relation(self, clock: str) -> tuple[Relation, int]:
        """From the clock here to the one there, by a PTP master of each host; and the master's time less this clock.

        Both hosts ask their masters at the same time. Raises EngineError if one does not answer.
        """
        with ThreadPoolExecutor(1) as pool:
            own = pool.submit(related, clock)
            there = Relation(**self.ask("relate")[0]["relation"])
            here = own.result()
        return between(here, there), -here.offset_ns

    def close(self) -> None:
        """Ends the connection."""
        self._control.close()


class Clock:
    """What relates the clocks of the two hosts, and how well: `relation` is that when the ports were opened."""

    def __init__(self, name: str, host: ReceivingHost) -> None:
        """`name`: the PTP master that this host hears."""
        self.name = name
        self.relation, _ = host.relation(name)

    def read(self, host: ReceivingHost) -> Callable[[int], int]:
        """By how much the clock there is ahead at a time of the clock here, read anew."""
        relation, to_master_ns = host.relation(self.name)
        return lambda here_ns: relation.offset_at(here_ns + to_master_ns)

    def check(self, host: ReceivingHost, ahead_ns: int) -> None:
        """Raises EngineError if the clocks are now further apart than is known of them: no latency holds then."""
        relation, _ = host.relation(self.name)
        off_ns = abs(relation.offset_ns - ahead_ns)
        bound_ns = 2 * (relation.uncertainty_ns() + self.relation.uncertainty_ns())
        if off_ns > bound_ns:
            raise EngineError(
                f"the clocks of this host and {host.name} moved apart by {off_ns / 1000:.3g} µs in the trial, and"
                f" {bound_ns / 1000:.3g} µs are certain; let PTP discipline both, or shorten the trial"
            )


class TwoHostWire:
    """Has the calls of the core's `Wire`, for one port that sends and one that receives there."""

    def __init__(self, places: Sequence[Mapping[str, Any]], host: ReceivingHost, clock: Clock | None = None) -> None:
        """`places`: as `core/src/port/opening.rs` reads them; of the port there only what its opening needs. Without a
        `clock` there are no one-way latencies."""
        self._clock = clock
        self._near = Wire(json.dumps([places[SENDS]]), [SENDS], [])
        self._host = host
        self._forwarded, self._looked_s = 0, 0.0
        try:
            host.ask("open", views=places[RECEIVES]["views"], lots=places[RECEIVES]["lots"])
        except EngineError:
            self._near.close()
            raise

    def ready(self, carrier: bool) -> None:
        """At both hosts."""
        self._near.ready(carrier)
        self._host.ask("ready", carrier=carrier)

    def taken_frames(self) -> list[tuple[int, int]]:
        """Of both hosts."""
        return [
            *self._near.taken_frames(),
            *((RECEIVES, count) for _, count in self._host.ask("taken_frames")[0]["taken_frames"]),
        ]

    def start(
        self,
        trial_json: str,
        tables: list[Parts],
        log: bool = False,
        changed_only: bool = False,
        expected: tuple[list[Parts], list[tuple[int, int]]] | None = None,
        hops: None = None,
    ) -> None:
        """Begins at the host there, then here. No frame's hops are followed over two hosts, which a plan refuses."""
        self._forwarded, self._looked_s = 0, 0.0
        trial = json.loads(trial_json)
        own, content = packed(tables)
        wanted, more = ([], b"") if expected is None else packed(expected[0])
        free = None if expected is None else expected[1]
        self._host.ask("expect", content + more, tables=own, expected=wanted, free=free)
        ahead = None if self._clock is None else self._clock.read(self._host)
        start_ns = time.monotonic_ns() + _LEAD_NS
        ahead_ns = self._host.ahead_ns() if ahead is None else ahead(start_ns + trial["duration_ns"] // 2)
        self._ahead_ns = ahead_ns
        there = {"there": "sends", "start_ns": start_ns, "ahead_ns": ahead_ns}
        theirs = trial | {"elsewhere": there, "stop_after_lost": None}
        self._host.ask("start", json.dumps(theirs).encode(), log=log, changed_only=changed_only)
        here = {"there": "receives", "start_ns": start_ns}
        without = {"drain_ns": 0, "stop_after_lost": None, "changes": False, "marks": False, "words": None}
        try:
            self._near.start(json.dumps(trial | without | {"elsewhere": here}), tables)
        except EngineError:
            self._host.ask("abandon")
            raise

    def progress(self) -> tuple[int, int, bool]:
        """What the host there has seen is asked for now and then."""
        offered, _, finished = self._near.progress()
        if time.monotonic() > self._looked_s + _LOOK_S and (found := self._host.glance("progress")):
            self._forwarded, self._looked_s = int(found["forwarded"]), time.monotonic()
        return offered, self._forwarded, finished

    def start_ns(self) -> int | None:
        """On the clock here."""
        return self._near.start_ns()

    def streams(self) -> list[tuple[str, int, int, int, list[int]]]:
        """What is known here."""
        return self._near.streams()

    def longest_gaps(self) -> None:
        """The account is kept there."""

    def switch(self, streams: list[int], state: str) -> bool:
        """No flow is switched over two hosts."""
        return False

    def stop(self) -> None:
        """Nothing more is sent; the host there is told when the trial is finished."""
        self._near.stop()

    def finish(self) -> str:
        """The record of both. Raises EngineError if a port failed at either."""
        try:
            near = json.loads(self._near.finish())
        except EngineError:
            self._host.ask("abandon")
            raise
        offered = [stream["offered_frames"] for stream in near["streams"]]
        _, text = self._host.ask("finish", sent=offered)
        far = json.loads(text)
        if self._clock is not None:
            self._clock.check(self._host, self._ahead_ns)
        else:
            far["streams"] = [without_latency(stream) for stream in far["streams"]]
        return json.dumps(merged_record(near, far))

    def take_frames(self) -> tuple[bytes, int]:
        """The rows that wait there. Where the clocks are not related, no row says when its frame was sent: the
        difference would look like a latency."""
        parts, more = [], True
        while more:
            answer, part = self._host.ask("take frames")
            more = bool(answer["more"])
            parts.append(part)
        rows = np.frombuffer(bytearray().join(parts), ENTRY)
        if self._clock is None:
            rows["transmit_ns"] = NO_TIME_NS
        return rows.tobytes(), int(answer["lost"])

    def words(self) -> list[bytes]:
        """There are none."""
        return []

    def capture_rings(self) -> list[Any]:
        """There are none."""
        return []

    def learn(self, port: int, template: bytes, count: int) -> None:
        """Sends learning frames from either port."""
        if port == SENDS:
            self._near.learn(port, template, count)
        else:
            self._host.ask("learn", template, count=count)

    def close(self) -> None:
        """Closes the ports of both hosts; the connection stays."""
        self._near.close()
        with suppress(ControlError):  # it closes the port itself when the connection ends
            self._host.ask("close")


def merged_record(near: Mapping[str, Any], far: Mapping[str, Any]) -> dict[str, Any]:
    """One record: what was sent is said by the host that sent it, what arrived by the other."""
    cores = [*near["interference"]["cores"], *far["interference"]["cores"]]
    threads = [*near["interference"]["threads"], *far["interference"]["threads"]]
    return {
        **far,
        "transmitters": near["transmitters"],
        "links": [*near["links"], *far["links"]],
        "interference": near["interference"] | {"cores": cores, "threads": threads},
        "interrupted": near["interrupted"] or far["interrupted"],
        "stopped_for_loss": False,
    }


def without_latency(stream: Mapping[str, Any]) -> dict[str, Any]:
    """The account of a stream without what rests on the difference of two hosts' clocks."""
    found = dict(stream)
    tracked = found["tracked"] = dict(stream["tracked"])
    tracked |= {name: None for name in _OF_LATENCY if name in tracked}
    tracked["series"] = [{**interval, "latency": None} for interval in tracked["series"]]
    found["branches"] = [without_latency(branch) for branch in stream.get("branches", [])]
    return found


def packed(tables: Sequence[Parts]) -> tuple[list[list[Any]], bytes]:
    """Tables of frames for the other host: what is said of each, and their bytes."""
    said = [[len(content), len(lengths), *more] for content, lengths, *more in tables]
    return said, b"".join(content + lengths for content, lengths, *_ in tables)


def unpacked(said: Sequence[Sequence[Any]], block: bytes) -> tuple[list[Parts], bytes]:
    """The tables, and what is left of the block. Raises ValueError if they are not whole."""
    found: list[Parts] = []
    for content_bytes, lengths_bytes, checked_from, signed, room in said:
        content, block = block[:content_bytes], block[content_bytes:]
        lengths, block = block[:lengths_bytes], block[lengths_bytes:]
        if len(content) != content_bytes or len(lengths) != lengths_bytes:
            raise ValueError("a table of frames is cut off")
        found.append((content, lengths, int(checked_from), bool(signed), int(room)))
    return found, block
