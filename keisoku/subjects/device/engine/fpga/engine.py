"""The engine for the FPGA instrument, a board or its Verilated model: hardware sends, timestamps and counts every
frame.

It carries out the phases of RFC 2544 §23 by the instrument's own clock, which for the model is virtual time. It never
handles single frames, and accesses the instrument from one thread only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from keisoku.errors import EngineError, PlanError
from keisoku.ground.fpga.events import Event
from keisoku.ground.fpga.expectation import Expectation
from keisoku.ground.fpga.reading import Counted, Generated
from keisoku.ground.fpga.sim import Rewriting
from keisoku.ground.frame.expectation import applied, expectations
from keisoku.ground.simulated_device.faults import Rewrite
from keisoku.subjects.device.engine.engine import FrameSink, Progress
from keisoku.subjects.device.engine.fpga.changes import Changed, Comparison, changed, comparisons
from keisoku.subjects.device.engine.fpga.facts import Slice, tracked
from keisoku.subjects.device.engine.fpga.frames import changed_rows, check_all_told, rows, variation
from keisoku.subjects.device.engine.fpga.load import (
    GAP_BYTES,
    LEAST_BYTES,
    MOST_BYTES,
    PREAMBLE_BYTES,
    PortLoad,
    loads,
    poisson_period,
)
from keisoku.subjects.device.engine.fpga.tester import Tester
from keisoku.subjects.device.engine.traffic import Traffic
from keisoku.subjects.device.engine.trial_thread import TrialThread
from keisoku.subjects.device.engine.watched import Watched, watched
from keisoku.subjects.device.record.capabilities import Ability, Capabilities
from keisoku.subjects.device.record.counts import Buckets, Sent
from keisoku.subjects.device.record.facts import Facts, Receiver, StreamFacts, Transmitter
from keisoku.subjects.device.record.gaps import Gap
from keisoku.subjects.device.record.trial import NS_PER_S, Poisson, Trial

ABILITIES: frozenset[Ability] = frozenset({"compare", "short_gap", "undersize", "crc", "dribble", "alignment"})
RESOLUTION_NS = 8.0
"""Single frames are timestamped in steps of 7.8 ns; means have a finer resolution."""
MEAN_ERROR_NS = 0.7
"""Error that the quantisation leaves in a mean where all clocks are locked together (docs/fpga.md, the time base)."""
LEARNING_FRAMES = 10
"""In each direction, as the engine for real ports does it."""
_BINS = 2048
_LEAST_SHIFT = 3
_PROBE_STREAM = 0xFFFF
"""A stream number that no trial uses (`keisoku/subjects/device/runner.py`)."""
_PROBE_FRAMES = 16
_WRAP = 1 << 48
_LEAD_LOOKS = 3
"""A trial begins so many pauses after its generators were armed."""
_LONGEST_LEAD_NS = 60_000_000_000
"""A link on which writing them takes so long, in time of the instrument, is too slow."""


class FpgaEngine:
    """Streams between the two ports of an instrument.

    `ports` are the board's for each of the plan's; `traffic` counts the plan's. Raises EngineError if a port of it has
    no link.
    """

    def __init__(
        self,
        tester: Tester,
        ports: Sequence[int],
        traffic: Traffic,
        context: dict[str, object],
        dut_simulated: bool,
        answer: Callable[[], None] = lambda: None,
        frames_every: int = 1,
        rewrite: Sequence[Rewrite] = (),
    ) -> None:
        """`answer` is called again and again during trials, to answer for the tester's hosts. `rewrite` is what a
        simulated device between the ports rewrites.

        Where rows of single frames are kept, one in `frames_every` that arrive whole has one.
        """
        self._frames_every, self._rewrite = frames_every, rewrite
        self._tester, self._ports, self._traffic = tester, list(ports), traffic
        self._context, self._dut_simulated, self._answer = context, dut_simulated, answer
        rates = [tester.link_bits_per_second(port) for port in self._ports]
        down = next((port for port, rate in zip(self._ports, rates, strict=True) if rate is None), None)
        if down is not None:
            raise EngineError(f"port {down} of {tester.name} has no link: connect the cable and set the other side up")
        self._bits_per_second = float(min(rate for rate in rates if rate is not None))
        self._ranges: dict[tuple[object, ...], tuple[int, int]] = {}
        self._running: _Running | None = None
        self._watched: Watched | None = None

    @property
    def capabilities(self) -> Capabilities:
        """Errored frames may be smaller than the smallest valid frame."""
        return Capabilities(
            engine="fpga",
            link_bits_per_second=self._bits_per_second,
            min_frame_bytes=max(LEAST_BYTES, self._traffic.least_frame_bytes),
            max_frame_bytes=MOST_BYTES,
            simulated=self._dut_simulated,
            transmit_stamp=", ".join(self._stamp(self._ports[port]) for port in self._traffic.transmitting),
            receive_stamp=", ".join(self._stamp(self._ports[port]) for port in self._traffic.receiving),
            abilities=ABILITIES,
            resolution_ns=RESOLUTION_NS,
            mean_error_ns=MEAN_ERROR_NS,
        )

    def start(self, trial: Trial, stream: int, seed: int, frames: FrameSink | None = None) -> None:
        """Begins the trial's phases on a thread of their own; `stream` is the number of its first one.

        Raises PlanError for what the instrument cannot send or account.
        """
        if self._running is not None:
            raise EngineError("a trial is running: finish it first")
        if trial.duration_ns <= 0:
            raise PlanError("duration", f"{trial.duration_ns} ns is too short", "use a positive number")
        if trial.events:
            problem = "the clock of the instrument is not the host's, so the time of an event would not be known"
            raise PlanError("event", problem, "leave it out and cause it by hand, or use ports of this host")
        if trial.anywhere or any(flow.among for flow in trial.flows):
            raise PlanError("ports", "the instrument counts flows at the port they are meant for", "give two ports")
        if trial.switches:
            raise PlanError(
                "switches", "the instrument starts and ends all flows of a trial together", "leave them out"
            )
        if trial.marks:
            raise PlanError(
                "marks",
                "the FPGA instrument keeps no latencies of marked and lost frames",
                "use xdp, afxdp or packet ports",
            )
        made = [self._on_board(load) for load in loads(self._traffic, trial, self._bits_per_second)]
        self._watched = watched(self._traffic, trial)
        compared = None if self._watched is None else comparisons(self._watched)
        for place, load in enumerate(made):
            self._tester.rewrite(load.transmit, self._rewritings(place, stream + place))
        learning = [(self._ports[port], frame) for port, frame in self._traffic.learning()]
        telling = self._telling(trial, made, stream, frames)
        self._running = _Running(
            self._tester, trial, made, stream, learning, self._ranges, self._answer, telling, compared
        )
        self._running.start()

    def wait(self, seconds: float) -> Progress:
        """Live counts; elapsed and expected time are the instrument's, so their share tells what remains."""
        running = self._started()
        running.join(seconds)
        return replace_finished(running.progress, not running.is_alive())

    def longest_gaps(self) -> Sequence[Gap | None]:
        """It has counters only until the end."""
        return ()

    def load_begun_ns(self) -> int | None:
        """Its clock is not the host's."""
        return None

    def switch(self, flows: Sequence[int], state: Literal["going", "paused", "ended"]) -> bool:
        """Raises EngineError: the instrument cannot switch single flows."""
        raise EngineError("the instrument starts and ends all flows of a trial together")

    def stop(self) -> None:
        """Ends the trial, in whichever phase it is."""
        if self._running is not None:
            self._running.stopped.set()

    def finish(self) -> tuple[Facts, float]:
        """Facts, and the seconds of its own clock that all phases took. Raises EngineError if the link failed."""
        running = self._started()
        running.join()
        self._running = None
        facts = running.outcome()
        if self._watched is not None:
            facts = self._watched.complete(facts)
        return self._in_plan(facts), running.elapsed_ns / NS_PER_S

    def close(self) -> None:
        """Stops what runs and lets go of the instrument."""
        self.stop()
        if self._running is not None:
            self._running.join()
            self._running = None
        self._tester.close()

    def context(self) -> dict[str, object]:
        """The instrument, and the device between its ports."""
        ends = [
            {
                "engine": "fpga",
                "port": port,
                "instrument": self._tester.name,
                "transmits": number in self._traffic.transmitting,
                "receives": number in self._traffic.receiving,
                "phc": None,
            }
            for number, port in enumerate(self._ports)
        ]
        own: dict[str, object] = {
            "engine": "fpga",
            "link_bits_per_second": self._bits_per_second,
            "ports": ends,
            "traffic": self._traffic.summary(),
        }
        sizes = [len(content.frame_bytes or (0,)) for content in self._traffic.contents if content.pacing == Poisson()]
        if sizes:
            own["poisson_gaps"] = f"repeat after {poisson_period(sizes[0])} frames"
        return self._context | own

    def _telling(self, trial: Trial, made: Sequence[PortLoad], stream: int, frames: FrameSink | None) -> _Telling:
        """How single frames are reported. Raises PlanError where there are too many of them."""
        every = self._frames_every if frames is not None and trial.changes != "changed" else 0
        if trial.variation and every > 1:
            problem = "differences of consecutive frames need a row for every frame"
            raise PlanError("frames_every", problem, "use 1, or leave out --frames")
        every = every or int(trial.variation)
        number = {port: place for place, port in enumerate(self._ports)}
        of = {load.receive: (stream + place, number[load.receive]) for place, load in enumerate(made)}
        if not every:
            return _Telling(0, frames, of)
        tag = next((load.tag for load in made if load.tag and load.tag % every), None)
        if tag is not None:
            problem = f"one frame in {every} leaves out the tagged one, frame {tag}"
            raise PlanError("frames_every", problem, f"use a number that divides {tag}")
        room = self._tester.event_room(max(load.duration_ns for load in made))
        wanted = sum(load.frames for load in made)
        if wanted > room * every:
            what = "delay variation needs" if frames is None else f"one row in {every} makes"
            problem = f"{what} {-(-wanted // every):,} events of the instrument, whose memory and link carry {room:,}"
            remedy = "use a shorter trial or a lower rate"
            raise PlanError("frames", problem, remedy + (f", or --frames-every {-(-wanted // room)}" if frames else ""))
        return _Telling(every, frames, of)

    def _rewritings(self, place: int, stream: int) -> list[Rewriting]:
        """What the simulated device makes of a stream's headers, if changes are watched."""
        if self._watched is None:
            return []
        frame, header_bytes = self._watched.sent[place].frame(0), self._watched.sent[place].checked_from
        return [
            Rewriting(
                stream=stream,
                header_bytes=header_bytes,
                header=applied(expectations(rule.changes), frame[:header_bytes], len(frame)),
                frames=None if rule.frames is None else frozenset(rule.frames),
                first=rule.first,
                every=rule.every or 1,
            )
            for rule in self._rewrite
            if rule.stream in (None, place + 1)
        ]

    def _started(self) -> _Running:
        if self._running is None:
            raise EngineError("no trial was started")
        return self._running

    def _stamp(self, port: int) -> str:
        """Clock and point of a port's timestamps: PHYs differ, so a calibration is valid for certain ports only."""
        return f"SFD at the GMII of port {port}, {self._tester.name}"

    def _on_board(self, load: PortLoad) -> PortLoad:
        return replace(load, transmit=self._ports[load.transmit], receive=self._ports[load.receive])

    def _in_plan(self, facts: Facts) -> Facts:
        """The same with the plan's numbers of ports."""
        number = {port: place for place, port in enumerate(self._ports)}
        return facts.model_copy(
            update={
                "streams": [
                    one.model_copy(update={"transmit": number[one.transmit], "receive": number[one.receive]})
                    for one in facts.streams
                ],
                "transmitters": [
                    one.model_copy(update={"port": number[one.port], "stamp": self._stamp(one.port)})
                    for one in facts.transmitters
                ],
                "receivers": [
                    one.model_copy(update={"port": number[one.port], "stamp": self._stamp(one.port)})
                    for one in facts.receivers
                ],
            }
        )


