"""Whether a trial may be used: a failure of the tester never counts as loss of the DUT (invariant 2).

It uses counts and measured values and returns reasons. It never considers whether frames were lost, because guards that
depended on loss would select results; but a frame is not lost that nobody waited for. Each limit is explained in
docs/guards.md.
"""

from __future__ import annotations

from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.device.record.counts import Sent
from keisoku.subjects.device.record.facts import Branch, Facts, Receiver, StreamFacts
from keisoku.subjects.device.record.interference import Interference, PortCounters
from keisoku.subjects.device.record.trial import NS_PER_S, Trial
from keisoku.subjects.device.record.trial_record import INTERRUPTED_SHARE, TrialRecord, sent_briefly

TOLERANCE = 0.005
"""How far the offered load may be below the intended one, because software is sometimes late."""
LATE_NS = 10_000_000
"""How much later than intended the last frame of a short trial may be sent (two lost scheduler ticks)."""
SETTLED = 0.1
"""The last part of the drain, in which no test frame may arrive."""
STOLEN_FROM_DEVICE = TOLERANCE
"""The largest allowed share of the time that a hypervisor has certainly taken from a core of the lab's device."""
STOLEN = 0.2
"""The same for a core without a sender or device: arrivals wait there in rings, whose overflow is counted exactly. A
sender notices by itself that it was stopped."""
ANSWERS_NS = 100_000_000
"""A device from which nothing arrives for so long forwards nothing; for a shorter time it may hold every frame."""
_NEXT = 2
"""Frames of a queue that must have had the time to follow the last one that arrived."""
_SLOWER = 10
"""By so much an output may be slower than the load, where only one frame has left it."""
_AS_FAST = 1.02
HICCUP_NS = 100_000_000
"""A thread at nice -20 that wakes so late was stopped by the host: the devices' work made one 31 ms late at most."""
INTERRUPTED = phrase("the trial was interrupted")
STRAYS = 2
"""Frames without a protocol of the host may arrive between a trial and the readings of its ports' counters."""


def reasons(trial: Trial, facts: Facts) -> list[str]:
    """Why the trial is invalid for the DUT; empty if it is valid."""
    found = shortfalls(trial, facts) + disturbances(trial, facts)
    if facts.opening is not None:
        for load, own in zip(trial.opening_loads, (facts.opening, *facts.handshake), strict=False):
            found += shortfalls(load, own) + disturbances(load, own)
    return list(dict.fromkeys(found))


def why_invalid(record: TrialRecord) -> list[str]:
    """What the record says of it, which is English, as texts that can be translated."""
    known = {str(reason): reason for reason in reasons(record.trial, record.facts)}
    return [known.get(reason, reason) for reason in record.invalid_because]


def shortfalls(trial: Trial, facts: Facts) -> list[str]:
    """That the tester was too slow for the load, although nobody interrupted it."""
    if facts.interrupted or trial.flat_out or (facts.lost_links and not trial.links_may_fail):
        return []
    refused = [
        plural(
            "the transmit queue of {port} was full: it refused {count} frame",
            "the transmit queue of {port} was full: it refused {count} frames",
            port=facts.name_of(port.port),
            count=port.sent.refused_frames,
        )
        for port in facts.transmitters
        if port.sent.refused_frames
    ]
    if refused:
        return refused
    if facts.stopped_for_loss:
        return [reason for port in facts.transmitters for reason in _offered_until_stopped(trial, port.sent)]
    return [reason for port in facts.transmitters for reason in _offered(trial, port.port, port.sent)]


