"""Flows of trials with multicast groups: frames to the groups, and the messages by which ports join and leave them.

RFC 3918 §3: the plan's first port sends to the groups, all others receive.
"""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.ground.frame.membership import MESSAGE_BYTES, Protocol, is_ipv6, message, test_frames
from keisoku.language import phrase
from keisoku.subjects.device.method import rfc2889
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.search import RETRIES
from keisoku.subjects.device.record.trial import NS_PER_S, Flow, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord

SOURCE = 0
"""Index of the port that sends to the groups."""
LEAST_IPV6_BYTES = 84


def receivers(inputs: MethodInput) -> list[int]:
    """Indices of all other ports."""
    return list(range(1, len(inputs.plan.port_fields())))


def sizes(inputs: MethodInput, protocol: Protocol) -> list[int]:
    """The plan's, of which those below the smallest test frame with an IPv6 header are that one."""
    least = LEAST_IPV6_BYTES if is_ipv6(protocol) else 0
    return list(dict.fromkeys(max(size, least) for size in inputs.plan.frame_bytes))


def data(
    protocol: Protocol,
    ports: Sequence[int],
    groups: int,
    *,
    first: int = 0,
    share: float = 1.0,
    start_ns: int = 0,
    duration_ns: int | None = None,
    timed: bool = False,
    frame_bytes: int,
) -> Flow:
    """Frames to `groups` groups in turn, number `first` first, each of which must reach all `ports`."""
    made = test_frames(protocol, groups, first)
    return Flow(
        transmit=SOURCE,
        receive=ports[0],
        also=tuple(ports[1:]),
        share=share,
        start_ns=start_ns,
        duration_ns=duration_ns,
        headers=made.headers,
        modify=made.modify,
        timed=timed,
        frame_bytes=(frame_bytes,),
    )


def messages(
    protocol: Protocol,
    port: int,
    among: Sequence[int],
    groups: int,
    *,
    joins: bool,
    start_ns: int,
    message_fps: float,
    trial_fps: float,
) -> Flow:
    """The messages of a port, one for each group, number 0 first. A device may forward them to the source's port and to
    those `among` which the port is."""
    made = message(protocol, joins, groups, host=port + 1)
    return Flow(
        transmit=port,
        receive=SOURCE,
        also=tuple(other for other in among if other != port),
        share=message_fps / trial_fps,
        start_ns=start_ns,
        duration_ns=max(1, round(groups / message_fps * NS_PER_S)),
        headers=made.headers,
        modify=made.modify,
        frame_bytes=(MESSAGE_BYTES,),
        message=True,
    )


def burdened(ports: Sequence[int]) -> list[tuple[int, int]]:
    """From each receiving port to the next; with one of them, from the source to it."""
    if len(ports) == 1:
        return [(SOURCE, ports[0])]
    return list(zip(ports, [*ports[1:], ports[0]], strict=True))


def attempt(trial: Trial) -> rfc2889.Carried:
    """The record of a trial, repeated while the tester disturbs it or does not send all messages."""
    for _ in range(RETRIES):
        record = yield from rfc2889.attempt(trial)
        if not sent_messages(record):
            break
    return record


def sent_messages(record: TrialRecord) -> list[str]:
    """The reason if the tester did not send all messages; empty if it did."""
    wanted = sum(record.trial.frames_in(flow) for flow in record.trial.flows if flow.message)
    sent = sum(stream.offered_frames for stream in record.facts.beside)
    return (
        []
        if sent == wanted
        else [phrase("the tester sent {sent} of {wanted} messages to the device", sent=sent, wanted=wanted)]
    )


def deviations(inputs: MethodInput, clause: str) -> list[str]:
    """Deviations of all procedures with groups."""
    found = [
        phrase(
            "RFC 3918 {clause}: each message carries the tester's signature behind it, which the protocols ignore",
            clause=clause,
        ),
        phrase("RFC 3918 {clause}: the tester sends no query and does not answer those of the device", clause=clause),
    ]
    if inputs.capabilities.simulated:
        found.append(phrase("the DUT is simulated: results describe the model"))
    return found
