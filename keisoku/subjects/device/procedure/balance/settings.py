"""The settings of the balance of ECMP and LAG: how many flows, what differs between them, and what is expected."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_network
from math import ceil, isqrt

from pydantic import Field, ValidationInfo, field_validator

from keisoku.errors import PlanError
from keisoku.ground.frame.field_bits import check_name
from keisoku.ground.statistics.multinomial import CONFIDENCE, number_needed
from keisoku.subjects.device.method.event_settings import EventSettings
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.plan.rate import Load

MOST_FLOWS = 100_000
"""Of all trials together."""
TRIAL_FLOWS = 4093
"""Of one trial: the largest prime that the streams of a port allow."""
ELEPHANT = 100
"""So many times the frames of another flow an elephant has."""


class BalanceSettings(EventSettings):
    """Many flows from the first port to the members of an ECMP group or LAG, which are the other ports."""

    flows: int | None = Field(None, ge=2, le=MOST_FLOWS)
    """Number of flows; the next prime is taken (default: as many as the resolution needs)."""
    resolution_percent: float = Field(2.0, gt=0, le=25)
    """Of all flows: a member whose share is off by twice as much is found with a probability of 95 %."""
    weights: str = ""
    """Expected shares of the members, relative to each other, such as 1:2:1 (default: equal)."""
    frames_per_flow: int = Field(10, ge=2, le=1_000_000)
    """Frames of each flow: a flow with frames at several members is sprayed."""
    elephants: int = Field(0, ge=0, le=TRIAL_FLOWS)
    """So many of the flows have a hundred times as many frames."""
    rate_fps: Load | None = None
    """Load, which all flows share (default: 10 000 frames/s, or the maximum of the link if that is less)."""
    vary: str = ""
    """Header fields that differ between flows, such as UDP.sport,IP.src (default: source MAC address, IP addresses,
    ports and flow label, as far as the frames have them)."""
    sources: str = ""
    """Network of the source addresses (default: 198.18.192.0/18 or 2001:2:0:ffff::/64)."""
    destinations: str = ""
    """Network behind all members, of the destination addresses (default: the destination address is constant)."""
    fields: bool = False
    """Vary each header field alone as well, and say which of them decide."""

    @field_validator("weights")
    @classmethod
    def _weights(cls, text: str) -> str:
        try:
            is_wrong = bool(text) and any(float(part) <= 0 for part in text.split(":"))
        except ValueError:
            is_wrong = True
        if is_wrong:
            raise PlanError("balance.weights", f"'{text}' is no list of shares", "write for example 1:2:1")
        return text

    @field_validator("vary")
    @classmethod
    def _vary(cls, text: str) -> str:
        for name in text.split(",") if text else ():
            check_name("balance.vary", name.strip())
        return text

    @field_validator("sources", "destinations")
    @classmethod
    def _network(cls, text: str, info: ValidationInfo) -> str:
        if text:
            network(f"balance.{info.field_name}", text)
        return text

    @property
    def varied(self) -> tuple[str, ...]:
        """Names of the fields that were asked for; empty: the usual ones."""
        return tuple(name.strip() for name in self.vary.split(",")) if self.vary else ()

    def expected(self, members: int) -> list[float]:
        """The share of each member, a ratio. Raises PlanError for weights that are not as many."""
        if not self.weights:
            return [1 / members] * members
        weights = [float(part) for part in self.weights.split(":")]
        if len(weights) != members:
            problem = f"{len(weights)} weights are for {members} members"
            raise PlanError("balance.weights", problem, "give one for each port but the first")
        return [weight / sum(weights) for weight in weights]

    def number(self, expected: Sequence[float], confidence: float = CONFIDENCE) -> int:
        """How many flows there are in all trials. Raises PlanError if the resolution needs more than `MOST_FLOWS`."""
        if self.flows is not None:
            return sum(parts(self.flows))
        deviation = 2 * self.resolution_percent / 100
        try:
            found = number_needed(expected, deviation, confidence=confidence)
        except ValueError:
            found = MOST_FLOWS + 1
        if found > MOST_FLOWS:
            problem = f"{self.resolution_percent:g} % needs more than {MOST_FLOWS} flows"
            raise PlanError("balance.resolution_percent", problem, "give a larger one, or the number of flows")
        return sum(parts(found))


def network(where: str, text: str) -> IPv4Network | IPv6Network:
    """Addresses with the length of their prefix. Raises PlanError naming `where`."""
    try:
        return ip_network(text, strict=False)
    except ValueError:
        raise PlanError(where, f"'{text}' is no network", "write for example 198.19.0.0/16") from None


def members_of(plan: Plan) -> list[int]:
    """Indices of the receiving ports."""
    return list(range(1, len(plan.port_fields())))


def confidence_of(plan: Plan) -> float:
    """That of each size's intervals, so that they are right together."""
    return 1 - (1 - CONFIDENCE) / len(plan.frame_bytes)


def parts(flows: int) -> list[int]:
    """The flows of each trial: primes, of which the sum is at least so many."""
    trials = ceil(flows / TRIAL_FLOWS)
    return [prime(ceil(flows / trials))] * trials


def prime(least: int) -> int:
    """The first prime that is not less. Flows of one rate send in turn; if members took frames in turn as well, and the
    one number divided the other, each flow would always meet the same member, as if by a hash."""
    while any(least % factor == 0 for factor in range(2, isqrt(least) + 1)):
        least += 1
    return least