def disturbances(trial: Trial, facts: Facts) -> list[str]:
    """All other reasons: the trial says nothing about the DUT, and nothing about what the tester can offer."""
    sent = facts.sent
    found = [INTERRUPTED] if facts.interrupted else []
    found += _at_links(trial, facts)
    if trial.batch_frames is None:  # timed batches show by themselves which of them were disturbed
        found += [reason for port in facts.transmitters for reason in _stopped_by_the_host(port.sent)]
        found += [reason for port in facts.transmitters for reason in _kept_from_sending(trial, port.sent)]
    if facts.tester_dropped_frames:
        named = "; ".join(receiver.drop_reason for receiver in facts.receivers if receiver.drop_reason)
        why = f" ({named})" if named else ""
        found.append(
            plural(
                "the tester itself dropped {count} received frame{why}",
                "the tester itself dropped {count} received frames{why}",
                count=facts.tester_dropped_frames,
                why=why,
            )
        )
    for stream in facts.streams:
        for own in (one.tracked for one in stream.everywhere):
            accounted = own.forwarded_frames + own.lost_frames + own.corrupt.count
            if accounted != stream.offered_frames:
                found.append(
                    phrase(
                        "counts do not add up: {offered_frames} offered, {accounted} accounted for",
                        offered_frames=stream.offered_frames,
                        accounted=accounted,
                    )
                )
    if sum(stream.offered_frames for stream in facts.streams) != sent.offered_frames:
        found.append(phrase("counts do not add up: ports and streams offered different numbers of frames"))
    found += _at_receivers(trial, facts)
    if facts.interference is not None and trial.batch_frames is None:
        found += disturbed(facts.interference)
    return found


def _offered(trial: Trial, port: int, sent: Sent) -> list[str]:
    frames = trial.frames_of(port)
    if sent.offered_frames + sent.unsent_frames < frames * (1 - TOLERANCE):
        return [
            phrase(
                "the tester offered {offered_frames} of {frames} frames",
                offered_frames=sent.offered_frames,
                frames=frames,
            )
        ]
    if sent.going_ns > trial.duration_ns + max(LATE_NS, TOLERANCE * trial.duration_ns):
        late = 100 * (sent.going_ns / trial.duration_ns - 1)
        return [phrase("the tester needed {late:.1f} % longer than intended", late=late)]
    return []


def _stopped_by_the_host(sent: Sent) -> list[str]:
    if sent.interrupted_share <= INTERRUPTED_SHARE:
        return []
    return [
        plural(
            "the host stopped the sender {count} time, for {percent:.0f} % of its time",
            "the host stopped the sender {count} times, for {percent:.0f} % of its time",
            count=sent.interruptions,
            percent=100 * sent.interrupted_share,
        )
    ]


def _kept_from_sending(trial: Trial, sent: Sent) -> list[str]:
    if not sent_briefly(trial, sent):
        return []
    return [
        phrase(
            "the sender ran for only {sent_ms:,.0f} of {trial_ms:,.0f} ms",
            sent_ms=max(0, sent.sending_ns) / 1e6,
            trial_ms=trial.duration_ns / 1e6,
        )
    ]


def _offered_until_stopped(trial: Trial, sent: Sent) -> list[str]:
    """For a load that was stopped because of loss: whether the tester kept up until then; only a constant load shows
    this."""
    if trial.flows:
        return []
    due = trial.frames_per_second * (sent.going_ns * (1 - TOLERANCE) - LATE_NS) / NS_PER_S
    if sent.offered_frames >= due:
        return []
    return [
        phrase(
            "the tester offered {offered_frames} frames until the load was stopped, {due:.0f} were due",
            offered_frames=sent.offered_frames,
            due=due,
        )
    ]


def _at_links(trial: Trial, facts: Facts) -> list[str]:
    found = []
    for link in facts.links:
        name, (before, after) = facts.name_of(link.port), link.mtu_bytes
        if link.lost_ns is not None and not trial.links_may_fail:
            back = phrase("and had it again at the end") if link.carrier else phrase("and had none at the end")
            found.append(
                phrase(
                    "{name} lost its carrier {seconds:.3g} s after the begin of the load, {back}: look at the"
                    " cable and at the device's port",
                    name=name,
                    seconds=link.lost_ns / NS_PER_S,
                    back=back,
                )
            )
        if before != after:
            found.append(
                phrase(
                    "the MTU of {name} was changed from {before} to {after} during the trial",
                    name=name,
                    before=before,
                    after=after,
                )
            )
    return found


