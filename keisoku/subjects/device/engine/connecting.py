"""The connections of a trial: their frames, from where each arrived, and what became of them. Sends nothing.

The core keeps two words of each frame that arrives: its source address, and its ports. A NAT chooses the address and
the source port, so the responder answers to these.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from keisoku.ground.frame.headers import Ends
from keisoku.ground.frame.port_pairs import port_pairs
from keisoku.ground.frame.stack import parse
from keisoku.ground.frame.variants import Frames, numbered
from keisoku.subjects.device.record.counts import Ranges
from keisoku.subjects.device.record.opening import Opened, Opening, Pool
from keisoku.subjects.device.record.trial import Connections

PLACES = 26, 34
"""Where the source address and the ports of an IPv4 and UDP or TCP header without tag and options are in a frame."""
INITIATOR = 0
"""The port that opens connections."""
MOST_RANGES = 4096
"""Of connections that failed, in one record; the count stays complete."""
_WORD_BYTES = 8
Errors = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Source and destination ports of connections, as the initiator sends them."""
NO_ERRORS: Errors = (np.zeros(0, np.int64), np.zeros(0, np.int64))
_UDP = re.compile(r"UDP\([^)]*\)")
_SYN = "TCP(seq=1000, flags='S')"
_SYN_ACK = "TCP(seq=2000, ack=1001, flags='SA')"
"""It acknowledges the SYN alone, not the test frame's payload (RFC 9293, clause 3.4)."""
_OUT = "TCP(seq=1001, ack=2001, flags='A')"
_IN = "TCP(seq=2001, ack=1001, flags='A')"
"""Of an established connection: each frame is the same segment again, which lies in the other end's window."""
RETURNED = 2
"""The word of a frame that came back to its sender as a whole in an ICMP error (`core/src/account.rs`)."""


