"""The engine for real ports: ports of this host, with a device between them.

Carries out a trial with the phases of RFC 2544 §23 on the core's `Wire`; the ports stay open from
trial to trial. It never decides what is measured and never uses an interface it was not given.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Literal

from keisoku._core import Wire
from keisoku.errors import EngineError, PlanError
from keisoku.ground.frame.rates import HEADER_AND_FCS_BYTES, maximum_frames_per_second
from keisoku.ground.frame.variants import Frames
from keisoku.ground.host.full_speed import FullSpeed
from keisoku.ground.virtual_kernel.inside import is_inside
from keisoku.subjects.device.engine.address_filter import filtered_at
from keisoku.subjects.device.engine.connecting import PLACES, Connecting
from keisoku.subjects.device.engine.device_events import DeviceEvents
from keisoku.subjects.device.engine.drop_watch import DropWatch
from keisoku.subjects.device.engine.engine import FrameSink, Progress, progress_of
from keisoku.subjects.device.engine.hop_watch import HopWatch
from keisoku.subjects.device.engine.port_capture import PortCapture
from keisoku.subjects.device.engine.traffic import Traffic
from keisoku.subjects.device.engine.watched import Watched, parts, watched
from keisoku.subjects.device.engine.wired_port import TRANSMIT_STAMPS, WiredPort
from keisoku.subjects.device.engine.wired_trial import WARM_UP_DRAIN_NS, CoreLoad, WiredTrial
from keisoku.subjects.device.record.capabilities import Ability, Capabilities
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.gaps import Gap
from keisoku.subjects.device.record.trial import NS_PER_S, Phases, Trial

if TYPE_CHECKING:
    from keisoku.subjects.device.engine.export_listener import ExportListener

WARM_UP_S = 0.2
"""Before the first trial the path carries its highest load for so long: memory that is used for the first time
slows down the first hundred thousand frames (measured: 100 ms of lag in the first trial of a run, none after this)."""
_WARM_UP_STREAM = 0
SENDERS_CPUS = 2
"""A sender works on one of so many CPUs, whichever has its full speed: others may be far from the memory of these."""
_THREADS_ELSEWHERE, _INTERRUPTS_ELSEWHERE = 0.05, 0.3
"""A device works on another CPU too if its threads, or soft interrupts there, take more than this share of a trial's
time; interrupts are counted in steps of 10 ms, and some are other programs'."""
_BEYOND_ANY_PORT_FPS = 100e6
_ABILITIES: frozenset[Ability] = frozenset({"anywhere", "commands", "compare", "connections", "multicast", "switches"})


Rewrites = Callable[[Sequence[Frames], int], None]
"""Tells a device, before a trial, of the frames of its streams and the number of the first one."""


OpensWire = Callable[[Sequence[dict[str, object]], list[int], list[int]], Wire]
"""Opens ports, as `core/src/port/opening.rs` reads them, of which some send and some receive."""


def opened_here(places: Sequence[dict[str, object]], transmitting: list[int], receiving: list[int]) -> Wire:
    """Ports of this host."""
    return Wire(json.dumps(places), transmitting, receiving)


VIRTUAL_NS = 512.0
"""In virtual time: each reading of the clock moves it on by 256 ns, and a frame is stamped twice."""


def _works_elsewhere(facts: Facts, duration_ns: int) -> bool:
    threads_ns = sum(facts.threads_ns.values()) + sum(facts.packet_threads_ns.values())
    interrupts_ns = sum(facts.soft_interrupts_ns.values())
    return threads_ns > _THREADS_ELSEWHERE * duration_ns or interrupts_ns > _INTERRUPTS_ELSEWHERE * duration_ns


