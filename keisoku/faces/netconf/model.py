"""What a client has configured, of the modules ietf-traffic-generator and ietf-traffic-analyzer. Opens nothing.

Octets of gaps are octets of the line (draft-ietf-bmwg-network-tester-cfg): 20 is the least, with preamble and start
delimiter. Refusals name the path in the datastore.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn
from xml.etree import ElementTree

from keisoku.errors import PlanError
from keisoku.faces.otg.flow.header import ETHERNET_BYTES
from keisoku.ground.frame.payload import FCS_BYTES, SIGNATURE_BYTES
from keisoku.ground.frame.rates import OVERHEAD_BYTES

LEAST_GAP = OVERHEAD_BYTES
_LAST = SIGNATURE_BYTES + FCS_BYTES
"""Octets at the end of a frame that a client cannot choose."""
_KINDS = ("dynamic", "signature")
"""Types of frames whose last octets the tester writes."""
_OF_INTERFACE = ("name", "type", "enabled", "description", "link-up-down-trap-enable")
_OF_BURST = (
    "testframe-type",
    "frame-size",
    "frame-data",
    "interframe-gap",
    "interburst-gap",
    "frames-per-burst",
    "modifiers",
)
_OF_STREAM = (*_OF_BURST, "id", "frames-per-stream", "interstream-gap")
_OF_GENERATOR = (*_OF_BURST, "streams", "total-frames", "state")
_OF_ANALYZER = ("state", "capture")


@dataclass(frozen=True)
class Stream:
    """Frames of one size and one content, and the gaps behind them, in octets."""

    path: str
    number: int
    frame_bytes: int
    octets: bytes
    """Of the frame from its first octet on, as far as the client chooses them."""
    gap: int
    burst_frames: int | None
    """None: no bursts."""
    burst_gap: int
    """Behind the last frame of a burst, in place of `gap`."""
    frames: int | None
    """Before the next stream's; None: it is the only one."""
    stream_gap: int
    """Behind the last of them, in place of `gap`."""

    @property
    def slot(self) -> int:
        """Octets from the start of a frame to that of the next one."""
        return self.frame_bytes + self.gap


@dataclass(frozen=True)
class Generator:
    """A traffic generator."""

    path: str
    streams: tuple[Stream, ...]
    total_frames: int | None
    """None: until it is deleted."""


@dataclass(frozen=True)
class Interface:
    """An interface of the tester, whose name is the location of a port."""

    name: str
    path: str
    generator: Generator | None
    analyzes: bool


def interfaces(config: str) -> tuple[Interface, ...]:
    """Those of a datastore, as XML without namespaces, that generate or analyze. Raises PlanError for what keisoku does
    not carry out."""
    root = ElementTree.fromstring(config)
    found = [_interface(each) for each in root.iterfind("interfaces/interface")]
    return tuple(one for one in found if one.generator is not None or one.analyzes)


class _Node:
    """A container or list entry of the datastore, with its path. What has another name than those is refused."""

    def __init__(self, element: ElementTree.Element, path: str, known: Sequence[str]) -> None:
        self._element, self.path = element, path
        for child in element:
            if child.tag not in known:
                raise PlanError(f"{path}/{child.tag}", "is not supported", "leave it out")

    def text(self, name: str) -> str | None:
        return self._element.findtext(name)

    def count(self, name: str) -> int | None:
        found = self.text(name)
        return None if found is None else int(found)

    def children(self, name: str) -> Iterator[ElementTree.Element]:
        return self._element.iterfind(name)

    def has(self, name: str) -> bool:
        return self._element.find(name) is not None

    def refuse(self, name: str, problem: str, remedy: str) -> NoReturn:
        raise PlanError(f"{self.path}/{name}", problem, remedy)


def _interface(element: ElementTree.Element) -> Interface:
    name = element.findtext("name") or ""
    path = f"/interfaces/interface[name='{name}']"
    node = _Node(element, path, (*_OF_INTERFACE, "traffic-generator", "traffic-analyzer"))
    if (node.text("type") or "").rpartition(":")[2] != "ethernetCsmacd":
        node.refuse("type", "a port of the tester is Ethernet", "use ethernetCsmacd")
    if node.text("enabled") == "false":
        node.refuse("enabled", "keisoku sets no interface down", "leave it out")
    generator = next(
        (_generator(each, f"{path}/traffic-generator") for each in node.children("traffic-generator")), None
    )
    analyzers = [_Node(each, f"{path}/traffic-analyzer", _OF_ANALYZER) for each in node.children("traffic-analyzer")]
    return Interface(name, path, generator, bool(analyzers))


