"""The ends of a mesh, which this host only tells what to do: each is a far end, and each pair of them holds a session.

The ends send to each other, never to this host. It asks them over TCP, and may lose sight of some meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TypeVar

from keisoku.errors import EngineError
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.control import Control
from keisoku.ground.host.two_ended.far_end import FarEnd
from keisoku.subjects.stream.outage.mesh.settings import MeshSettings, name_of
from keisoku.subjects.stream.outage.session import GREETING, SERVER

_CONNECT_S, _JOIN_S = 5.0, 15.0
_LOOK_S = 1.0
"""An end that does not answer a look in this time is looked at again the next time."""
_REPORT_S, _REPORT_TRIES = 20.0, 3
_FIRST_S, _WAKE_S = 2.0, 0.02
_AT_ONCE = 16
_ROWS = 64
"""Delays of a session are kept in so many intervals of time at most: there may be thousands of sessions."""
_CLOCK_S = 30.0
"""Of the readings of an end's clock, the best one in each such time is kept."""
_Outcome = TypeVar("_Outcome")


@dataclass
class Pair:
    """Two ends by their places in the list: `near` asked `far` to be let in, and both send."""

    near: int
    far: int
    token: int
    silent_ns: dict[int, int] = field(default_factory=dict)
    """For how long nothing had come at each of both, when it was looked at last."""
    received: dict[int, int] = field(default_factory=dict)
    """Packets that had come at each of both by then."""

    @property
    def is_heard(self) -> bool:
        """Whether each of both has heard the other one."""
        return all(self.received.get(place) for place in (self.near, self.far))


