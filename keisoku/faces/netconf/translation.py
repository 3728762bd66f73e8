"""Generators as flows of OTG's server, whose engines carry them out. Opens nothing.

Each stream is a flow. Streams of a generator take turns: each is a burst in every round, at its place in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from keisoku.errors import PlanError
from keisoku.faces.netconf.model import Generator, Interface, Stream
from keisoku.faces.otg.configuration import Configuration, ConfiguredPort
from keisoku.faces.otg.flow.flow import End, Flow
from keisoku.faces.otg.flow.header import Packet, written
from keisoku.faces.otg.flow.rate import CONTINUOUS_NS, FASTEST_FPS, LONGEST_NS, SLOWEST_FPS, Timing
from keisoku.faces.otg.flow.tag import classes
from keisoku.faces.otg.traffic.acceptance import room_bytes
from keisoku.ground.frame.rates import NS_PER_S
from keisoku.subjects.device.record.trial import Bursts, Constant, Pacing
from keisoku.subjects.device.testbed.testbed import Testbed

_NAMES = {"size": "frame-size", "packet": "frame-data"}
"""The parts of a flow by which its frames are refused, and the leaf that is meant."""
_OCTET_BITS = 8


def ports(interfaces: Sequence[Interface]) -> tuple[ConfiguredPort, ...]:
    """The ports of these interfaces. An interface's name is its location."""
    return tuple(ConfiguredPort(one.name, one.name, one.path) for one in interfaces)


def flow_names(interface: str, generator: Generator) -> list[str]:
    """Of the flows of a generator."""
    return [f"{interface} stream {stream.number}" for stream in generator.streams]


def configuration(interfaces: Sequence[Interface], testbed: Testbed | None, speed: float | None) -> Configuration:
    """All flows, between ports of this testbed. `speed`: the line rate, in bit/s, of ports that have none of their own.

    Raises PlanError, with the path in the datastore, for what cannot be carried out.
    """
    flows: list[Flow] = []
    for port, interface in enumerate(interfaces):
        if interface.generator is None:
            continue
        others = [other for other in range(len(interfaces)) if other != port]
        if not others:
            problem = "no other interface is configured, so no frame can arrive"
            raise PlanError(interface.path, problem, "give another interface a traffic-analyzer")
        rate = (None if testbed is None else testbed.line_rate(port)) or speed
        if rate is None:
            path = f"{interface.generator.streams[0].path}/interframe-gap"
            problem = "the interface has no line rate, so an octet takes no time"
            raise PlanError(path, problem, "start the server with --speed")
        flows += _flows(interface, interface.generator, port, others, rate)
    for flow in flows:
        _check(flow)
    return Configuration(ports(interfaces), (), tuple(flows), {}, {}, flow_bytes=room_bytes(flows))


def yang_path(error: PlanError, interfaces: Sequence[Interface]) -> PlanError:
    """The error with the path in the datastore, where it names a part of a flow or a port."""
    for interface in interfaces:
        if error.field == f"{interface.path}.location":
            return PlanError(f"{interface.path}/name", error.problem, error.remedy)
        streams = () if interface.generator is None else interface.generator.streams
        for stream in streams:
            path, _, part = error.field.rpartition(".")
            if path == stream.path:
                leaf = f"{path}/{_NAMES[part]}" if part in _NAMES else path
                return PlanError(leaf, error.problem, error.remedy)
    return error


def _check(flow: Flow) -> None:
    timing = flow.timing
    if not SLOWEST_FPS <= timing.frames_per_second <= FASTEST_FPS:
        problem = f"{timing.frames_per_second:g} frames/s are not supported"
        raise PlanError(f"{flow.path}/interframe-gap", problem, f"use {SLOWEST_FPS:g} to {FASTEST_FPS:g}")
    if timing.start_ns + timing.duration_ns > LONGEST_NS:
        problem = f"the frames would take longer than {LONGEST_NS / 3600 / NS_PER_S:g} h"
        raise PlanError(f"{flow.path}/interframe-gap", problem, "send fewer, or with smaller gaps")


def _flows(interface: Interface, generator: Generator, port: int, others: Sequence[int], rate: float) -> list[Flow]:
    def time_ns(octets: float) -> float:
        return octets * _OCTET_BITS * NS_PER_S / rate

    if generator.streams[0].frames is None:
        timings = [_alone(generator, generator.streams[0], time_ns)]
    else:
        timings = _turns(generator, time_ns)
    names = flow_names(interface.name, generator)
    found = []
    for name, stream, timing in zip(names, generator.streams, timings, strict=True):
        packet = Packet(tuple(written(stream.octets, stream.path)))
        sizes = (stream.frame_bytes,)
        found.append(
            Flow(
                name=name,
                path=stream.path,
                ways=((End(port), End(others[0])),),
                receivers=tuple(others) if len(others) > 1 else (),
                receiving_lags=(),
                packet=packet,
                frame_bytes=sizes,
                timing=timing,
                measured=True,
                loss=True,
                latency="cut_through",
                tagged=classes(packet, sizes, stream.path, by_size=False),
                egress=None,
                timestamps=False,
                by_receiver=True,
            )
        )
    return found


def _alone(generator: Generator, stream: Stream, time_ns: Callable[[float], float]) -> Timing:
    """Of a stream that is the only one."""
    slot_ns, total = time_ns(stream.slot), generator.total_frames
    if stream.burst_frames is None:
        return _timing(total, NS_PER_S / slot_ns, 0, Constant())
    if total is not None and total % stream.burst_frames:
        problem = f"are not a number of bursts of {stream.burst_frames}"
        raise PlanError(f"{generator.path}/total-frames", problem, "give a multiple of frames-per-burst")
    burst_ns = stream.burst_frames * slot_ns + time_ns(stream.burst_gap - stream.gap)
    return _bursts(total, stream.burst_frames, burst_ns, slot_ns, 0)


def _turns(generator: Generator, time_ns: Callable[[float], float]) -> list[Timing]:
    """Of streams that take turns."""
    frames = [stream.frames or 1 for stream in generator.streams]
    octets = [
        count * stream.slot + stream.stream_gap - stream.gap
        for stream, count in zip(generator.streams, frames, strict=True)
    ]
    rounds, rest = divmod(generator.total_frames or 0, sum(frames))
    if rest:
        problem = f"are not a number of rounds of {sum(frames)} frames"
        raise PlanError(f"{generator.path}/total-frames", problem, "give a multiple of all frames-per-stream together")
    round_ns, found = time_ns(sum(octets)), []
    for place, (stream, count) in enumerate(zip(generator.streams, frames, strict=True)):
        total = None if generator.total_frames is None else rounds * count
        start_ns = round(time_ns(sum(octets[:place])))
        found.append(_bursts(total, count, round_ns, time_ns(stream.slot), start_ns))
    return found


def _bursts(total: int | None, count: int, period_ns: float, slot_ns: float, start_ns: int) -> Timing:
    pacing = Bursts(burst_frames=count, gap_ns=round(slot_ns))
    return _timing(total, count * NS_PER_S / period_ns, start_ns, pacing)


def _timing(total: int | None, frames_per_second: float, start_ns: int, pacing: Pacing) -> Timing:
    duration_ns = CONTINUOUS_NS if total is None else max(1, round(total * NS_PER_S / frames_per_second))
    return Timing(frames_per_second, total, duration_ns, start_ns, pacing)
