"""Checks an instrument with one cable between its two ports, and reports the findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from keisoku.ground.fpga.cable import bare_cable
from keisoku.ground.fpga.instrument import Instrument
from keisoku.ground.frame.rates import maximum_frames_per_second
from keisoku.subjects.device.engine.fpga.engine import RESOLUTION_NS, FpgaEngine
from keisoku.subjects.device.engine.simulated import routes_between
from keisoku.subjects.device.engine.traffic import Traffic
from keisoku.subjects.device.plan.content import Content
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import NS_PER_S, Phases, Trial
from keisoku.subjects.device.record.validity import reasons

SPREAD_STEPS = 2
"""All latencies on a cable lie within so many steps of the clock."""
_DRAIN_NS = 100_000
_POLL_S = 0.2


@dataclass(frozen=True)
class Check:
    """The result of one check."""

    name: str
    found: str
    good: bool


def verify(target: str, simulated: bool, sizes: Sequence[int], duration_ns: int) -> Iterator[Check]:
    """Checks one after another. Raises EngineError if the instrument does not answer or a port has no link."""
    instrument = Instrument.simulated_with(bare_cable(0.0), 1) if simulated else Instrument.connect(target)
    try:
        yield Check("instrument", instrument.name, True)
        for port in (0, 1):
            speed = instrument.link_bits_per_second(port)
            found = "no link: is the cable in both ports?" if speed is None else f"{speed / 1e6:g} Mb/s"
            yield Check(f"link of port {port}", found, speed is not None)
            if speed is None:
                return
        traffic = Traffic(routes_between([(0, 1), (1, 0)]), [Content(headers="ethernet")])
        engine = FpgaEngine(instrument, [0, 1], traffic, {}, dut_simulated=simulated)
        for size in sizes:
            yield from _loaded(engine, size, duration_ns)
    finally:
        instrument.close()


def _loaded(engine: FpgaEngine, size: int, duration_ns: int) -> Iterator[Check]:
    speed = engine.capabilities.link_bits_per_second
    assert speed is not None, "the instrument's link must have a known rate"
    trial = Trial(
        purpose=f"verify {size} byte",
        frame_bytes=size,
        frames_per_second=maximum_frames_per_second(speed, size),
        duration_ns=duration_ns,
        phases=Phases(learning=True, learning_wait_ns=0, drain_ns=_DRAIN_NS, rest_ns=0),
        interval_ns=duration_ns,
    )
    facts = _carried(engine, trial)
    spoiled = reasons(trial, facts)
    if spoiled:
        yield Check(f"{size} byte at line rate", "; ".join(spoiled), False)
    for stream in facts.streams:
        name = f"{size} byte, port {stream.transmit} to {stream.receive}"
        own = stream.tracked
        rate = _rate(facts, stream.transmit)
        whole = own.forwarded_frames == stream.offered_frames and own.received_frames == stream.offered_frames
        arrived = f"{own.forwarded_frames:,} of {stream.offered_frames:,} frames, {rate:,.0f} frames/s"
        yield Check(name, arrived, whole and stream.offered_frames >= trial.frames)
        if own.latency is not None:
            spread = own.latency.max_ns - own.latency.min_ns
            shares = [
                f"{100 * count / own.latency.count:.1f} % in {lower}…{upper} ns"
                for lower, upper, count in zip(
                    own.latency.histogram.lower_ns,
                    own.latency.histogram.upper_ns,
                    own.latency.histogram.counts,
                    strict=True,
                )
            ]
            text = f"mean {own.latency.mean_ns:.2f} ns, {spread:g} ns from least to most: {', '.join(shares[:6])}"
            yield Check(f"{name}, latency", text, spread <= SPREAD_STEPS * RESOLUTION_NS)


def _rate(facts: Facts, port: int) -> float:
    sent = next(one.sent for one in facts.transmitters if one.port == port)
    span_ns = sent.last_sent_ns - sent.first_sent_ns
    return (sent.offered_frames - 1) * NS_PER_S / span_ns if span_ns > 0 else 0.0


def _carried(engine: FpgaEngine, trial: Trial) -> Facts:
    engine.start(trial, stream=1, seed=1)
    while not engine.wait(_POLL_S).finished:
        pass
    return engine.finish()[0]
