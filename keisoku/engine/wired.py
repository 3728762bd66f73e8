"""The engine for real ports: a transmit and a receive port of this host, with a device between them.

Carries out a trial with the phases of RFC 2544 §23 on the core's `Wire`; the ports stay open from
trial to trial. It never decides what is measured and never touches an interface it was not given.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from keisoku._core import Wire
from keisoku.analysis.rates import maximum_frames_per_second
from keisoku.engine import Capabilities, Progress
from keisoku.errors import EngineError
from keisoku.frame.template import Kind, Template, build, least_frame_bytes
from keisoku.record.trial import NS_PER_S, Facts, Phases, Trial

WARM_UP_S = 0.2
"""Before the first trial the path carries all it can for so long: memory that was never used before makes
the first hundred thousand frames slow (measured: 100 ms of lag in the first trial of a run, none after this)."""
_WARM_UP_STREAM = 0
_BEYOND_ANY_PORT_FPS = 100e6
LEARNING_FRAMES = 10
"""In each direction: enough for a bridge to learn and for a router to resolve the next hop."""
_STAMPS = {"xdp": "CLOCK_MONOTONIC in BPF", "packet": "CLOCK_MONOTONIC at the packet socket"}


@dataclass(frozen=True)
class Port:
    """One end of the tester, ready to be opened."""

    engine: Literal["xdp", "packet"]
    interface: str
    namespace: Path | None
    mac: str
    ip: str | None
    """Of the version that the headers need; None for plain Ethernet."""
    mtu_bytes: int

    def place(self) -> str:
        """As `core/src/wire.rs` reads it."""
        namespace = None if self.namespace is None else str(self.namespace)
        return json.dumps({"engine": self.engine, "interface": self.interface, "namespace": namespace})


@dataclass(frozen=True)
class Route:
    """How frames get from one port to the other."""

    tx: Port
    rx: Port
    kind: Kind
    next_hop_mac: str
    """The receiving port's own on a bridge, the DUT's on a router."""
    return_hop_mac: str
    """Likewise in the other direction, for learning frames."""
    link_bits_per_second: float | None


class WiredEngine:
    """One stream from `path.tx` to `path.rx`. Raises EngineError if a port cannot be opened."""

    def __init__(self, path: Route, context: dict[str, object]) -> None:
        self._path, self._context = path, context
        self._wire = Wire(path.tx.place(), path.rx.place())
        self._running: _Running | None = None
        self._warm = False

    @property
    def capabilities(self) -> Capabilities:
        """The largest frame is what both ports' MTU allows: Ethernet header and FCS are not in it."""
        tx, rx = self._path.tx, self._path.rx
        return Capabilities(
            engine=tx.engine if tx.engine == rx.engine else f"{tx.engine}-{rx.engine}",
            link_bits_per_second=self._path.link_bits_per_second,
            min_frame_bytes=least_frame_bytes(self._path.kind),
            max_frame_bytes=min(tx.mtu_bytes, rx.mtu_bytes) + 18,
            simulated=False,
            transmit_stamp=_STAMPS[tx.engine],
            receive_stamp=_STAMPS[rx.engine],
        )

    def start(self, trial: Trial, stream: int, seed: int) -> None:
        """Begins the trial's phases on a thread of their own; `seed` has nothing to decide here."""
        if self._running is not None:
            raise EngineError("a trial is running: finish it first")
        warm_up = None if self._warm else self._warm_up().load(_WARM_UP_STREAM)
        self._warm = True
        template = self._template(trial.frame_bytes)
        self._running = _Running(self._wire, trial, stream, template, self._learning(), warm_up)
        self._running.start()

    def wait(self, seconds: float) -> Progress:
        """Live counts; the elapsed time is that of the whole trial, waits included."""
        running = self._started()
        running.join(seconds)
        # Before the load the wire carries learning frames and the warm-up, which are nobody's counts.
        offered, forwarded, _ = self._wire.progress() if running.loading.is_set() else (0, 0, False)
        return Progress(
            offered_frames=offered,
            forwarded_frames=forwarded,
            finished=not running.is_alive(),
            elapsed_s=time.monotonic() - running.began_s,
            expected_s=running.expected_s,
        )

    def stop(self) -> None:
        """Ends the trial, in whichever phase it is."""
        if self._running is not None:
            self._running.stop()

    def finish(self) -> tuple[Facts, float]:
        """Facts and the seconds that all phases took. Raises EngineError if a port failed."""
        running = self._started()
        running.join()
        self._running = None
        return running.outcome(), time.monotonic() - running.began_s

    def close(self) -> None:
        """Stops what runs, detaches programs, closes sockets."""
        self.stop()
        if self._running is not None:
            self._running.join()
        self._wire.close()

    def context(self) -> dict[str, object]:
        """Ports, and what the caller knows of the device between them."""
        ends = {
            name: {
                "engine": port.engine,
                "interface": port.interface,
                "mac": port.mac,
                "mtu_bytes": port.mtu_bytes,
            }
            for name, port in (("tx", self._path.tx), ("rx", self._path.rx))
        }
        own = {
            "engine": self.capabilities.engine,
            "link_bits_per_second": self._path.link_bits_per_second,
            "ports": ends,
        }
        return self._context | own

    def _started(self) -> _Running:
        if self._running is None:
            raise EngineError("no trial was started")
        return self._running

    def _template(self, frame_bytes: int) -> Template:
        path = self._path
        return build(path.kind, frame_bytes, path.tx.mac, path.next_hop_mac, path.tx.ip, path.rx.ip)

    def _warm_up(self) -> Trial:
        speed = self._path.link_bits_per_second
        least = least_frame_bytes(self._path.kind)
        return Trial(
            purpose="warm-up",
            frame_bytes=least,
            frames_per_second=_BEYOND_ANY_PORT_FPS if speed is None else maximum_frames_per_second(speed, least),
            duration_ns=round(WARM_UP_S * NS_PER_S),
            phases=Phases(learning=False, learning_wait_ns=0, drain_ns=NS_PER_S // 100, rest_ns=0),
        )

    def _learning(self) -> tuple[Template, Template]:
        path = self._path
        least = least_frame_bytes(path.kind)
        back = build(path.kind, least, path.rx.mac, path.return_hop_mac, path.rx.ip, path.tx.ip)
        return self._template(least), back


class _Running(threading.Thread):
    """One trial and its phases."""

    def __init__(
        self,
        wire: Wire,
        trial: Trial,
        stream: int,
        template: Template,
        learning: tuple[Template, Template],
        warm_up: str | None,
    ) -> None:
        super().__init__(name=f"trial {stream}", daemon=True)
        self._wire, self._trial, self._stream = wire, trial, stream
        self._template, self._learning, self._warm_up = template, learning, warm_up
        self._stopped = threading.Event()
        self.loading = threading.Event()
        self._facts: Facts | None = None
        self._error: EngineError | None = None
        phases = trial.phases
        learning_ns = phases.learning_wait_ns if phases.learning else 0
        self.expected_s = (learning_ns + trial.duration_ns + phases.drain_ns + phases.rest_ns) / NS_PER_S
        self.began_s = time.monotonic()

    def run(self) -> None:
        """RFC 2544 §23 c to e; a)'s routing updates have no meaning for a static lab."""
        try:
            self._learn()
            if self._warm_up is not None:
                self._carry(self._warm_up, self._learning[0], threading.Event())
            if not self._stopped.is_set():
                facts = self._carry(self._trial.load(self._stream), self._template, self.loading)
                self._facts = Facts.model_validate_json(facts)
            self._stopped.wait(self._trial.phases.rest_ns / NS_PER_S)
        except EngineError as error:
            self._error = error

    def stop(self) -> None:
        """Cuts every phase short."""
        self._stopped.set()
        self._wire.stop()

    def outcome(self) -> Facts:
        """Facts of a trial that has ended."""
        if self._error is not None:
            raise self._error
        if self._facts is None:
            raise EngineError("the trial was stopped before its load began")
        return self._facts

    def _learn(self) -> None:
        if not self._trial.phases.learning:
            return
        forward, back = self._learning
        # The receiving side first, so that the DUT knows where to send what comes from the other.
        self._wire.learn(back.bytes_, LEARNING_FRAMES, reverse=True)
        self._wire.learn(forward.bytes_, LEARNING_FRAMES, reverse=False)
        self._stopped.wait(self._trial.phases.learning_wait_ns / NS_PER_S)

    def _carry(self, load: str, template: Template, begun: threading.Event) -> str:
        self._wire.start(load, template.bytes_, template.checked_from)
        begun.set()
        if self._stopped.is_set():  # it came while the load was about to begin
            self._wire.stop()
        return self._wire.finish()