def without_links(facts: Facts) -> list[str]:
    """Which ports had no link for a time, and the frames that the tester therefore did not send. No failure where links
    may fail: these frames were neither offered nor lost."""
    unsent = {port.port: port.sent.unsent_frames for port in facts.transmitters}
    found = []
    for link in facts.links:
        if link.down_ns:
            name, seconds = facts.name_of(link.port), link.down_ns / NS_PER_S
            found.append(phrase("{name} had no link for {seconds:.1f} s", name=name, seconds=seconds))
            if count := unsent.get(link.port):
                own = plural("{count} frame was not sent there", "{count} frames were not sent there", count=count)
                found[-1] = join_texts("; ", [found[-1], own])
    return found


def unstamped(name: str, receiver: Receiver) -> list[str]:
    """The reason if hardware that was to stamp the arrivals at a port did not stamp them all."""
    stamped = receiver.stamped
    if stamped is None or stamped.by_kernel <= TOLERANCE * (stamped.by_hardware + stamped.by_kernel):
        return []
    counts = phrase(
        "{by_hardware} of {every}", by_hardware=stamped.by_hardware, every=stamped.by_hardware + stamped.by_kernel
    )
    return [
        phrase(
            "the hardware of {name} stamped {counts} received frames: give --stamps software", name=name, counts=counts
        )
    ]


def _at_receivers(trial: Trial, facts: Facts) -> list[str]:
    foreign = {receiver.port: receiver.foreign_frames for receiver in facts.receivers}
    found = []
    for receiver in facts.receivers:
        name = facts.name_of(receiver.port)
        found += unstamped(name, receiver)
        last_ns = facts.sent.last_sent_ns
        found += unsettled(name, last_ns, receiver.last_received_ns, trial.phases.drain_ns)
    found += _not_waited_for(trial, facts)
    # A device sends into a link that was taken from it until it knows, and the kernel drops what still comes to a port
    # that is down: it counts these frames as well, and says of none which it was.
    lost = {link.port for link in facts.lost_links}
    for port, change in facts.counters.items():
        own = change.model_copy(update={"peer_tx_dropped": None, "rx_dropped": 0}) if port in lost else change
        found += port_drops(own, foreign.get(port, 0))
    return found


def _not_waited_for(trial: Trial, facts: Facts) -> list[str]:
    """The reason if frames at the end of the load did not arrive, which the device may still have held then.

    A device that holds a frame longer than any other is not seen where frames arrived until then; nor is a wait too
    short for it where the end of the load arrived.
    """
    waited_ns = trial.phases.drain_ns
    ways = [(stream, own) for stream in facts.streams for own in stream.everywhere]
    missing = [own for stream, own in ways if _missing_at_the_end(stream, own)]
    if missing and not waited_ns:
        return [phrase("the last frames are missing, and nothing waited for them: give --waits, or drain_s in a plan")]
    anywhere = [(stream, own) for stream, own in ways if own.tracked.latency is not None]
    found = []
    for receiver in facts.receivers:
        # A stream whose frames may arrive anywhere is counted at one port.
        own = [(stream, branch) for stream, branch in ways if stream.egress or branch.receive == receiver.port]
        if not any(branch in missing for _, branch in own):
            continue
        arrived = [(stream, branch) for stream, branch in own if branch.tracked.latency is not None]
        # Frames that went to another port are the next best witnesses.
        needed_ns = _longest_ns(trial, facts, arrived or anywhere) / (1 - SETTLED)
        stopped_ns = max(_missing_at_the_end(stream, branch) * _spacing_ns(facts, stream) for stream, branch in own)
        # A full table of connections lets none of the rest pass, and a switch no errored frame.
        refuses = any(flow.connections for flow in trial.flows)
        errored = any(flow.defect for flow in trial.flows)
        silent = not anywhere or (arrived and waited_ns < stopped_ns and not refuses)
        if silent and not errored and stopped_ns + waited_ns < ANSWERS_NS:
            needed_ns = max(needed_ns, ANSWERS_NS)
        if needed_ns >= waited_ns:
            found.append(
                phrase(
                    "the last frames did not arrive at {port} within the wait of {waited:.3g} s, which is too short to"
                    " call them lost: wait at least {needed:.2g} s",
                    port=facts.name_of(receiver.port),
                    waited=waited_ns / NS_PER_S,
                    needed=needed_ns / NS_PER_S,
                )
            )
    return found