@dataclass(frozen=True)
class Connecting:
    """The connections of one opening, and from where their frames arrived, as far as that is known."""

    opening: Opening
    words: bytes = b""
    """As the core hands them over; empty before the connections were opened."""
    established: bool = False
    """TCP's handshake is at its last frame, or behind it."""

    @cached_property
    def ports(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Source and destination port of each, as the initiator sends them."""
        own = self.opening
        return port_pairs(
            own.connections, own.source_ports, own.destination_ports, own.order == "pseudorandom", own.seed
        )

    @cached_property
    def arrived(self) -> NDArray[np.bool_]:
        """Of each, whether its frame arrived."""
        return _arrived(self.words)

    @cached_property
    def addresses_on_arrival(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Source address, source port and destination port of each as its frame arrived; zeros if none did."""
        found = np.frombuffer(self.words, np.uint8).reshape(-1, _WORD_BYTES).astype(np.int64)
        address = found[:, 0] << 24 | found[:, 1] << 16 | found[:, 2] << 8 | found[:, 3]
        return address, found[:, 4] << 8 | found[:, 5], found[:, 6] << 8 | found[:, 7]

    @cached_property
    def answered(self) -> NDArray[np.int64]:
        """Of each connection, which one an answer goes to in its place: itself, or, as nobody knows from where a
        connection came that did not arrive, one of those that did in turn."""
        own = np.arange(self.opening.connections)
        if self.arrived.any():
            known = np.flatnonzero(self.arrived)
            own[~self.arrived] = known[np.arange(int((~self.arrived).sum())) % len(known)]
        return own

    def opens(self, stack: str, size: int, ends: Ends) -> Frames:
        """A frame of each connection from the initiator."""
        sources, destinations = self.ports
        stack, layer = self._stack(stack, _OUT if self.established else _SYN), self._layer
        return numbered(stack, size, ends, {f"{layer}.sport": sources, f"{layer}.dport": destinations})

    def answers(self, stack: str, size: int, ends: Ends) -> Frames:
        """A frame of each connection from the responder."""
        address, source, destination = (own[self.answered] for own in self.addresses_on_arrival)
        stack, layer = self._stack(stack, _IN if self.established else _SYN_ACK), self._layer
        fields = {"IP.dst": address, f"{layer}.dport": source, f"{layer}.sport": destination}
        return numbered(stack, size, ends, fields)

    @property
    def _layer(self) -> str:
        return self.opening.transport.upper()

    def _stack(self, stack: str, tcp: str) -> str:
        """The headers of UDP frames; where connections are TCP's, with this header in place of UDP's."""
        return _UDP.sub(tcp, parse(stack).text) if self.opening.transport == "tcp" else stack

    def belonging(self, opens: bool) -> Connections:
        """Which connections a simulated device is told that frames belong to."""
        whole = opens or bool(self.arrived.all())
        numbers = None if whole else tuple(self.answered.tolist())
        return Connections(count=self.opening.connections, numbers=numbers, opens=opens)

    def outcome(self, then: Sequence[bytes], forgot_ns: int | None, errors: Errors = NO_ERRORS) -> Opened:
        """What became of the connections. `then`: the words of the loads with a frame of each that came after the
        opening, such as the answers; `errors`: the pairs of ports of which the device told the initiator."""
        forgotten = np.zeros_like(self.arrived)
        for words in then:
            forgotten |= self.arrived & ~_arrived(words)
        told = self._returned | np.isin(_keys(*self.ports), _keys(*errors))
        return Opened(
            refused=_ranges(np.flatnonzero(~self.arrived)),
            forgotten=_ranges(np.flatnonzero(forgotten)),
            reset=_ranges(np.flatnonzero((~self.arrived | forgotten) & told)),
            taken=_ranges(np.flatnonzero(forgotten & self._shared)),
            pool=self._pool(),
            forgot_ns=forgot_ns,
        )

    @property
    def _returned(self) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = np.frombuffer(self.words, np.uint64) == RETURNED
        return found

    @property
    def _shared(self) -> NDArray[np.bool_]:
        """Of each, whether another one came from the same outer address and port, to the same port."""
        address, source, destination = self.addresses_on_arrival
        _, place, often = np.unique(
            np.stack([address, source, destination]), axis=1, return_inverse=True, return_counts=True
        )
        found: NDArray[np.bool_] = self.arrived & (often[place.reshape(-1)] > 1)
        return found

    def _pool(self) -> Pool | None:
        if not self.arrived.any():
            return None
        address, source, destination = (own[self.arrived] for own in self.addresses_on_arrival)
        tuples = np.unique(np.stack([address, source, destination]), axis=1).shape[1]
        return Pool(
            addresses=len(np.unique(address)),
            source_ports=len(np.unique(source)),
            least_port=int(source.min()),
            most_port=int(source.max()),
            kept_ports=int((source == self.ports[0][self.arrived]).sum()),
            shared=len(address) - tuples,
        )


def _arrived(words: bytes) -> NDArray[np.bool_]:
    own = np.frombuffer(words, np.uint64)
    found: NDArray[np.bool_] = (own != 0) & (own != RETURNED)
    return found


def _keys(sources: NDArray[np.int64], destinations: NDArray[np.int64]) -> NDArray[np.int64]:
    """A number for each pair of ports."""
    return sources << 16 | destinations


def _ranges(numbers: NDArray[np.int64]) -> Ranges:
    """Of sorted numbers."""
    if not numbers.size:
        return Ranges(count=0, ranges=[], complete=True)
    breaks = np.flatnonzero(np.diff(numbers) > 1)
    first, last = numbers[np.concatenate(([0], breaks + 1))], numbers[np.concatenate((breaks, [-1]))]
    found: Sequence[tuple[int, int]] = list(zip(first.tolist(), last.tolist(), strict=True))
    return Ranges(count=numbers.size, ranges=list(found[:MOST_RANGES]), complete=len(found) <= MOST_RANGES)