class WiredEngine:
    """Streams between ports of this host, and a capture of all of them if there is to be one.

    Raises EngineError if a port cannot be opened.
    """

    def __init__(
        self,
        ports: Sequence[WiredPort],
        traffic: Traffic,
        link_bits_per_second: float | None,
        context: dict[str, object],
        capture: PortCapture | None = None,
        resets: Literal["by hand"] | Callable[[], None] | None = None,
        warm_up: bool = True,
        events: DeviceEvents | None = None,
        rewrites: Rewrites | None = None,
        opens: OpensWire = opened_here,
        why_lost: bool = False,
        why_late: bool = False,
    ) -> None:
        """`resets` is the function that resets the device, or 'by hand' if the operator does; None: nothing resets it.
        Without `warm_up` nothing is sent before the first trial's own frames, whose first may then be late. With
        `why_lost` trials tell where this host's kernel dropped frames, with `why_late` where slow ones were. Raises
        PlanError if it does not let them."""
        self._ports, self._traffic, self._context, self._opens = ports, traffic, context, opens
        self._resets, self._events = resets, events or DeviceEvents()
        self._rewrites = rewrites
        self._views = all(port.views for port in ports)
        lab = context.get("lab")
        core = lab["dut_core"] if isinstance(lab, dict) else None
        # A device without a core of its own works in the calls of the sender.
        self._device_cpu: int | Literal["sender's"] | None = (
            "sender's" if isinstance(lab, dict) and core is None else core
        )
        self._processes: list[str] = [str(number) for number in lab["processes"]] if isinstance(lab, dict) else []
        self._link_bits_per_second = link_bits_per_second
        self._capture = capture
        places = [port.place(capture.kept_bytes if capture else 0) for port in ports]
        with ExitStack() as stack:
            self._counters = [stack.enter_context(closing(port.open_counters())) for port in ports]
            self._wire = opens(places, traffic.transmitting, traffic.receiving)
            stack.callback(self._wire.close)
            self._drops = stack.enter_context(closing(DropWatch(ports))) if why_lost else None
            self._hops = stack.enter_context(closing(HopWatch(ports))) if why_late else None
            self._opened = stack.pop_all()
        self._running: WiredTrial | None = None
        self._listener: ExportListener | None = None
        self._warm = not warm_up or is_inside()
        cpus = sorted(os.sched_getaffinity(0) - {core})[:SENDERS_CPUS]
        self._full_speed = None if is_inside() else FullSpeed(cpus)

    @property
    def capabilities(self) -> Capabilities:
        """The largest frame is what every port's MTU allows: Ethernet header, a tag and FCS are not in it."""
        senders = [self._ports[port].engine for port in self._traffic.transmitting]
        receivers = [self._ports[port] for port in self._traffic.receiving]
        engines = list(dict.fromkeys(senders + [port.engine for port in receivers]))
        return Capabilities(
            engine="-".join(engines),
            link_bits_per_second=self._link_bits_per_second,
            min_frame_bytes=self._traffic.least_frame_bytes,
            max_frame_bytes=min(port.mtu_bytes for port in self._ports)
            + HEADER_AND_FCS_BYTES
            + self._traffic.tag_bytes,
            simulated=False,
            on_host=not is_inside(),
            exact=is_inside(),
            resolution_ns=VIRTUAL_NS if is_inside() else 0.0,
            transmit_stamp=", ".join(TRANSMIT_STAMPS[engine] for engine in dict.fromkeys(senders)),
            receive_stamp=", ".join(dict.fromkeys(port.receive_stamp for port in receivers)),
            abilities=_ABILITIES | self._further(senders),
            resets="on command" if callable(self._resets) else self._resets,
            events=self._events.names,
        )

    def _further(self, senders: Sequence[str]) -> set[Ability]:
        """Abilities that only some ports have."""
        found: set[Ability] = {"marks"} if self._views else set()
        if set(senders) == {"xdp"} and all(port.on_host for port in self._ports):
            found.add("batches")
        if self._opens is opened_here:
            found |= {"drops", "exports"}
        return found

    def start(self, trial: Trial, stream: int, seed: int, frames: FrameSink | None = None) -> None:
        """Begins the trial's phases on a thread of their own; `stream` is the number of its first one."""
        if self._running is not None:
            raise EngineError("a trial is running: finish it first")
        reset = self._resets if callable(self._resets) else None
        if trial.reset_after_ns is not None and reset is None:
            raise PlanError("dut", "the engine cannot reset the device in a trial", "reset it by hand, or use a lab")
        self._events.check(trial.events)
        found = watched(self._traffic, trial, self._views)
        if found is not None and not self._views:
            raise EngineError("the ports were not opened to watch changes")
        load: CoreLoad | Callable[..., CoreLoad]
        openings: list[Callable[..., CoreLoad]] = []
        if trial.opening is None:
            if self._rewrites is not None:
                self._rewrites(self._traffic.tables(trial), stream)
            load = self._load(trial, stream, seed, found)
        else:
            if self._rewrites is not None:
                raise PlanError("dut", "lab:faulty rewrites no connections that a device opens", "leave rewrite out")
            if not self._views:
                raise EngineError("the ports were not opened to see from where frames come")
            if trial.opening.forget is not None:
                self._events.check([trial.opening.forget])
            # Each load of the opening has one stream, and the numbers of the trial's own are behind these.
            for number, own in enumerate(trial.opening_loads):
                openings.append(partial(self._load, own, stream + number, seed))
            load = partial(self._load, trial, stream + len(openings), seed)
        # The first batches may be late, as any others: what they have in common is measured.
        # An exporter that is slower than the ports would still be busy with those of the warm-up.
        if not self._warm and trial.batch_frames is None and trial.exporting is None:
            warm_up = self._load(self._warm_up(trial), _WARM_UP_STREAM, 0)
            self._warm = True
        else:
            warm_up = None
        self._running = WiredTrial(
            self._ports,
            self._counters,
            self._wire,
            trial,
            load,
            self._traffic.learning(),
            warm_up,
            frames,
            self._begin_capture,
            reset,
            self._events,
            self._traffic.streams_beside(trial),
            self._device_cpu,
            self._processes,
            self._full_speed if trial.at_full_speed else None,
            found,
            openings,
            self._drops,
            self._hops,
            self._listens(trial),
            self._traffic.tables(trial) if trial.exporting else (),
            stream + len(openings),
        )
        self._running.start()

    def wait(self, seconds: float) -> Progress:
        """Live counts; the elapsed time is that of the whole trial, with waits."""
        running = self._started()
        running.join(seconds)
        # Before the load the wire carries learning frames and the warm-up, which are not counted.
        offered, forwarded, _ = self._wire.progress() if running.loading.is_set() else (0, 0, False)
        return Progress(
            offered_frames=offered,
            forwarded_frames=forwarded,
            finished=not running.is_alive(),
            elapsed_s=time.monotonic() - running.began_s,
            expected_s=running.expected_s,
            streams=progress_of(self._wire.streams()) if running.loading.is_set() else (),
        )

    def switch(self, flows: Sequence[int], state: Literal["going", "paused", "ended"]) -> bool:
        """Takes effect within 0.1 s: departures are prepared so far ahead."""
        if self._running is None or not self._running.switches:
            raise EngineError("no trial runs whose flows can be switched")
        return self._running.switch(flows, state)

    def load_begun_ns(self) -> int | None:
        """On the clock of the frames' timestamps."""
        running = self._running
        return self._wire.start_ns() if running is not None and running.loading.is_set() else None

    def longest_gaps(self) -> Sequence[Gap | None]:
        """As the thread that keeps the account answers; over two hosts it is another host's."""
        running = self._running
        found = self._wire.longest_gaps() if running is not None and running.loading.is_set() else None
        return [None if gap is None else Gap(*gap) for gap in found or ()]

    def stop(self) -> None:
        """Ends the trial, in whichever phase it is."""
        if self._running is not None:
            self._running.stop()

    def finish(self) -> tuple[Facts, float]:
        """Facts and the seconds that all phases took. Raises EngineError if a port failed."""
        running = self._started()
        running.join()
        self._running = None
        facts = running.outcome()
        if self._full_speed is not None and running.reads_cpu_times:
            # A device that works on another CPU must not get the sender there.
            self._full_speed.chooses = not _works_elsewhere(facts, running.duration_ns)
        return facts, time.monotonic() - running.began_s

    def close(self) -> None:
        """Stops what runs, completes the capture, detaches programs, closes sockets."""
        self.stop()
        if self._running is not None:
            self._running.join()
        try:
            if self._capture is not None:
                self._capture.close()
        finally:
            self._opened.close()

    def context(self) -> dict[str, object]:
        """Ports, and what the caller stated about the device between them."""
        ends = [
            {
                "engine": port.engine,
                "interface": port.interface,
                "mac": port.mac,
                "mtu_bytes": port.mtu_bytes,
                "transmits": number in self._traffic.transmitting,
                "receives": number in self._traffic.receiving,
                "stamps": None if port.stamps is None else asdict(port.stamps),
                "phc": port.phc,
            }
            for number, port in enumerate(self._ports)
        ]
        own = {
            "engine": self.capabilities.engine,
            "link_bits_per_second": self._link_bits_per_second,
            "ports": ends,
            "traffic": self._traffic.summary(),
            "capture": None if self._capture is None else self._capture.context(),
        }
        return self._context | own

    def _started(self) -> WiredTrial:
        if self._running is None:
            raise EngineError("no trial was started")
        return self._running

    def _listens(self, trial: Trial) -> ExportListener | None:
        """What keeps the device's exports, if they are asked for: opened once for all trials."""
        if trial.exporting is None:
            return None
        if self._listener is None:
            from keisoku.subjects.device.engine.export_listener import ExportListener  # few trials listen for exports

            lab = self._context.get("lab")
            self._listener = ExportListener(trial.exporting, lab.get("exports") if isinstance(lab, dict) else None)
            self._opened.callback(self._listener.close)
        return self._listener

    def _begin_capture(self) -> None:
        if self._capture is not None:
            sending, receiving = self._traffic.transmitting, self._traffic.receiving
            ports = enumerate(self._ports)
            self._capture.begin(
                self._wire, [port.captured(number in sending, number in receiving) for number, port in ports]
            )

    def _load(
        self,
        trial: Trial,
        first_stream: int,
        seed: int,
        found: Watched | None = None,
        connecting: Connecting | None = None,
    ) -> CoreLoad:
        tables, streams = self._traffic.tables(trial, connecting), self._traffic.streams(trial)
        promiscuous = filtered_at(streams, tables, self._traffic.routes, [port.mac for port in self._ports])
        if found is not None or any(stream.among for stream in streams):
            # A frame that leaves by another port, or whose address or tag was rewritten, must not be lost in the filter
            # of a NIC.
            promiscuous = list(self._traffic.receiving)
        expected = None if found is None else (parts(found.expected), list(found.free_bits))
        words = None if connecting is None else PLACES
        load = trial.load(streams, first_stream, seed, promiscuous, found is not None, words)
        return CoreLoad(load, parts(tables), expected)

    def _warm_up(self, trial: Trial) -> Trial:
        speed = self._link_bits_per_second
        least = self._traffic.least_frame_bytes
        return Trial(
            purpose="warm-up",
            frame_bytes=least,
            frames_per_second=_BEYOND_ANY_PORT_FPS if speed is None else maximum_frames_per_second(speed, least),
            duration_ns=round(WARM_UP_S * NS_PER_S),
            phases=Phases(learning=False, learning_wait_ns=0, drain_ns=WARM_UP_DRAIN_NS, rest_ns=0),
        )