def _missing_at_the_end(stream: StreamFacts, own: Branch) -> int:
    """Frames of the stream after the last one that arrived there."""
    ranges = own.tracked.lost.ranges()[-1:].tolist()
    return sum(count for _, behind, count in ranges if behind == stream.offered_frames)


def _spacing_ns(facts: Facts, stream: StreamFacts) -> float:
    sent = next(one.sent for one in facts.transmitters if one.port == stream.transmit)
    return (sent.last_sent_ns - sent.first_sent_ns) / max(1, stream.offered_frames - 1)


def _longest_ns(trial: Trial, facts: Facts, arrived: list[tuple[StreamFacts, Branch]]) -> float:
    """How long a frame of these streams can be in the device, by those that arrived: the longest latency and, where
    frames left more slowly than they were sent, the next ones of a queue; 0 where nothing is known."""
    latencies = [(stream.transmit, own.tracked.latency) for stream, own in arrived if own.tracked.latency is not None]
    if not latencies:
        return 0.0
    longest_ns = max(latency.max_ns for _, latency in latencies)
    forwarded = sum(own.tracked.forwarded_frames for _, own in arrived)
    if forwarded < 2:
        return longest_ns + _NEXT * _SLOWER * NS_PER_S / trial.frames_per_second
    senders = {one.port: one.sent for one in facts.transmitters}
    own_senders = [senders[stream.transmit] for stream, _ in arrived]
    sent_ns = max(one.last_sent_ns for one in own_senders) - min(one.first_sent_ns for one in own_senders)
    ports = {own.receive for _, own in arrived}
    last_ns = max((one.last_received_ns or 0 for one in facts.receivers if one.port in ports), default=0)
    first_ns = min(senders[transmit].first_sent_ns + latency.min_ns for transmit, latency in latencies)
    sent_every_ns = sent_ns / sum(stream.offered_frames for stream, _ in arrived)
    left_every_ns = (last_ns - first_ns) / (forwarded - 1)
    return longest_ns + (_NEXT * left_every_ns if left_every_ns > _AS_FAST * sent_every_ns else 0.0)


def unsettled(port: str, last_sent_ns: int, last_received_ns: int | None, drain_ns: int) -> list[str]:
    """The reason if test frames still arrived at `port` when the trial's drain was about to end; see `still_arrive`."""
    if last_received_ns is None or not still_arrive(last_sent_ns, last_received_ns, drain_ns):
        return []
    after_ns = last_received_ns - last_sent_ns
    return [
        phrase(
            "frames still arrived at {port} {after:.3g} s after the last was sent, at the end of the"
            " wait of {waited:.3g} s: wait longer",
            port=port,
            after=after_ns / 1e9,
            waited=drain_ns / 1e9,
        )
    ]


def still_arrive(last_sent_ns: int, last_received_ns: int, drain_ns: int) -> bool:
    """Whether test frames arrived when a drain was about to end; never without one (0). Times are ns on one clock."""
    return 0 < (1 - SETTLED) * drain_ns <= last_received_ns - last_sent_ns


