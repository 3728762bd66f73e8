"""One trial on real ports: opening connections, learning frames, the load, what is watched meanwhile, and its end.

It runs in a thread of its own on the core's `Wire`, and decides nothing about what is measured.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from pyroute2 import NetlinkError

from keisoku._core import Wire
from keisoku.errors import EngineError
from keisoku.ground.frame.variants import Frames
from keisoku.ground.host.cpu_counters import CpuCounters, counted
from keisoku.ground.host.cpu_time import of_processes
from keisoku.ground.host.full_speed import FullSpeed
from keisoku.subjects.device.engine.connecting import INITIATOR, Connecting
from keisoku.subjects.device.engine.cpu_times import CpuTimes
from keisoku.subjects.device.engine.device_events import DeviceEvents, EventThread
from keisoku.subjects.device.engine.drop_watch import DropWatch
from keisoku.subjects.device.engine.engine import FrameSink
from keisoku.subjects.device.engine.hop_watch import HopWatch
from keisoku.subjects.device.engine.port_counters import Counters, read_all
from keisoku.subjects.device.engine.stack_samples import StackSamples
from keisoku.subjects.device.engine.told_errors import ToldErrors
from keisoku.subjects.device.engine.trial_thread import TrialThread
from keisoku.subjects.device.engine.watched import Parts, Watched
from keisoku.subjects.device.engine.wired_port import WiredPort
from keisoku.subjects.device.record.event import Happened
from keisoku.subjects.device.record.facts import Facts, Receiver
from keisoku.subjects.device.record.trial import NS_PER_S, Trial
from keisoku.subjects.device.record.validity import still_arrive

if TYPE_CHECKING:
    from keisoku.subjects.device.engine.export_listener import ExportListener

_REFUSED = "hardware refused: "
"""How a receiver reports this (`core/src/interface/stamping/received.rs`)."""
WARM_UP_DRAIN_NS = NS_PER_S // 100
LEARNING_FRAMES = 10
"""In each direction: enough for a bridge to learn and for a router to resolve the next hop."""
_TAKE_S = 0.05
"""How often rows of frames are taken from the core, which keeps 33 million."""


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


@dataclass(frozen=True)
class CoreLoad:
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
        opened = self.connecting.outcome(then, self.forgot_ns, self.told.drain())
        return {"opening": self.loads[0], "handshake": self.loads[1:], "opened": opened}


class WiredTrial(TrialThread):
    """One trial and its phases."""

    def __init__(
        self,
        ports: Sequence[WiredPort],
        counters: Sequence[Counters],
        wire: Wire,
        trial: Trial,
        load: CoreLoad | Callable[..., CoreLoad],
        learning: list[tuple[int, bytes]],
        warm_up: CoreLoad | None,
        frames: FrameSink | None,
        begin_capture: Callable[[], None],
        reset: Callable[[], None] | None,
        events: DeviceEvents,
        streams_beside: int,
        device_cpu: int | Literal["sender's"] | None,
        processes: Sequence[str],
        full_speed: FullSpeed | None,
        watched: Watched | None,
        openings: Sequence[Callable[..., CoreLoad]],
        drops: DropWatch | None,
        hops: HopWatch | None,
        exports: ExportListener | None,
        tables: Sequence[Frames],
        first_stream: int,
    ) -> None:
        """Where `openings` open connections, each of them and then `load` is made of what is known of these by then,
        `connecting`."""
        super().__init__()
        self._openings = openings
        self._drops, self._hops, self._first_stream = drops, hops, first_stream
        self._exports, self._tables = exports, tables
        self._watched = watched
        self._full_speed = full_speed
        self._device_cpu, self._processes = device_cpu, processes
        self._senders_cpu: int | None = None
        self._ports, self._counters, self._wire, self._trial, self._load = ports, counters, wire, trial, load
        self._learning, self._warm_up, self._frames = learning, warm_up, frames
        self._begin_capture = begin_capture
        self._reset, self._events, self._streams_beside = reset, events, streams_beside
        self.loading = threading.Event()
        self._happened: list[Happened] = []
        self.switches = bool(trial.switches)
        self.reads_cpu_times, self.duration_ns = trial.processes is not None, trial.duration_ns
        self.expected_s = trial.seconds
        self.began_s = time.monotonic()

    def carry_out(self) -> None:
        """RFC 2544 §23 b to e; a)'s routing updates have no meaning for a static lab."""
        trial = self._trial
        # Some drivers reset their link for the program of an xdp port.
        self._wire.ready(not trial.links_may_fail)
        for port in self._ports:
            port.check_speed()
        self._learn()
        if self._warm_up is not None:
            self._carry_warm_up(self._warm_up)
        # Not before: a file full of the warm-up's frames would be useless as evidence.
        self._begin_capture()
        if self._full_speed is not None:
            self._senders_cpu = self._full_speed.wait(self.stopped)
        if not self.stopped.is_set():
            with ExitStack() as stack:
                if self._exports is not None and trial.exporting is not None:
                    self._exports.begin(trial.exporting, self.stopped)
                opened = self._open(stack)
                whole = self._followed()
                if self._exports is not None and trial.exporting is not None:
                    began_ns = self._wire.began_ns()
                    whole = self._exports.complete(trial.exporting, whole, self._tables, began_ns, self.stopped)
                if opened is not None:
                    whole = whole.model_copy(update=opened.facts(self._answers()))
            if self._watched is not None:
                whole = self._watched.complete(whole)
            whole = whole.set_apart(self._streams_beside).model_copy(update={"happened": self._happened})
            self._facts = self._check_stamps(whole)
        self.stopped.wait(self._trial.phases.rest_ns / NS_PER_S)

    def _carry_warm_up(self, load: CoreLoad) -> None:
        """A slow device may hold some of its frames for longer: its queue would be full in the trial, and if it were to
        forget all connections before, they would be new ones. They are waited for as a trial's own."""
        facts = self._check_stamps(Facts.model_validate_json(self._carry(load, threading.Event(), None)))
        sent_ns, arrived_ns = facts.sent.last_sent_ns, [port.last_received_ns for port in facts.receivers]
        if any(last_ns is None or still_arrive(sent_ns, last_ns, WARM_UP_DRAIN_NS) for last_ns in arrived_ns):
            self.stopped.wait(self._trial.phases.drain_ns / NS_PER_S)

    def _counted(self, carry: Callable[[], str]) -> Facts:
        """The facts of a load, with the kernel's counts at the ports."""
        before = read_all(self._counters, dict(self._wire.taken_frames()))
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
            is_senders = core["speed"] is not None
            core["of_device"] = is_senders if self._device_cpu == "sender's" else core["cpu"] == self._device_cpu
        after = read_all(self._counters, dict(self._wire.taken_frames()))
        changes = {number: after[number].since(before[number]) for number in range(len(before))}
        sending = {core["cpu"] for core in facts["interference"]["cores"] if core["speed"] is not None}
        beside = cpu_times.facts(sending) | samples.facts(sending, listed) | {"cpu_counters": counters.found}
        return Facts.model_validate(facts | {"counters": changes} | beside)

    def _followed(self) -> Facts:
        """The facts of the trial's load, with where the kernel dropped its frames or kept them if that is watched."""
        watches = [watch for watch in (self._drops, self._hops) if watch is not None]
        load = self._load
        if watches:
            assert isinstance(load, CoreLoad)
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

    def _carry(self, load: CoreLoad | Callable[..., CoreLoad], begun: threading.Event, frames: FrameSink | None) -> str:
        assert isinstance(load, CoreLoad)
        changed_only = self._trial.changes == "changed"
        # Only the trial's own load is followed.
        hops = self._hops.core if self._hops is not None and load is self._load else None
        trial = load.trial
        if self._senders_cpu is not None:
            trial = json.dumps(json.loads(trial) | {"senders_cpu": self._senders_cpu})
        self._wire.start(trial, load.tables, frames is not None, changed_only, load.expected, hops)
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