def _generator(element: ElementTree.Element, path: str) -> Generator | None:
    """None where the container is empty: it has no presence of its own."""
    node = _Node(element, path, _OF_GENERATOR)
    several = [_stream(each, f"{path}/streams", True) for each in node.children("streams/stream")]
    if several:
        streams = _inherited(sorted(several, key=lambda stream: stream.number))
    elif node.has("frame-size"):
        streams = _inherited([_stream(element, path, False)])
    else:
        return None
    total = node.count("total-frames")
    if total == 0:
        node.refuse("total-frames", "is no number of frames to send", "delete the generator instead")
    return Generator(path, streams, total)


def _stream(element: ElementTree.Element, path: str, several: bool) -> Stream:
    number = int(element.findtext("id") or 0) if several else 0
    node = _Node(
        element, f"{path}/stream[id='{number}']" if several else path, _OF_STREAM if several else _OF_GENERATOR
    )
    for _ in node.children("modifiers/modifier"):
        node.refuse("modifiers", "frames of a stream differ in their signature only", "use a stream for each content")
    size, gap = node.count("frame-size") or 0, node.count("interframe-gap")
    burst, burst_gap = node.count("frames-per-burst"), node.count("interburst-gap")
    frames, stream_gap = (node.count(name) if several else None for name in ("frames-per-stream", "interstream-gap"))
    for name, value in (("interframe-gap", gap), ("interburst-gap", burst_gap), ("interstream-gap", stream_gap)):
        if value is not None and value < LEAST_GAP:
            least = f"no port leaves less than {LEAST_GAP} octets, with preamble and start delimiter"
            node.refuse(name, f"is {value}, and {least}", "give more")
    if (burst is None) != (burst_gap is None):
        node.refuse("frames-per-burst", "bursts need frames-per-burst and interburst-gap", "give both, or none")
    if burst == 0 or frames == 0:
        node.refuse("frames-per-burst" if burst == 0 else "frames-per-stream", "is 0", "give at least 1")
    if burst is not None and several:
        node.refuse("frames-per-burst", "a stream of several is one burst", "use a stream for each burst")
    return Stream(
        node.path,
        number,
        size,
        _octets(node, size),
        gap or LEAST_GAP,
        burst,
        burst_gap or LEAST_GAP,
        frames,
        stream_gap or LEAST_GAP,
    )


def _octets(node: _Node, size: int) -> bytes:
    """What a client chooses; empty: nothing."""
    least = ETHERNET_BYTES + _LAST
    if size < least:
        problem = f"a frame of {size} octets has no room for Ethernet, keisoku's signature and the checksum"
        node.refuse("frame-size", problem, f"give {least} or more")
    digits = node.text("frame-data")
    octets = bytes.fromhex(digits or "")[:size]
    kind = (node.text("testframe-type") or "static").rpartition(":")[2]
    if kind not in (*_KINDS, "static"):
        node.refuse("testframe-type", f"keisoku sends no {kind}", "use nttg:dynamic")
    if digits is not None and len(octets) < ETHERNET_BYTES:
        node.refuse("frame-data", "is shorter than an Ethernet header", f"give {ETHERNET_BYTES} octets or more")
    if kind == "static" and len(octets) > size - _LAST:
        problem = f"each frame ends with keisoku's signature of {SIGNATURE_BYTES} octets, so these would not be static"
        remedy = f"use the testframe-type nttg:dynamic, or give {size - _LAST} octets at most"
        node.refuse("frame-data", problem, remedy)
    return octets[: size - _LAST]


def _inherited(streams: Sequence[Stream]) -> tuple[Stream, ...]:
    """A stream without data has that of the one before it."""
    found: list[Stream] = []
    for stream in streams:
        octets = stream.octets or (found[-1].octets[: stream.frame_bytes - _LAST] if found else b"")
        if not octets:
            problem = "is missing, so the frames have no addresses"
            raise PlanError(f"{stream.path}/frame-data", problem, "give at least the Ethernet header")
        found.append(replace(stream, octets=octets))
    return tuple(found)
