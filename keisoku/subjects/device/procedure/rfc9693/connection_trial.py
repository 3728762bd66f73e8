"""The trial that all procedures of stateful devices use (RFC 9693): connections are opened, then answered.

The first port, the initiator, opens each connection by one frame. The second, the responder, answers each once to where
it came from. A connection is valid if both arrived; so the device is judged by frames alone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from keisoku.errors import PlanError
from keisoku.ground.frame.port_pairs import port_pairs
from keisoku.ground.run.result import Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import Text, join_texts, phrase
from keisoku.subjects.device.method import rfc2889
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.procedure.rfc9693.settings import ConnectionSettings, port_range
from keisoku.subjects.device.record.counts import Ranges
from keisoku.subjects.device.record.event import EVENTS, Event
from keisoku.subjects.device.record.opening import Opened, Opening
from keisoku.subjects.device.record.trial import NS_PER_S, Flow, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import why_invalid

INITIATOR, RESPONDER = 0, 1
_LONGER_BYTES = 12
"""A header of TCP than one of UDP."""
FLUSHED = "conntrack-flushed"
ANSWERS = Flow(transmit=RESPONDER, receive=INITIATOR, connections="answer")


@dataclass(frozen=True)
class ConnectionOutcome:
    """The outcome of one trial."""

    record: TrialRecord

    @property
    def opening(self) -> Opening:
        """The connections that were asked for."""
        assert self.record.trial.opening is not None
        return self.record.trial.opening

    @property
    def opened(self) -> Opened:
        """What became of them."""
        assert self.record.facts.opened is not None
        return self.record.facts.opened

    @property
    def valid(self) -> int:
        """Connections that were answered."""
        return self.opening.connections - self.opened.refused.count - self.opened.forgotten.count

    @property
    def unopened(self) -> int:
        """Connections that were not open before the load."""
        lost = self.opened.forgotten.count if self.opening.established_fps is not None else 0
        return self.opened.refused.count + lost

    @property
    def passed(self) -> bool | None:
        """Whether every connection is valid; None if the tester failed."""
        return self.valid == self.opening.connections if self.record.valid else None

    @property
    def foreign(self) -> int:
        """Frames that nobody of the tester sent, while connections were opened: ICMP errors or resets of the device."""
        facts = self.record.facts.opening
        return sum(receiver.foreign_frames for receiver in facts.receivers) if facts is not None else 0

    def row(self, size: int) -> Row:
        """The counts of the trial, and the pool of outer ports."""
        opened, pool = self.opened, self.opened.pool
        figures = {
            "offered": count(self.opening.connections),
            "valid": count(self.valid),
            "refused": count(opened.refused.count),
            "forgotten": count(opened.forgotten.count),
            "reset": count(opened.reset.count),
            "taken": count(opened.taken.count),
            "foreign": rfc2889.frames(self.foreign),
        }
        if pool is not None:
            figures |= {
                "outer_addresses": Quantity(value=pool.addresses, unit="addresses", uncertainty=0.0),
                "outer_ports": Quantity(value=pool.source_ports, unit="ports", uncertainty=0.0),
                "kept_ports": count(pool.kept_ports),
                "shared": count(pool.shared),
            }
        return Row(
            frame_bytes=size,
            case=phrase("trial {number}", number=self.record.index + 1),
            figures=figures if self.record.valid else {},
            trial=self.record.index,
            remark=join_texts("; ", why_invalid(self.record)),
        )

    def failed(self, most: int) -> Iterator[tuple[Quantity, Text]]:
        """Of each of the first connections that failed: when it was to be opened, and a sentence of its ports and what
        became of it."""
        own = self.opening
        ranges = own.source_ports, own.destination_ports
        sources, destinations = port_pairs(own.connections, *ranges, own.order == "pseudorandom", own.seed)
        fates = [(number, True) for number in _numbers(self.opened.refused, most)]
        fates += [(number, False) for number in _numbers(self.opened.forgotten, most)]
        reset, taken = (_within(found) for found in (self.opened.reset, self.opened.taken))
        for number, refused in sorted(fates)[:most]:
            values: dict[str, object] = {
                "transport": own.transport.upper(),
                "source": int(sources[number]),
                "destination": int(destinations[number]),
            }
            yield (
                Quantity(value=number / own.frames_per_second, unit="s", uncertainty=0.0),
                _fate(refused, reset(number), taken(number), values),
            )


def _fate(refused: bool, reset: bool, taken: bool, values: dict[str, object]) -> Text:
    if refused:
        if reset:
            return phrase("{transport} port {source} to {destination}: reset by the device", **values)
        return phrase("{transport} port {source} to {destination}: dropped", **values)
    if reset:
        return phrase(
            "{transport} port {source} to {destination}: it reached the responder, and then the device reset it",
            **values,
        )
    if taken:
        return phrase(
            "{transport} port {source} to {destination}: its outer port was given to another connection", **values
        )
    return phrase(
        "{transport} port {source} to {destination}: it reached the responder, but no answer came back", **values
    )


def _within(found: Ranges) -> Callable[[int], bool]:
    """Whether a number is in one of sorted ranges."""
    firsts = [first for first, _ in found.ranges]

    def is_within(number: int) -> bool:
        place = bisect_right(firsts, number) - 1
        return place >= 0 and number <= found.ranges[place][1]

    return is_within


def _numbers(ranges: Ranges, most: int) -> Iterator[int]:
    return islice((number for first, last in ranges.ranges for number in range(first, last + 1)), most)


def connection_trial(
    inputs: MethodInput,
    settings: ConnectionSettings,
    size: int,
    connections: int,
    open_fps: float,
    flows: tuple[Flow, ...] = (ANSWERS,),
    fps: float | None = None,
    seconds: float | None = None,
    established: bool = False,
) -> Trial:
    """Connections, and what uses them: answers, or a load of so many frames/s a port. `established`: so are
    connections of TCP before that, whatever the settings say.

    Raises PlanError for a handshake of UDP, and for frames without room for TCP.
    """
    if settings.established and settings.transport != "tcp":
        raise PlanError("established", "UDP has no handshake", "give --transport tcp, or leave it out")
    answered_fps = open_fps * settings.validate_percent / 100
    rate = fps or answered_fps
    purpose = f"{connections} connections at {open_fps:,.0f}/s, {size} byte"
    if fps is not None:
        purpose = f"{connections} connections, {fps:,.0f} frames/s, {size} byte"
    trial = inputs.trial(purpose, size, rate, seconds or connections / rate)
    forget = _forget(inputs, settings)
    opening = Opening(
        connections=connections,
        frames_per_second=open_fps,
        source_ports=port_range(settings.source_ports),
        destination_ports=port_range(settings.destination_ports),
        transport=settings.transport,
        order=settings.order,
        seed=inputs.plan.seed,
        forget=forget,
        wait_ns=round(settings.forgotten_s * NS_PER_S),
        settle_ns=round(settings.settle_s * NS_PER_S),
        established_fps=answered_fps if established or settings.established else None,
    )
    if settings.transport == "tcp" and size < (least := inputs.capabilities.min_frame_bytes + _LONGER_BYTES):
        raise PlanError("frame size", f"{size} bytes have no room for TCP", f"use {least} or more")
    # Refuses more connections than pairs.
    port_pairs(connections, opening.source_ports, opening.destination_ports, False, 0)
    # Exactly one frame a connection.
    if seconds is None:
        duration_ns = max(1, round(connections * NS_PER_S / rate))
        trial = trial.model_copy(update={"duration_ns": duration_ns})
    return trial.model_copy(update={"flows": flows, "opening": opening})


def attempt(trial: Trial) -> Generator[Trial, TrialRecord, ConnectionOutcome]:
    """The outcome of a trial, which is repeated while the tester is disturbed."""
    record = yield from rfc2889.attempt(trial)
    return ConnectionOutcome(record)


def _forget(inputs: MethodInput, settings: ConnectionSettings) -> Event | None:
    offered, text = inputs.capabilities.events, settings.forget
    if inputs.capabilities.simulated or (not text and FLUSHED in offered):
        return None if inputs.capabilities.simulated else Event(name=FLUSHED, after_ns=0)
    if text:
        if text in EVENTS and text not in offered:
            raise PlanError("forget", f"the device offers no event '{text}'", "give a command")
        return Event(name=text, after_ns=0, command=text not in offered)
    if "forgotten_s" not in settings.model_fields_set:
        raise PlanError(
            "forget",
            "nothing makes the device forget its connections before a trial",
            "give a command with --forget, or the device's timeout of connections with --forgotten",
        )
    return None


def no_command(settings: Mapping[str, Any]) -> None:
    """Raises PlanError for what makes a device forget, if that would be a command of the server."""
    if settings.get("forget") and settings["forget"] not in EVENTS:
        problem = "a command of the server may only be given on its own command line"
        raise PlanError("forget", problem, f"use {FLUSHED}")


def count(number: int) -> Quantity:
    """A number of connections, which is exact."""
    return Quantity(value=number, unit="connections", uncertainty=0.0)


def deviations(inputs: MethodInput, settings: ConnectionSettings, established: bool = False) -> list[Text]:
    """What all of these procedures do otherwise; `established` as for the trial."""
    found = [phrase("RFC 9693: connections are over IPv4, or over IPv6 on the initiator's side of a NAT64")]
    if settings.transport == "tcp" and (settings.established or established):
        found.append(
            phrase(
                "RFC 9693: connections are of UDP; these are of TCP, established by three frames, after which each side"
                " repeats one segment"
            )
        )
    elif settings.transport == "tcp":
        found.append(
            phrase("RFC 9693: connections are of UDP; these are of TCP, and half open (SYN, then SYN with ACK)")
        )
    if inputs.capabilities.simulated:
        found.append(phrase("the DUT is simulated: results describe the model"))
    return found
