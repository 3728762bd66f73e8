"""`Spread`: over which ports a simulated device spreads flows, by which header fields, and what it does when it loses
one of them. It chooses ports; it holds no frame."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Annotated, Literal

from pydantic import Field, model_validator

from keisoku.errors import PlanError
from keisoku.ground.simulated_device.section import Port, Section

EVENT = "member-lost"
"""What a device that spreads offers."""
_WHOLE = 1 << 64


class Spread(Section):
    """Frames whose flow may leave by several ports are spread over some (ECMP, a LAG). A flow is a stream of the trial;
    of frames that differ within a stream the first counts."""

    ports: list[Port] = Field(min_length=2)
    """The members."""
    weights: list[Annotated[float, Field(gt=0)]] | None = None
    """Their shares, relative to each other (default: equal)."""
    fields: list[str] = Field([])
    """Header fields that decide, such as 'IP.src' (default: none, and all flows take one port)."""
    seed: int = Field(0, ge=0)
    """Of the hash."""
    mapping: Literal["threshold", "modulo"] = "threshold"
    """How a hash chooses a member: by the part of its range that it is in (RFC 2992), or by the remainder."""
    turns: bool = False
    """Each new flow takes the next member, instead of one that a hash chooses."""
    stages: list[Annotated[int, Field(ge=1)]] | None = Field(None, min_length=2, max_length=2)
    """Two stages: outputs of the first, and of each device of the second behind it; their product is the number of
    ports."""
    same_hash: bool = False
    """Both stages have one hash, which polarises."""
    spray_frames: int | None = Field(None, ge=1)
    """After so many frames, by its mean rate, a flow takes a member at random: 1 is every frame (default: never)."""
    lost: Port | None = None
    """The member that the event 'member-lost' takes away (default: the last)."""
    outage_ns: int = Field(50_000_000, ge=1, le=10**15)
    """For how long its flows then lose every frame, before others take over."""
    resilient: bool = False
    """Only flows of the lost member move."""

    @model_validator(mode="after")
    def _check(self) -> Spread:
        from keisoku.ground.frame.field_bits import check_name  # few devices spread anything

        for name in self.fields:
            check_name("spread.fields", name)
        if len(set(self.ports)) < len(self.ports):
            raise PlanError("spread.ports", "a port is listed twice", "list each once")
        if self.weights is not None and len(self.weights) != len(self.ports):
            problem = f"{len(self.weights)} weights are for {len(self.ports)} ports"
            raise PlanError("spread.weights", problem, "give one for each port")
        if self.stages is not None and self.stages[0] * self.stages[1] != len(self.ports):
            problem = f"{self.stages[0]} times {self.stages[1]} is not the number of ports, {len(self.ports)}"
            raise PlanError("spread.stages", problem, "list the ports of the whole second stage")
        if self.weights is not None and (self.stages is not None or self.mapping == "modulo" or self.turns):
            problem = "they go with one stage and a threshold only"
            raise PlanError("spread.weights", problem, "leave them out, or stages, modulo and turns")
        if self.same_hash and self.stages is None:
            raise PlanError("spread.same_hash", "there is one stage", "add spread.stages, or leave it out")
        if self.lost is not None and self.lost not in self.ports:
            raise PlanError("spread.lost", f"port {self.lost} is no member", "use one of spread.ports")
        return self

    @property
    def lost_port(self) -> int:
        """The member that is lost."""
        return self.lost or self.ports[-1]

    def chosen(self, flows: Sequence[bytes]) -> list[int]:
        """The port of each flow, by the bits of its fields; equal bits are one flow."""
        if self.turns:
            places = {bits: place for place, bits in enumerate(dict.fromkeys(flows))}
            return [self.ports[(self.seed + places[bits]) % len(self.ports)] for bits in flows]
        return [self.ports[self._place(bits)] for bits in flows]

    def without_lost(self, flows: Sequence[bytes]) -> list[int]:
        """The same while a member is lost."""
        left = [port for port in self.ports if port != self.lost_port]
        weights = None
        if self.weights is not None:
            pairs = zip(self.ports, self.weights, strict=True)
            weights = [weight for port, weight in pairs if port != self.lost_port]
        # A flow that moves alone draws again: its old number would always be in the part of the lost member.
        purpose = 2 if self.resilient else 0
        again = [left[self._member(self._number(bits, purpose), len(left), weights)] for bits in flows]
        if not self.resilient:
            return again
        pairs_of = zip(self.chosen(flows), again, strict=True)
        return [other if port == self.lost_port else port for port, other in pairs_of]

    def at_random(self, flow: int, turn: int) -> int:
        """The port of a sprayed flow for the next frames."""
        return self.ports[self._member(self._number(f"{flow} {turn}".encode(), 3), len(self.ports), self.weights)]

    def _place(self, bits: bytes) -> int:
        if self.stages is None:
            return self._member(self._number(bits, 0), len(self.ports), self.weights)
        first, second = self.stages
        numbers = self._number(bits, 0), self._number(bits, 0 if self.same_hash else 1)
        return self._member(numbers[0], first) * second + self._member(numbers[1], second)

    def _number(self, bits: bytes, purpose: int) -> int:
        """A hash from 0 to 2⁶⁴ - 1."""
        key = self.seed.to_bytes(16, "big") + bytes([purpose])
        return int.from_bytes(blake2b(bits, digest_size=8, key=key).digest(), "big")

    def _member(self, number: int, members: int, weights: Sequence[float] | None = None) -> int:
        if weights is None:
            return number % members if self.mapping == "modulo" else number * members // _WHOLE
        ends, whole = 0.0, sum(weights)
        for place, weight in enumerate(weights):
            ends += weight / whole
            if number < ends * _WHOLE:
                return place
        return members - 1
