"""The datagrams that a simulated device exports about a trial: the bytes that a real one would send."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import pack

import numpy as np

from keisoku.ground.frame.payload import FCS_BYTES
from keisoku.ground.frame.variants import Frames
from keisoku.ground.simulated_device.telemetry import Telemetry
from keisoku.ground.telemetry.flow_key import flow_header
from keisoku.subjects.device.engine.exports import Datagram
from keisoku.subjects.device.record.facts import StreamFacts

_ADDRESS = "198.51.100.1"
_HEADER_BYTES = 128
_SAMPLES, _RECORDS = 8, 30
"""In a datagram."""


def simulated_exports(
    telemetry: Telemetry, streams: Sequence[StreamFacts], tables: Sequence[Frames], load_ns: int, seed: int
) -> list[Datagram]:
    """Those that arrive, in their order; each forwarded frame is sampled by itself, at any time of the load."""
    draw = np.random.default_rng([telemetry.seed, seed])
    share = 1 / (telemetry.truly_one_in or telemetry.one_in)
    known = draw.random(len(streams)) >= telemetry.missing
    passed = np.array([stream.tracked.forwarded_frames for stream in streams]) * known
    counted = sum(draw.binomial(passed, share) if share < 1 else passed for _ in range(telemetry.copies))
    if telemetry.protocol == "sflow":
        made = _samples(telemetry, np.asarray(counted), tables, load_ns, draw)
    else:
        made = _records(telemetry, np.asarray(counted), tables, load_ns)
    return [one for one in made if draw.random() >= telemetry.lost]


def _samples(
    telemetry: Telemetry, counted: np.ndarray, tables: Sequence[Frames], load_ns: int, draw: np.random.Generator
) -> Iterator[Datagram]:
    streams = np.repeat(np.arange(len(counted)), counted)
    draw.shuffle(streams)
    moments_ns = np.sort(draw.integers(0, load_ns, len(streams), endpoint=True))
    for sequence, first in enumerate(range(0, len(streams), _SAMPLES)):
        own = streams[first : first + _SAMPLES]
        head = pack("!2I4s4I", 5, 1, bytes(4), 0, sequence, 0, len(own))
        samples = [
            _sample(telemetry, first + place, tables[stream].frame(first + place)) for place, stream in enumerate(own)
        ]
        at_ns = int(moments_ns[first + len(own) - 1] + telemetry.delay_ns)
        yield Datagram(at_ns, _ADDRESS, head + b"".join(samples))


def _sample(telemetry: Telemetry, sequence: int, frame: bytes) -> bytes:
    header = frame[:_HEADER_BYTES]
    padded = header + bytes(-len(header) % 4)
    record = pack("!4I", 1, len(frame) + FCS_BYTES, FCS_BYTES, len(header)) + padded
    content = pack("!8I", sequence, 1, telemetry.one_in, 0, 0, 1, 2, 1) + pack("!2I", 1, len(record)) + record
    return pack("!2I", 1, len(content)) + content


def _records(telemetry: Telemetry, counted: np.ndarray, tables: Sequence[Frames], load_ns: int) -> Iterator[Datagram]:
    records = []
    for stream, frames in enumerate(counted.tolist()):
        frame = tables[stream].frame(0)
        found = flow_header(frame)
        if not frames or found is None or len(found.key.source) != 4:
            continue
        key, bytes_ = found.key, frames * (len(frame) - found.ip_at)
        numbers = pack("!HHIIIIHHBBBBHHBBH", 1, 2, frames, bytes_, 0, 0, key.source_port, key.destination_port,
                       0, 0, key.protocol, 0, 0, 0, 0, 0, 0)  # fmt: skip
        records.append(key.source + key.destination + bytes(4) + numbers)
    interval = telemetry.one_in if telemetry.one_in > 1 else 0
    at_ns = int(load_ns + telemetry.delay_ns)
    for first in range(0, len(records), _RECORDS):
        own = records[first : first + _RECORDS]
        head = pack("!HHIIIIBBH", 5, len(own), 0, 0, 0, first, 0, 0, interval)
        yield Datagram(at_ns, _ADDRESS, head + b"".join(own))