class End:
    """One end, and what is known of its clock."""

    def __init__(self, text: str, port: int) -> None:
        self.name = name_of(text)
        self.place = Place.parse(text)
        self.address = self.place.addresses()[0]
        self.port = port
        self.clock: list[list[int]] = []
        """Readings of its CLOCK_MONOTONIC, between two of this host's: before, its own, after; ns."""
        self._control: Control | None = None

    def ask(self, message: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        """Its answer. Raises EngineError with the remedy, or with what it refuses."""
        if self._control is None:
            connection = self.place.connect(self.port, min(timeout_s, _CONNECT_S), f"{SERVER} --mesh")
            self._control = Control(connection, self.name, GREETING)
            try:
                self._control.greet(timeout_s)
            except EngineError:
                self.close()
                raise
        try:
            return self._control.ask(message, timeout_s)[0]
        except EngineError:
            self.close()  # an answer that comes later would be taken for that of the next message
            raise

    def look(self, tokens: Sequence[int]) -> list[dict[str, Any] | None]:
        """What came of these sessions until now; reads its clock as well."""
        before_ns = time.monotonic_ns()
        answer = self.ask({"do": "look", "tokens": list(tokens)}, _LOOK_S)
        self._read([before_ns, int(answer["now_ns"]), time.monotonic_ns()])
        looks: list[dict[str, Any] | None] = answer["looks"]
        return looks

    def _read(self, reading: list[int]) -> None:
        last = self.clock[-1] if self.clock else None
        if last is None or reading[0] - last[0] > _CLOCK_S * 1e9:
            self.clock.append(reading)
        elif reading[2] - reading[0] < last[2] - last[0]:
            self.clock[-1] = [*reading]

    def close(self) -> None:
        """Closes the connection; the next question opens another one."""
        if self._control is not None:
            self._control.close()
            self._control = None


class Mesh:
    """All ends, sending to each other between entry and exit. A context manager.

    Raises EngineError on entry if an end cannot be started or asked, or does not reach another one.
    """

    def __init__(self, settings: MeshSettings) -> None:
        self._settings, self._stack = settings, ExitStack()
        self.ends: list[End] = []
        self.pairs: list[Pair] = []

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._workers = stack.enter_context(ThreadPoolExecutor(_AT_ONCE))
            for text in self._settings.ends:
                end = End(text, self._settings.port)
                if end.place.namespace is not None:
                    stack.enter_context(FarEnd("outage", end.place, "--mesh", port=end.port))
                self.ends.append(end)
            stack.callback(self._close)
            for pairs in self._of_each(self._joined):
                self.pairs += pairs
            self._await_first()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def look(self) -> list[str]:
        """Looks at all ends at once, so that they go on; returns the names of those that did not answer."""

        def look(place: int) -> str:
            mine = self._pairs_of(place)
            try:
                looks = self.ends[place].look([pair.token for pair in mine])
            except EngineError:
                return self.ends[place].name
            for pair, one in zip(mine, looks, strict=True):
                pair.silent_ns[place] = int(one["silent_ns"]) if one else 0
                pair.received[place] = int(one["received"]) if one else 0
            return ""

        return [name for name in self._of_each(look) if name]

    def silent(self) -> int:
        """Directions in which nothing had come for longer than is usual, when the ends were looked at last."""
        quiet_ns = (self._settings.silence_s + self._settings.interval_s) * 1e9
        return sum(ns > quiet_ns for pair in self.pairs for ns in pair.silent_ns.values())

    def report(self) -> dict[str, Any]:
        """What all ends have seen: 'ends' with clock and host, 'pairs' with the record of either end, None where it
        could not be asked any more."""
        hosts: list[Any] = [None] * len(self.ends)

        def report(place: int) -> dict[int, dict[str, Any] | None]:
            found = {}
            for pair in self._pairs_of(place):
                record = self._record(place, pair.token)
                if record is not None:
                    hosts[place] = record.pop("host")
                    record["delays"] = _thinned(record["delays"])
                found[pair.token] = record
            return found

        seen = self._of_each(report)
        return {
            "ends": [
                {"name": end.name, "clock": end.clock, "host": host} for end, host in zip(self.ends, hosts, strict=True)
            ],
            "pairs": [
                {
                    "near": pair.near,
                    "far": pair.far,
                    "seen": [seen[place][pair.token] for place in (pair.near, pair.far)],
                }
                for pair in self.pairs
            ],
        }

    def _joined(self, near: int) -> list[Pair]:
        """The pairs of those that this end asks: about half of the others, so that none has more to do than another."""
        count = len(self.ends)
        found = []
        for step in range(1, count // 2 + 1):
            if 2 * step == count and near >= step:
                continue  # the one opposite asks
            far = (near + step) % count
            other = self.ends[far]
            remote = f"[{other.address}]:{other.port}" if ":" in other.address else f"{other.address}:{other.port}"
            wanted = {
                "flows": 1,
                "interval_ns": round(self._settings.interval_s * 1e9),
                "quiet_ns": round((self._settings.silence_s + self._settings.interval_s) * 1e9),
                "first": 0,
            }
            answer = self.ends[near].ask({"do": "join", "wanted": wanted, "remote": remote}, _JOIN_S)
            found.append(Pair(near, far, int(answer["token"])))
        return found

    def _await_first(self) -> None:
        """Until each end has heard each other one, as an interruption is known only between packets that came. Some
        ways may be interrupted already, so it waits `_FIRST_S` at most."""
        until_s = time.monotonic() + self._settings.interval_s + _FIRST_S
        self.look()
        while not all(pair.is_heard for pair in self.pairs) and time.monotonic() < until_s:
            time.sleep(_WAKE_S)
            self.look()

    def _pairs_of(self, place: int) -> list[Pair]:
        return [pair for pair in self.pairs if place in (pair.near, pair.far)]

    def _record(self, place: int, token: int) -> dict[str, Any] | None:
        for _ in range(_REPORT_TRIES):
            with suppress(EngineError):
                record: dict[str, Any] | None = self.ends[place].ask({"do": "report", "token": token}, _REPORT_S)[
                    "record"
                ]
                return record
        return None

    def _close(self) -> None:
        """Ends all sessions, as far as their ends can be reached; the others end by themselves."""

        def close(place: int) -> None:
            with suppress(EngineError):
                for pair in self._pairs_of(place):
                    self.ends[place].ask({"do": "close", "token": pair.token}, _LOOK_S)
            self.ends[place].close()

        self._of_each(close)

    def _of_each(self, work: Callable[[int], _Outcome]) -> list[_Outcome]:
        """What comes of the work for each end by its place, several at once."""
        return list(self._workers.map(work, range(len(self.ends))))


def _thinned(delays: dict[str, Any]) -> dict[str, Any]:
    """The same in fewer and longer intervals of time; rows are count, least, mean and largest delay in ns."""
    rows = delays["rows"]
    wide = max(1, -(-len(rows) // _ROWS))
    return {
        "start_ns": delays["start_ns"],
        "width_ns": delays["width_ns"] * wide,
        "rows": [_merged(rows[begin : begin + wide]) for begin in range(0, len(rows), wide)],
    }


def _merged(rows: list[list[int]]) -> list[int]:
    some = [row for row in rows if row[0]]
    count = sum(row[0] for row in some)
    if not some:
        return [0, 0, 0, 0]
    mean = sum(row[0] * row[2] for row in some) // count
    return [count, min(row[1] for row in some), mean, max(row[3] for row in some)]