def replace_finished(progress: Progress, finished: bool) -> Progress:
    """State of a trial that may be over."""
    elapsed_s = progress.expected_s if finished else progress.elapsed_s
    return progress.model_copy(update={"finished": finished, "elapsed_s": elapsed_s})


@dataclass(frozen=True)
class _Telling:
    """How single frames of a trial are reported."""

    every: int
    """One frame in so many has a row; 0: none has."""
    sink: FrameSink | None
    of: Mapping[int, tuple[int, int]]
    """The stream, and the plan's port, of each receiving port of the board."""


@dataclass
class _Receiving:
    """State of one stream so far."""

    load: PortLoad
    slices: list[Slice]
    events: list[Event]
    compared: Comparison | None
    """What the headers of its frames are compared with, if they are."""
    begun_ns: int = 0
    """Start of the slice that is being counted, since the start of the trial."""


class _Running(TrialThread):
    """One trial and its phases."""

    def __init__(
        self,
        tester: Tester,
        trial: Trial,
        made: Sequence[PortLoad],
        first_stream: int,
        learning: Sequence[tuple[int, bytes]],
        ranges: dict[tuple[object, ...], tuple[int, int]],
        answer: Callable[[], None],
        telling: _Telling,
        compared: Sequence[Comparison] | None,
    ) -> None:
        super().__init__()
        self._tester, self._trial, self._loads, self._first = tester, trial, list(made), first_stream
        self._learning, self._ranges, self._answer, self._telling = learning, ranges, answer, telling
        self._compared: Sequence[Comparison | None] = compared or [None for _ in made]
        phases = trial.phases
        self._learning_ns = phases.learning_wait_ns if phases.learning else 0
        load_ns = max(load.duration_ns for load in self._loads)
        expected_ns = self._learning_ns + load_ns + phases.drain_ns + phases.rest_ns
        self.progress = Progress(
            offered_frames=0, forwarded_frames=0, finished=False, elapsed_s=0.0, expected_s=expected_ns / NS_PER_S
        )
        self.elapsed_ns = 0
        self._began_ns = 0
        self._start_at_ns = 0

    def carry_out(self) -> None:
        """RFC 2544 §23 b to e."""
        self._began_ns = self._tester.now_ns()
        self._learn()
        if not self.stopped.is_set():
            self._facts = self._carry()
            self._pass(self._trial.phases.rest_ns)
        self.elapsed_ns = self._since(self._began_ns)

    def _learn(self) -> None:
        """Frames by which the device learns where the receivers are, and the wait after them."""
        if not self._trial.phases.learning:
            return
        for port, frame in self._learning:
            own = sum(other == port for other, _ in self._learning)
            for _ in range(max(1, LEARNING_FRAMES // own)):
                self._tester.send(port, frame)
        self._pass(self._learning_ns)

    def _carry(self) -> Facts:
        receiving = [_Receiving(load, [], [], own) for load, own in zip(self._loads, self._compared, strict=True)]
        for load in self._loads:
            if self._trial.phases.learning and self._key(load) not in self._ranges:
                self._probe(load)
        for place, load in enumerate(self._loads):
            self._tester.expect(load.receive, self._expectation(load, self._first + place, self._compared[place]))
        self._tester.clear_events()
        # The time that reading all ports takes decides how often they can be read.
        before_ns = self._tester.now_ns()
        for load in self._loads:
            self._tester.swap(load.receive)
        pause_ns = max(self._tester.least_pause_ns, 4 * self._since(before_ns))
        interval_ns = -(-pause_ns // self._trial.interval_ns) * self._trial.interval_ns
        self._arm([(load, self._first + place) for place, load in enumerate(self._loads)], pause_ns)
        stopped_for_loss = self._watch(receiving, pause_ns, interval_ns)
        interrupted = self.stopped.is_set()
        self._pass(self._trial.phases.drain_ns)
        return self._collect(receiving, interrupted, stopped_for_loss)

    def _arm(self, programs: Sequence[tuple[PortLoad, int]], pause_ns: int) -> None:
        """All generators together: programs are written first, and begin at times in the future."""
        longest_ns = pause_ns * _LEAD_LOOKS
        # A host that is stopped while it writes is slow once; a link that is slow stays so.
        while longest_ns < _LONGEST_LEAD_NS:
            before_ns = self._tester.now_ns()
            self._start_at_ns = (before_ns + longest_ns) % _WRAP
            for load, stream in programs:
                start_ns = (self._start_at_ns + load.start_ns) % _WRAP
                self._tester.arm(
                    load.transmit, load.program, stream, load.frames, start_ns, load.interval_bytes, load.burst_frames
                )
            took_ns = self._since(before_ns)
            if took_ns < longest_ns:
                return
            # Writing them took longer than was allowed: stop what began late, and allow more time.
            for load, _ in programs:
                self._tester.halt(load.transmit)
            for place, (load, stream) in enumerate(programs):
                own = None if stream == _PROBE_STREAM else self._compared[place]
                self._tester.expect(load.receive, self._expectation(load, stream, own))
            longest_ns = 3 * took_ns
        raise EngineError(f"the link to {self._tester.name} is too slow to start a trial")

    def _watch(self, receiving: Sequence[_Receiving], pause_ns: int, interval_ns: int) -> bool:
        """Waits until all has been sent; true if the load was ended because of loss."""
        for_loss, next_ns, limit = False, interval_ns, self._trial.stop_after_lost
        while True:
            sent = [self._tester.generated(one.load.transmit) for one in receiving]
            at_ns = self._since(self._start_at_ns)
            self._tell(sent, receiving)
            if not any(one.running for one in sent):
                return for_loss
            if at_ns >= next_ns:
                for one in receiving:
                    self._swap(one)
                    one.begun_ns = at_ns // interval_ns * interval_ns
                next_ns = (at_ns // interval_ns + 1) * interval_ns
            self._take_events(receiving)
            self._see(receiving)
            self._answer()
            if limit is not None:
                lost = sum(self._tester.counted(one.load.receive).lost_frames for one in receiving)
                for_loss = lost > limit
            if for_loss or self.stopped.is_set():
                for one in receiving:
                    self._tester.halt(one.load.transmit)
                return for_loss
            left_ns = max(one.load.duration_ns for one in receiving) - at_ns
            until_ns = min(next_ns - at_ns, max(left_ns, 0) + pause_ns)
            self._tester.let_pass(max(1, min(until_ns, 8 * pause_ns)))

    def _collect(self, receiving: Sequence[_Receiving], interrupted: bool, stopped_for_loss: bool) -> Facts:
        sent = [self._tester.generated(one.load.transmit) for one in receiving]
        for one, generated in zip(receiving, sent, strict=True):
            self._swap(one)
            self._tester.flush(one.load.receive, generated.frames)
        self._take_events(receiving, last=True)
        self._see(receiving)
        streams, receivers = [], []
        for place, (one, generated) in enumerate(zip(receiving, sent, strict=True)):
            load = one.load
            counted = self._tester.counted(load.receive)
            found, strangers = tracked(load, generated.frames, counted, one.events, one.slices)
            if self._telling.every:
                check_all_told(one.events, counted, self._telling.every)
            account = None if one.compared is None else self._changed(one.compared, one.events, counted)
            if self._telling.sink is not None:
                told = rows if self._telling.every else changed_rows
                kinds, intact = (account.kinds, account.intact) if account else ({}, frozenset[int]())
                own = self._telling.of[load.receive]
                self._telling.sink.append(told(one.events, *own, self._relative, kinds, intact))
            if self._trial.variation:
                found = found.model_copy(update={"variation": variation(one.events)})
            if found.latency is not None:
                self._ranges[self._key(load)] = int(found.latency.min_ns), int(found.latency.max_ns)
            streams.append(
                StreamFacts(
                    stream=self._first + place,
                    transmit=load.transmit,
                    receive=load.receive,
                    offered_frames=generated.frames,
                    tracked=found,
                    changes=None if account is None else account.facts,
                )
            )
            receivers.append(self._receiver(load, counted, strangers))
        return Facts(
            streams=streams,
            transmitters=[
                Transmitter(port=one.load.transmit, sent=self._sent(generated), stamp="")
                for one, generated in zip(receiving, sent, strict=True)
            ],
            receivers=receivers,
            interference=None,
            interrupted=interrupted,
            stopped_for_loss=stopped_for_loss,
        )

    def _changed(self, own: Comparison, events: Sequence[Event], counted: Counted) -> Changed:
        return changed(own, events, counted, self._tester.dropped_events(), self._relative)

    def _see(self, receiving: Sequence[_Receiving]) -> None:
        """Takes changed frames out of the mailboxes."""
        for one in receiving:
            if one.compared is not None:
                one.compared.see(self._tester.changed_frames(one.load.receive))

    def _receiver(self, load: PortLoad, counted: Counted, strangers: int) -> Receiver:
        last_ns = None if counted.last_ns is None else self._relative(counted.last_ns)
        return Receiver(
            port=load.receive,
            foreign_frames=strangers,
            misdirected_frames=0,
            tester_dropped_frames=counted.dropped_frames,
            last_received_ns=last_ns,
            stamp="",
        )

    def _sent(self, generated: Generated) -> Sent:
        return Sent(
            offered_frames=generated.frames,
            first_sent_ns=0 if generated.first_ns is None else self._relative(generated.first_ns),
            last_sent_ns=0 if generated.last_ns is None else self._relative(generated.last_ns),
            lag_max_ns=generated.lag_max_ns,
            postponed_ns=0,
            gaps=Buckets(),
        )

    def _swap(self, one: _Receiving) -> None:
        one.slices.append(Slice(one.begun_ns, self._tester.swap(one.load.receive)))

    def _take_events(self, receiving: Sequence[_Receiving], last: bool = False) -> None:
        of_port = {one.load.receive: one for one in receiving}
        found = self._tester.events()
        if last:
            found += self._tester.lost_in_bitmaps()
        for port, event in found:
            if port in of_port:
                of_port[port].events.append(event)

    def _probe(self, load: PortLoad) -> None:
        """A few frames far apart show where latencies begin; if none returns, the histogram begins at zero."""
        interval = Fraction(16 * (load.sizes[1] + PREAMBLE_BYTES + GAP_BYTES))
        few = replace(load, interval_bytes=interval, burst_frames=1, frames=_PROBE_FRAMES, start_ns=0, tag=None)
        self._tester.expect(load.receive, self._expectation(few, _PROBE_STREAM, None))
        self._arm([(few, _PROBE_STREAM)], self._tester.least_pause_ns)
        self._tester.let_pass(_LEAD_LOOKS * self._tester.least_pause_ns)
        while self._tester.generated(load.transmit).running and not self.stopped.is_set():
            self._tester.let_pass(max(self._tester.least_pause_ns, few.duration_ns // 4))
        self._pass(min(self._trial.phases.drain_ns, NS_PER_S // 100))
        found = self._tester.swap(load.receive)
        if found.count:
            self._ranges[self._key(load)] = found.min_ns, found.min_ns

    def _expectation(self, load: PortLoad, stream: int, compared: Comparison | None) -> Expectation:
        low_ns, high_ns = self._ranges.get(self._key(load), (0, 0))
        shift = _LEAST_SHIFT
        while (high_ns - low_ns) >> shift > _BINS // 2:
            shift += 1
        # Bins of all trials share their bounds, and there is room on both sides.
        origin = max(0, low_ns - (_BINS // 8 << shift)) >> shift << shift
        sample_every = self._telling.every or (0 if load.tag is None else max(1, load.tag))
        # The device may be expected to make headers longer or shorter.
        grown = 0 if compared is None else len(compared.header) - load.checked_from
        sizes = (load.sizes[0] + grown, load.sizes[1] + grown)
        header = None if compared is None else compared.expected
        return Expectation(stream, sizes, load.frames, load.checked_from + grown, origin, shift, sample_every, header)

    def _key(self, load: PortLoad) -> tuple[object, ...]:
        return (load.transmit, load.sizes, load.burst_frames, load.interval_bytes)

    def _tell(self, sent: Sequence[Generated], receiving: Sequence[_Receiving]) -> None:
        forwarded = sum(part.latencies.count for one in receiving for part in one.slices)
        self.progress = self.progress.model_copy(
            update={
                "offered_frames": sum(one.frames for one in sent),
                "forwarded_frames": forwarded,
                "elapsed_s": self._since(self._began_ns) / NS_PER_S,
            }
        )

    def _pass(self, ns: int) -> None:
        """Waits in parts, and not at all once the trial was stopped."""
        part_ns = max(self._tester.least_pause_ns * 4, 1)
        while ns > 0 and not self.stopped.is_set():
            self._tester.let_pass(min(ns, part_ns))
            ns -= part_ns
            self._answer()
            elapsed_s = self._since(self._began_ns) / NS_PER_S
            self.progress = self.progress.model_copy(update={"elapsed_s": elapsed_s})

    def _since(self, then_ns: int) -> int:
        """Difference of two times of the instrument; less than half the range of its counter."""
        return (self._tester.now_ns() - then_ns + _WRAP // 2) % _WRAP - _WRAP // 2

    def _relative(self, at_ns: int) -> int:
        return (at_ns - self._start_at_ns + _WRAP // 2) % _WRAP - _WRAP // 2
