"""The engine for real ports: ports of this host, with a device between them.

Carries out a trial with the phases of RFC 2544 §23 on the core's `Wire`; the ports stay open from
trial to trial. It never decides what is measured and never uses an interface it was not given.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Literal

from pyroute2 import NetlinkError

from keisoku._core import Wire
from keisoku.errors import EngineError, PlanError
from keisoku.ground.frame.rates import HEADER_AND_FCS_BYTES, maximum_frames_per_second
from keisoku.ground.frame.variants import Frames
from keisoku.ground.host.cpu_counters import CpuCounters, counted
from keisoku.ground.host.cpu_time import of_processes
from keisoku.ground.host.full_speed import FullSpeed
from keisoku.ground.virtual_kernel.machine import is_inside
from keisoku.subjects.device.engine.address_filter import filtered_at
from keisoku.subjects.device.engine.connecting import INITIATOR, PLACES, Connecting
from keisoku.subjects.device.engine.cpu_times import CpuTimes
from keisoku.subjects.device.engine.device_events import DeviceEvents, EventThread
from keisoku.subjects.device.engine.drop_watch import DropWatch
from keisoku.subjects.device.engine.engine import FrameSink, Progress, progress_of
from keisoku.subjects.device.engine.hop_watch import HopWatch
from keisoku.subjects.device.engine.port_capture import PortCapture
from keisoku.subjects.device.engine.port_counters import Counters, read_all
from keisoku.subjects.device.engine.stack_samples import StackSamples
from keisoku.subjects.device.engine.told_errors import ToldErrors
from keisoku.subjects.device.engine.traffic import Traffic
from keisoku.subjects.device.engine.trial_thread import TrialThread
from keisoku.subjects.device.engine.watched import Parts, Watched, parts, watched
from keisoku.subjects.device.engine.wired_port import TRANSMIT_STAMPS, WiredPort
from keisoku.subjects.device.record.capabilities import Ability, Capabilities
from keisoku.subjects.device.record.event import Happened
from keisoku.subjects.device.record.facts import Facts, Receiver
from keisoku.subjects.device.record.gaps import Gap
from keisoku.subjects.device.record.trial import NS_PER_S, Phases, Trial
from keisoku.subjects.device.record.validity import still_arrive

WARM_UP_S = 0.2
"""Before the first trial the path carries its highest load for so long: memory that is used for the first time
slows down the first hundred thousand frames (measured: 100 ms of lag in the first trial of a run, none after this)."""
_WARM_UP_STREAM = 0
_WARM_UP_DRAIN_NS = NS_PER_S // 100
_BEYOND_ANY_PORT_FPS = 100e6
_REFUSED = "hardware refused: "
"""How a receiver reports this (`core/src/interface/stamping/received.rs`)."""
LEARNING_FRAMES = 10
"""In each direction: enough for a bridge to learn and for a router to resolve the next hop."""
_ABILITIES: frozenset[Ability] = frozenset({"anywhere", "commands", "compare", "connections", "multicast", "switches"})
_TAKE_S = 0.05
"""How often rows of frames are taken from the core, which keeps 33 million."""


Rewrites = Callable[[Sequence[Frames], int], None]
"""Tells a device, before a trial, of the frames of its streams and the number of the first one."""


OpensWire = Callable[[Sequence[dict[str, object]], list[int], list[int]], Wire]
"""Opens ports, as `core/src/port/opening.rs` reads them, of which some send and some receive."""


def opened_here(places: Sequence[dict[str, object]], transmitting: list[int], receiving: list[int]) -> Wire:
    """Ports of this host."""
    return Wire(json.dumps(places), transmitting, receiving)


class UnstampedError(EngineError):
    """The hardware of a port stamped no frame although it was to."""

    def __init__(self, name: str, port: int, reason: str) -> None:
        super().__init__(f"{name}: {reason}; give --stamps software")
        self.port = port
        self.reason = reason
        """A clause."""


def _why_unstamped(receiver: Receiver) -> str | None:
    if _REFUSED in receiver.stamp:
        return f"the driver refused hardware timestamps: {receiver.stamp.partition(_REFUSED)[2]}"
    stamped = receiver.stamped
    if stamped is not None and stamped.by_kernel and not stamped.by_hardware:
        return f"the driver accepted hardware timestamps but stamped none of {stamped.by_kernel} received frames"
    return None


def check_stamps(name: str, receiver: Receiver) -> None:
    """Raises UnstampedError if the hardware of a port stamped no frame although it was to."""
    if reason := _why_unstamped(receiver):
        raise UnstampedError(name, receiver.port, reason)


VIRTUAL_NS = 512.0
"""In virtual time: each reading of the clock moves it on by 256 ns, and a frame is stamped twice."""


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
        senders_cpu = min(os.sched_getaffinity(0))
        core = lab["dut_core"] if isinstance(lab, dict) else None
        # A device without a core of its own works in the calls of the sender.
        self._device_cpu: int | None = senders_cpu if isinstance(lab, dict) and core is None else core
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
        self._running: _Running | None = None
        self._warm = not warm_up or is_inside()
        self._full_speed = None if is_inside() else FullSpeed(senders_cpu)

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
            found.add("drops")
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
        load: _Load | Callable[..., _Load]
        openings: list[Callable[..., _Load]] = []
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
        warm_up = None if self._warm else self._load(self._warm_up(trial), _WARM_UP_STREAM, 0)
        self._warm = True
        self._running = _Running(
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
        return running.outcome(), time.monotonic() - running.began_s

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

    def _started(self) -> _Running:
        if self._running is None:
            raise EngineError("no trial was started")
        return self._running

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
    ) -> _Load:
        tables, streams = self._traffic.tables(trial, connecting), self._traffic.streams(trial)
        promiscuous = filtered_at(streams, tables, self._traffic.routes, [port.mac for port in self._ports])
        if found is not None or any(stream.among for stream in streams):
            # A frame that leaves by another port, or whose address or tag was rewritten, must not be lost in the filter
            # of a NIC.
            promiscuous = list(self._traffic.receiving)
        expected = None if found is None else (parts(found.expected), list(found.free_bits))
        words = None if connecting is None else PLACES
        load = trial.load(streams, first_stream, seed, promiscuous, found is not None, words)
        return _Load(load, parts(tables), expected)

    def _warm_up(self, trial: Trial) -> Trial:
        speed = self._link_bits_per_second
        least = self._traffic.least_frame_bytes
        return Trial(
            purpose="warm-up",
            frame_bytes=least,
            frames_per_second=_BEYOND_ANY_PORT_FPS if speed is None else maximum_frames_per_second(speed, least),
            duration_ns=round(WARM_UP_S * NS_PER_S),
            phases=Phases(learning=False, learning_wait_ns=0, drain_ns=_WARM_UP_DRAIN_NS, rest_ns=0),
        )


@dataclass(frozen=True)
class _Load:
    """What the core is given."""

    trial: str
    tables: list[Parts]
    expected: tuple[list[Parts], list[tuple[int, int]]] | None = None
    """The same frames as they are to arrive, where changes are watched, and bytes with their free bits."""


@dataclass(frozen=True)
class _Opened:
    """What is known of the connections before the load."""

    connecting: Connecting
    loads: list[Facts]
    then: list[bytes]
    """The words of the loads after the first."""
    told: ToldErrors
    forgot_ns: int | None

    def facts(self, answers: bytes | None) -> dict[str, object]:
        """Fields of the trial's facts; `answers`: the words of the load, if it answered. Where connections were
        established before, it did not answer each of them."""
        then = self.then or ([] if answers is None else [answers])
        opened = self.connecting.outcome(then, self.forgot_ns, self.told.take())
        return {"opening": self.loads[0], "handshake": self.loads[1:], "opened": opened}


class _Running(TrialThread):
    """One trial and its phases."""

    def __init__(
        self,
        ports: Sequence[WiredPort],
        counters: Sequence[Counters],
        wire: Wire,
        trial: Trial,
        load: _Load | Callable[..., _Load],
        learning: list[tuple[int, bytes]],
        warm_up: _Load | None,
        frames: FrameSink | None,
        begin_capture: Callable[[], None],
        reset: Callable[[], None] | None,
        events: DeviceEvents,
        streams_beside: int,
        device_cpu: int | None,
        processes: Sequence[str],
        full_speed: FullSpeed | None,
        watched: Watched | None,
        openings: Sequence[Callable[..., _Load]],
        drops: DropWatch | None,
        hops: HopWatch | None,
        first_stream: int,
    ) -> None:
        """Where `openings` open connections, each of them and then `load` is made of what is known of these by then,
        `connecting`."""
        super().__init__()
        self._openings = openings
        self._drops, self._hops, self._first_stream = drops, hops, first_stream
        self._watched = watched
        self._full_speed = full_speed
        self._device_cpu, self._processes = device_cpu, processes
        self._ports, self._counters, self._wire, self._trial, self._load = ports, counters, wire, trial, load
        self._learning, self._warm_up, self._frames = learning, warm_up, frames
        self._begin_capture = begin_capture
        self._reset, self._events, self._streams_beside = reset, events, streams_beside
        self.loading = threading.Event()
        self._happened: list[Happened] = []
        self.switches = bool(trial.switches)
        self.expected_s = trial.seconds
        self.began_s = time.monotonic()

    def carry_out(self) -> None:
        """RFC 2544 §23 b to e; a)'s routing updates have no meaning for a static lab."""
        # Some drivers reset their link for the program of an xdp port.
        self._wire.ready(not self._trial.links_may_fail)
        for port in self._ports:
            port.check_speed()
        self._learn()
        if self._warm_up is not None:
            self._carry_warm_up(self._warm_up)
        # Not before: a file full of the warm-up's frames would be useless as evidence.
        self._begin_capture()
        if self._full_speed is not None:
            self._full_speed.wait(self.stopped)
        if not self.stopped.is_set():
            with ExitStack() as stack:
                opened = self._open(stack)
                whole = self._followed()
                if opened is not None:
                    whole = whole.model_copy(update=opened.facts(self._answers()))
            if self._watched is not None:
                whole = self._watched.complete(whole)
            whole = whole.set_apart(self._streams_beside).model_copy(update={"happened": self._happened})
            self._facts = self._check_stamps(whole)
        self.stopped.wait(self._trial.phases.rest_ns / NS_PER_S)

    def _carry_warm_up(self, load: _Load) -> None:
        """A slow device may hold some of its frames for longer: its queue would be full in the trial, and if it were to
        forget all connections before, they would be new ones. They are waited for as a trial's own."""
        facts = self._check_stamps(Facts.model_validate_json(self._carry(load, threading.Event(), None)))
        sent_ns, arrived_ns = facts.sent.last_sent_ns, [port.last_received_ns for port in facts.receivers]
        if any(last_ns is None or still_arrive(sent_ns, last_ns, _WARM_UP_DRAIN_NS) for last_ns in arrived_ns):
            self.stopped.wait(self._trial.phases.drain_ns / NS_PER_S)

    def _counted(self, carry: Callable[[], str]) -> Facts:
        """The facts of a load, with the kernel's counts at the ports."""
        before = read_all(self._counters, dict(self._wire.taken()))
        asked = self._trial.processes
        processes = None if asked is None else (*asked, *self._processes)
        with (
            StackSamples(self._trial, processes or ()) as samples,
            CpuTimes(processes) as cpu_times,
            CpuCounters(self._threads(processes)) as counters,
        ):
            facts = json.loads(carry())
        # At a host that only receives no port sends.
        listed = [tuple(batch) for port in facts["transmitters"] for batch in port["sent"].pop("listed_batches", [])]
        for core in facts["interference"]["cores"]:
            core["of_device"] = core["cpu"] == self._device_cpu
        after = read_all(self._counters, dict(self._wire.taken()))
        changes = {number: after[number].since(before[number]) for number in range(len(before))}
        sending = {core["cpu"] for core in facts["interference"]["cores"] if core["speed"] is not None}
        beside = cpu_times.facts(sending) | samples.facts(sending, listed) | {"cpu_counters": counters.found}
        return Facts.model_validate(facts | {"counters": changes} | beside)

    def _followed(self) -> Facts:
        """The facts of the trial's load, with where the kernel dropped its frames or kept them if that is watched."""
        watches = [watch for watch in (self._drops, self._hops) if watch is not None]
        load = self._load
        if watches:
            assert isinstance(load, _Load)
            streams = len(json.loads(load.trial)["streams"])
            for watch in watches:
                watch.begin(self._first_stream, streams)
        facts = self._counted(self._carry_with_events)
        for watch in watches:
            facts = watch.end(facts, self._first_stream, self._wire.began_ns())
        return facts

    def _threads(self, processes: Sequence[str] | None) -> list[int]:
        """Those whose instructions belong to the frames of a trial that times batches: of this process, of the kernel
        where it carries packets, and of `processes`."""
        if self._trial.batch_frames is None or self._trial.sample_every_ns is not None or not counted():
            return []
        return [thread for _, thread, _ in of_processes([str(os.getpid()), *(processes or ())])]

    def _open(self, stack: ExitStack) -> _Opened | None:
        """Opens the connections, and establishes them if that is asked for. The load is made of them; `stack` closes
        what listens for the device's errors."""
        asked, make = self._trial.opening, self._load
        if asked is None:
            return None
        assert callable(make)
        forgot_ns = None
        if asked.forget is not None:
            begun_ns = time.monotonic_ns()
            self._events.work(asked.forget)()
            forgot_ns = time.monotonic_ns() - begun_ns
        self.stopped.wait(asked.wait_ns / NS_PER_S)
        connecting = Connecting(asked)
        facts: list[Facts] = []
        words: list[bytes] = []
        initiator = self._ports[INITIATOR]
        told = stack.enter_context(closing(ToldErrors(initiator.interface, initiator.namespace)))
        last = len(self._openings) - 1
        for number, opening in enumerate(self._openings):
            # The last of a handshake is a frame of an established connection.
            load = opening(connecting=replace(connecting, established=number == last > 0))
            facts.append(self._counted(partial(self._carry, load, threading.Event(), None)))
            words.append(self._wire.words()[0])
            connecting = replace(connecting, words=words[0])
        connecting = replace(connecting, established=last > 0)
        self._load = make(connecting=connecting)
        self.stopped.wait(asked.settle_ns / NS_PER_S)
        return _Opened(connecting, facts, words[1:], told, forgot_ns)

    def _answers(self) -> bytes | None:
        """The words of the flow that answers, if there is one."""
        answering = [flow.connections == "answer" for flow in self._trial.flows]
        return self._wire.words()[answering.index(True)] if True in answering else None

    def switch(self, flows: Sequence[int], state: str) -> bool:
        """False if the load is over; before it begins this waits for it."""
        while not self.loading.wait(_TAKE_S):
            if not self.is_alive():
                return False
        return self._wire.switch(list(flows), state)

    def stop(self) -> None:
        """Ends every phase early."""
        self.stopped.set()
        self._wire.stop()

    def _learn(self) -> None:
        if not self._trial.phases.learning:
            return
        frames = Counter(port for port, _ in self._learning)
        for port, frame in self._learning:
            self._wire.learn(port, frame, max(1, LEARNING_FRAMES // frames[port]))
        self.stopped.wait(self._trial.phases.learning_wait_ns / NS_PER_S)

    def _check_stamps(self, facts: Facts) -> Facts:
        """Calibrations rely on the chosen timestamps: if the driver refuses them later, or takes none although it
        accepted to, the trial fails, unless the port may have the kernel's instead."""
        receivers = []
        for receiver in facts.receivers:
            port = self._ports[receiver.port]
            try:
                if port.phc is not None:
                    check_stamps(port.interface, receiver)
            except UnstampedError:
                if port.stamps is None or not port.stamps.kernel_instead:
                    raise
                receiver = receiver.model_copy(update={"stamped": None})
            receivers.append(receiver)
        return facts.model_copy(update={"receivers": receivers})

    def _carry_with_events(self) -> str:
        """The load, and what the trial asks to be done to the device in the middle of it."""
        after_ns, reset = self._trial.reset_after_ns, self._reset
        works = [(event.after_ns, self._events.work(event)) for event in self._trial.events]
        if after_ns is not None and reset is not None:
            works.append((after_ns, _resetting(reset)))
        if not works:
            return self._carry(self._load, self.loading, self._frames)
        thread = EventThread(works, self._wire.start_ns)
        thread.start()
        try:
            return self._carry(self._load, self.loading, self._frames)
        finally:
            self._happened = thread.end()[: len(self._trial.events)]

    def _carry(self, load: _Load | Callable[..., _Load], begun: threading.Event, frames: FrameSink | None) -> str:
        assert isinstance(load, _Load)
        changed_only = self._trial.changes == "changed"
        # Only the trial's own load is followed.
        hops = self._hops.core if self._hops is not None and load is self._load else None
        self._wire.start(load.trial, load.tables, frames is not None, changed_only, load.expected, hops)
        begun.set()
        if self.stopped.is_set():  # it came while the load was about to begin
            self._wire.stop()
        if frames is None:
            return self._wire.finish()
        while not self._wire.progress()[2]:
            frames.append(self._wire.take_frames()[0])
            time.sleep(_TAKE_S)
        facts = self._wire.finish()
        entries, lost = self._wire.take_frames()
        frames.append(entries)
        if lost:
            raise EngineError(f"frames: {lost} rows could not be written fast enough; lower the rate")
        return facts


def _resetting(reset: Callable[[], None]) -> Callable[[], int | None]:
    def work() -> None:
        try:
            reset()
        except (EngineError, OSError, NetlinkError) as error:
            raise EngineError(f"the device could not be reset: {error}") from error

    return work