def disturbed(interference: Interference) -> list[str]:
    """Reasons by which the host disturbed the tester: steal, quota, heat, stops, change of clock."""
    found = []
    span_ns = interference.span_ns
    for core in interference.cores:
        # The kernel counts in steps: at least this much was taken.
        stolen_ns = (core.steal_ns or 0) - interference.steal_resolution_ns
        polls = core.lateness is None
        if not polls and stolen_ns > (STOLEN_FROM_DEVICE if core.of_device else STOLEN) * span_ns:
            share = 100 * stolen_ns / span_ns
            found.append(
                phrase(
                    "the hypervisor took CPU {cpu} for at least {share:.1f} % of the time", cpu=core.cpu, share=share
                )
            )
        if core.heat_events:
            found.append(
                plural(
                    "CPU {cpu} was throttled because of heat {count} time",
                    "CPU {cpu} was throttled because of heat {count} times",
                    cpu=core.cpu,
                    count=core.heat_events,
                )
            )
        if core.lateness and core.lateness.max_ns > HICCUP_NS:
            found.append(
                phrase("CPU {cpu} stood still for {time:.0f} ms", cpu=core.cpu, time=core.lateness.max_ns / 1e6)
            )
    quota = interference.throttling
    if quota and quota.periods:
        found.append(
            plural(
                "a CPU quota stopped the tester {count} time, for {time:.0f} ms in all",
                "a CPU quota stopped the tester {count} times, for {time:.0f} ms in all",
                count=quota.periods,
                time=quota.stopped_ns / 1e6,
            )
        )
    before, after = interference.clock_sources
    if before != after:
        found.append(phrase("the kernel changed its clock source from {before} to {after}", before=before, after=after))
    return found


def port_drops(change: PortCounters, foreign_frames: int) -> list[str]:
    """Reasons for frames lost by a tester port itself, from the change of its counters during the trial.

    `foreign_frames` are those that the trial counted at this port. The host's network stack may refuse each of them,
    which the kernel counts in `rx_dropped` as well. Some drivers (virtio-net, tun) also count there the frames that the
    tester's own program took; others do not. The counts tell: if all of these are among the drops, nothing else is.
    """
    found = []
    wrapped = {
        "rx_missed_errors": change.rx_missed_errors,
        "rx_fifo_errors": change.rx_fifo_errors,
        "rx_over_errors": change.rx_over_errors,
    }
    named = ", ".join(f"{name} {count}" for name, count in wrapped.items() if count)
    if named:
        found.append(phrase("the receive queue of {port} was full: {named}", port=change.port, named=named))
    unexplained, taken = change.rx_dropped - foreign_frames, change.taken_frames or 0
    rest = unexplained - taken
    if unexplained > STRAYS and rest > STRAYS and taken:
        found.append(
            plural(
                "{port} itself dropped at least {count} received frame (rx_dropped, of which keisoku's own program "
                "may have taken {taken})",
                "{port} itself dropped at least {count} received frames (rx_dropped, of which keisoku's own program "
                "may have taken {taken})",
                port=change.port,
                count=rest,
                taken=taken,
            )
        )
    elif unexplained > STRAYS and not -foreign_frames - STRAYS <= rest <= STRAYS:
        found.append(
            plural(
                "{port} itself dropped {count} received frame (rx_dropped)",
                "{port} itself dropped {count} received frames (rx_dropped)",
                port=change.port,
                count=unexplained,
            )
        )
    if change.peer_tx_dropped:
        found.append(
            plural(
                "the receive queue of {port} had no room for {count} frame of the device",
                "the receive queue of {port} had no room for {count} frames of the device",
                port=change.port,
                count=change.peer_tx_dropped,
            )
        )
    # A packet socket learns of it and sends the frame again. A veth counts here frames for which its peer has no room.
    if change.tx_dropped and change.engine == "xdp" and change.driver != "veth":
        found.append(
            plural(
                "{port} itself dropped {count} frame to be sent (tx_dropped)",
                "{port} itself dropped {count} frames to be sent (tx_dropped)",
                port=change.port,
                count=change.tx_dropped,
            )
        )
    if change.tx_errors:
        found.append(
            plural(
                "{port} failed to send {count} frame (tx_errors)",
                "{port} failed to send {count} frames (tx_errors)",
                port=change.port,
                count=change.tx_errors,
            )
        )
    return found
