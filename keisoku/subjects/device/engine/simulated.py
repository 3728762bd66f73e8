"""The engine whose devices and whose time are computed: a trial is a function of plan and seed.

The device is modelled in `core/src/simulated`; this file passes the trial to it and reads back the facts. It waits
only for the computation.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from math import inf
from typing import Literal

from keisoku._core import Simulation
from keisoku.errors import EngineError, PlanError
from keisoku.ground.frame.addresses import macs
from keisoku.ground.frame.codes import codes
from keisoku.ground.frame.membership import memberships
from keisoku.ground.simulated_device.device import SimulatedDevice
from keisoku.ground.simulated_device.spreading import EVENT
from keisoku.language import phrase
from keisoku.subjects.device.engine.connecting import PLACES, Connecting
from keisoku.subjects.device.engine.engine import FrameSink, Progress, progress_of
from keisoku.subjects.device.engine.traffic import Addressing, Route, Traffic, local_mac
from keisoku.subjects.device.engine.watched import Parts, Watched, parts, rewritings, watched
from keisoku.subjects.device.plan.content import SHORT_NAMES, Content
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.record.event import Happened
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.gaps import Gap
from keisoku.subjects.device.record.trial import NS_PER_S, Stream, Trial

_STAMP = phrase("virtual time, exact")
MAX_FRAME_BYTES = 16_384
"""FCS included; a device may drop frames below its own limit."""


def routes_between(pairs: Iterable[tuple[int, int]]) -> list[Route]:
    """Routes of a simulated device, whose ends have locally administered addresses; `pairs` are of port indices."""

    def addressing(one: int, other: int) -> Addressing:
        return Addressing(local_mac(one), local_mac(other), local_mac(other))

    return [Route(one, other, addressing(one, other), addressing(other, one)) for one, other in pairs]


def check_ports(device: SimulatedDevice, ports: Sequence[int]) -> None:
    """Raises PlanError for a number from 1 that the device does not have, or that is given twice."""
    for place, port in enumerate(ports):
        if not 1 <= port <= device.ports:
            raise PlanError("ports", f"{device.name} has no port {port}", f"use 1 to {device.ports}")
        if port in ports[:place]:
            raise PlanError("ports", f"port {port} is given twice", "use another port")


class SimulatedEngine:
    """A tester on some ports of a simulated device.

    `ports` are the device's, numbered from 1; `traffic` counts them from 0 in this order, and is one stream from
    the first to the second if absent. `receive_clock_ppm` is how much faster the tester's receiving clock runs than
    its sending one. Raises PlanError for a port that the device does not have.
    """

    def __init__(
        self,
        device: SimulatedDevice,
        ports: Sequence[int] = (1, 2),
        traffic: Traffic | None = None,
        receive_clock_ppm: float = 0.0,
    ) -> None:
        check_ports(device, ports)
        self._device = device
        self._ports = list(ports)
        self._traffic = traffic or Traffic(routes_between([(0, 1)]), [Content()])
        self._receive_clock_ppm = receive_clock_ppm
        self._simulation = Simulation(device.model_json(), self._ports, receive_clock_ppm)
        self._trial: Trial | None = None
        self._watched: Watched | None = None
        self._frames: FrameSink | None = None
        self._intended_frames = 0
        self._openings: list[Facts] = []
        self._then: list[bytes] = []
        self._connecting: Connecting | None = None
        self._forgot_ns = 0
        self._seed = 0

    @property
    def capabilities(self) -> Capabilities:
        """Frames above the device's own limit may be sent; the device drops them."""
        return Capabilities(
            engine="simulated",
            link_bits_per_second=self._device.link_bits_per_second,
            min_frame_bytes=self._traffic.least_frame_bytes,
            max_frame_bytes=MAX_FRAME_BYTES,
            simulated=True,
            exact=True,
            abilities=frozenset({"anywhere", "compare", "connections", "exports", "marks", "multicast", "switches"}),
            transmit_stamp=_STAMP,
            receive_stamp=_STAMP,
            resolution_ns=self._device.resolution_ns,
            resets=None if self._device.reset is None else "on command",
            events=tuple(dict.fromkeys(self._events())),
        )

    def _events(self) -> list[str]:
        own = [cut.event for cut in self._device.interruptions]
        return own if self._device.spread is None else [*own, EVENT]

    def start(self, trial: Trial, stream: int, seed: int, frames: FrameSink | None = None) -> None:
        """Begins computing a trial; `stream` is the number of its first one.

        Raises PlanError for a size or rate that no tester could send, or for fields that cannot be varied.
        """
        found = watched(self._traffic, trial)
        if frames is not None and found is None:
            raise PlanError("frames", "it does not work with simulated devices", "leave out --frames")
        if not 0 < trial.frames_per_second < inf:
            raise PlanError("rate", f"{trial.frames_per_second:g} frames/s is no rate", "use a positive number")
        if trial.duration_ns <= 0:
            raise PlanError("duration", f"{trial.duration_ns} ns is too short", "use a positive number")
        if trial.reset_after_ns is not None and self._device.reset is None:
            raise PlanError("dut", f"{self._device.name} cannot be reset", "give its file a [reset]")
        for event in trial.events:
            if event.command:
                raise PlanError("event", "a command cannot change a simulated device", "name an event of its file")
        connecting = self._open(trial, stream, seed)
        streams = self._traffic.streams(trial, connecting)
        least = self._traffic.least_frame_bytes
        for size in sorted({size for one in streams for size in one.frame_bytes}):
            if not least <= size <= MAX_FRAME_BYTES:
                raise PlanError("frame size", f"{size} byte cannot be sent", f"use {least} to {MAX_FRAME_BYTES}")
        if any(content.modify or content.headers not in SHORT_NAMES for content in self._traffic.contents):
            # These frames are never sent, but frames that no tester could send are refused here as well.
            self._traffic.tables(trial)
        try:
            words = None if connecting is None else PLACES
            sent = self._spread(trial, streams)
            load = sent.load(streams, stream + len(trial.opening_loads), seed, words=words)
            read = self._addresses(trial), self._codes(trial)
            if found is None:
                self._simulation.start(load, *read)
            else:
                made = [rule.model_dump() for rule in self._device.rewrite]
                changed = _chosen(rewritings(made, found.sent))
                tables = parts(found.sent), parts(found.expected), list(found.free_bits), changed
                self._simulation.start(load, *read, tables, frames is not None, trial.changes == "changed")
        except ValueError as error:
            raise PlanError("trial", str(error), "correct its rate or its duration") from error
        except RuntimeError as error:
            raise EngineError(str(error)) from error
        self._intended_frames = sum(one.frames for one in streams)
        self._trial, self._watched, self._frames, self._seed = trial, found, frames, seed

    def _spread(self, trial: Trial, streams: Sequence[Stream]) -> Trial:
        """Makes the device again for the flows of this trial, if it spreads them; the trial with what begins it."""
        spread = self._device.spread
        if spread is None or not any(stream.among for stream in streams):
            return trial
        from keisoku.subjects.device.engine.spreading import BEGIN, spreading  # few devices spread anything

        moved = spreading(spread, streams, self._traffic.tables(trial))
        self._simulation = Simulation(self._device.model_json(moved), self._ports, self._receive_clock_ppm)
        return trial.model_copy(update={"events": (BEGIN, *trial.events)})

    def _open(self, trial: Trial, stream: int, seed: int) -> Connecting | None:
        """Opens the trial's connections at once: what is known of them."""
        self._openings, self._then, self._connecting = [], [], None
        asked = trial.opening
        if asked is None:
            return None
        self._forgot_ns = self._simulation.forget()
        self._simulation.pass_time(asked.wait_ns)
        connecting = Connecting(asked)
        for number, load in enumerate(trial.opening_loads):
            streams = self._traffic.streams(load, connecting)
            try:
                self._simulation.start(load.load(streams, stream + number, seed, words=PLACES))
            except ValueError as error:
                raise PlanError("trial", str(error), "correct its rate or the number of connections") from error
            self._openings.append(Facts.model_validate_json(self._simulation.finish()))
            self._then.append(self._simulation.words()[0])
            connecting = Connecting(asked, self._then[0])
        self._connecting = connecting
        self._simulation.pass_time(asked.settle_ns)
        return connecting

    def _with_exports(self, trial: Trial, facts: Facts) -> Facts:
        """The facts with what the device exported; one that exports nothing is silent."""
        from keisoku.subjects.device.engine.exports import read_exports  # few trials listen for exports
        from keisoku.subjects.device.engine.simulated_exports import simulated_exports

        tables, telemetry = self._traffic.tables(trial), self._device.telemetry
        load_ns = facts.sent.last_sent_ns
        sent = [] if telemetry is None else simulated_exports(telemetry, facts.streams, tables, load_ns, self._seed)
        return facts.model_copy(update={"exports": read_exports(sent, tables, {})})

    def _addresses(self, trial: Trial) -> str | None:
        """Addresses that the core needs where the device reads them: those in the frames, and those learned before.

        A device without an address table knows every address: it only checks whether a frame goes to a group.
        """
        content = self._traffic.contents[0]
        modify = [text for flow in trial.flows for text in flow.modify or content.modify]
        modify += [text for content in self._traffic.contents for text in content.modify if not trial.flows]
        table = self._device.address_table
        copied = any(flow.also or flow.message for flow in trial.flows)
        if table is None and not copied and not any(text.strip().startswith("Ether.dst") for text in modify):
            return None
        learned = self._traffic.receiving if trial.phases.learning else []
        tables = self._traffic.tables(trial)
        talks = [flow.message for flow in trial.flows] + [False] * len(tables)
        streams = [
            {
                "sources": sources,
                "destinations": destinations,
                "messages": [{"joins": one.joins, "group": one.group} for one in memberships(frames)] if talk else [],
            }
            for (sources, destinations), frames, talk in zip(map(macs, tables), tables, talks, strict=False)
        ]
        return json.dumps(
            {
                "streams": streams,
                "known": [(int(local_mac(port).replace(":", ""), 16), port) for port in learned],
            }
        )

    def _codes(self, trial: Trial) -> str | None:
        """Classes of traffic that the core needs where the device has queues for them."""
        if not self._device.queues:
            return None
        read = self._device.scheduler.code
        found = (codes(frames, read) for frames in self._traffic.tables(trial))
        return json.dumps([[{"code": code, "ecn": ecn} for code, ecn in stream] for stream in found])

    def wait(self, seconds: float) -> Progress:
        """Progress in virtual time; the computation continues during the call.

        Raises EngineError if no trial was started.
        """
        if self._trial is None:
            raise EngineError("no trial was started")
        offered, forwarded, finished = self._simulation.wait(seconds)
        self._take_rows()
        expected_s = self._trial.seconds
        # Its clock is what the load has sent of itself: phases around the load have no frames.
        load_ns = self._trial.duration_ns * min(1.0, offered / self._intended_frames)
        return Progress(
            offered_frames=offered,
            forwarded_frames=forwarded,
            finished=finished,
            elapsed_s=expected_s if finished else (self._trial.before_load_ns + load_ns) / NS_PER_S,
            expected_s=expected_s,
            streams=progress_of(self._simulation.streams()),
        )

    def switch(self, flows: Sequence[int], state: Literal["going", "paused", "ended"]) -> bool:
        """Takes effect within a few ms of computing; while no flow sends, virtual time stands still.

        Raises EngineError unless a trial runs whose flows can be switched.
        """
        if self._trial is None or not self._trial.switches:
            raise EngineError("no trial runs whose flows can be switched")
        return self._simulation.switch(list(flows), state)

    def longest_gaps(self) -> Sequence[Gap | None]:
        """Its trials are over when a script asks."""
        return ()

    def load_begun_ns(self) -> int | None:
        """Its time is virtual."""
        return None

    def stop(self) -> None:
        """Ends the trial within a millisecond or two of computing."""
        self._simulation.stop()

    def finish(self) -> tuple[Facts, float]:
        """Facts, and the virtual seconds that the trial and its phases took.

        Raises EngineError for a trial that was not started or failed.
        """
        if self._trial is None:
            raise EngineError("no trial was started")
        trial = self._trial
        try:
            facts = Facts.model_validate_json(self._simulation.finish())
            if self._watched is not None:
                facts = self._watched.complete(facts)
            facts = facts.set_apart(self._traffic.streams_beside(trial))
            if trial.exporting is not None:
                facts = self._with_exports(trial, facts)
            if self._connecting is not None:
                answering = [flow.connections == "answer" for flow in trial.flows]
                answers = [self._simulation.words()[answering.index(True)]] if True in answering else []
                opened = self._connecting.outcome(self._then[1:] or answers, self._forgot_ns)
                own = {"opening": self._openings[0], "handshake": self._openings[1:], "opened": opened}
                facts = facts.model_copy(update=own)
        except RuntimeError as error:
            raise EngineError(str(error)) from error
        self._take_rows()
        if trial.events:
            load_ns = facts.sent.last_sent_ns
            moments_ns = [event.after_ns for event in trial.events if event.after_ns <= load_ns]
            happened = [Happened(begun_ns=moment_ns, ended_ns=moment_ns) for moment_ns in moments_ns]
            facts = facts.model_copy(update={"happened": happened})
        ended_early = facts.interrupted or facts.stopped_for_loss
        unused_ns = trial.duration_ns - facts.sent.last_sent_ns if ended_early else 0
        return facts, (trial.whole_ns - unused_ns) / NS_PER_S

    def _take_rows(self) -> None:
        if self._frames is not None:
            entries, lost = self._simulation.take_frames()
            self._frames.append(entries)
            if lost:
                raise EngineError(f"frames: {lost} rows could not be written fast enough; shorten the trial")

    def close(self) -> None:
        """Stops the computation; there is nothing else to release."""
        self._simulation.stop()

    def context(self) -> dict[str, object]:
        """The whole device model, so that a record can be computed again."""
        return {
            "device": f"simulated {self._device.title}",
            "engine": "simulated",
            "link_bits_per_second": self._device.link_bits_per_second,
            "model": self._device.model_dump(mode="json", by_alias=True),
            "ports": self._ports,
            "traffic": self._traffic.summary(),
            "receive_clock_ppm": self._receive_clock_ppm,
        }


def _chosen(made: Sequence[tuple[dict[str, object], list[Parts]]]) -> list[tuple[str, list[Parts]]]:
    """Each rewriting as the core takes it."""
    return [(json.dumps(choice), tables) for choice, tables in made]
