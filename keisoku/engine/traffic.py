"""How the ports of a tester share a trial's load: routes between ports, and what each route carries.

Turns a trial into the streams and frames that a core carries out. It knows addresses because it was
told; it opens nothing and sends nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from keisoku.frame.headers import Ends, least_frame_bytes
from keisoku.frame.stack import parse
from keisoku.frame.variants import Frames, frames
from keisoku.record.trial import Constant, Pacing, Stream, Trial


@dataclass(frozen=True)
class Route:
    """The way of frames from one port of the tester to another; ports are indices."""

    transmit: int
    receive: int
    ends: Ends
    growth_bytes: int = 0
    """How much longer the device makes a frame on this way."""
    back: Ends | None = None
    """For the learning frames that the receiving port sends; None: it sends none."""


@dataclass(frozen=True)
class Content:
    """What a stream consists of."""

    headers: str
    """A stack in Scapy's notation, or 'ethernet', 'ipv4', 'ipv6'."""
    sizes: tuple[int, ...] | None = None
    """Frame sizes in turn, FCS included; None: the trial's."""
    modifiers: tuple[str, ...] = ()
    pacing: Pacing = Constant()
    weight: float = 1.0
    """Share of its port's frames, relative to the port's other streams."""


@dataclass
class Traffic:
    """Every content on every route. The load of a trial is that of each transmitting port."""

    routes: Sequence[Route]
    contents: Sequence[Content]
    seed: int = 0
    _made: dict[tuple[int, tuple[int, ...]], Frames] = field(default_factory=dict, repr=False)

    @property
    def transmitting(self) -> list[int]:
        """Ports that send, in order."""
        return sorted({route.transmit for route in self.routes})

    @property
    def receiving(self) -> list[int]:
        """Ports that frames are meant for, in order."""
        return sorted({route.receive for route in self.routes})

    def streams(self, trial: Trial) -> list[Stream]:
        """The trial's streams; their tables are numbered alike."""
        return [
            Stream(
                transmit=route.transmit,
                receive=route.receive,
                table=number,
                frame_bytes=self._sizes(content, trial.frame_bytes),
                frames_per_second=trial.frames_per_second * share,
                pacing=content.pacing,
                frames=max(1, round(trial.frames * share)),
                tag=trial.tag,
                growth_bytes=route.growth_bytes,
            )
            for number, (route, content, share) in enumerate(self._shares())
        ]

    def tables(self, frame_bytes: int) -> list[Frames]:
        """The frames of each stream. Raises PlanError for headers, modifiers or sizes that cannot be."""
        return [
            self._frames(number, route, content, self._sizes(content, frame_bytes))
            for number, (route, content, _) in enumerate(self._shares())
        ]

    @property
    def least_frame_bytes(self) -> int:
        """The smallest frame that every content's headers and the signature leave room for."""
        return max(least_frame_bytes(parse(content.headers)) for content in self.contents)

    def learning(self) -> tuple[list[tuple[int, bytes]], list[tuple[int, bytes]]]:
        """Frames by which a DUT learns who is where (RFC 2544 §23 c), each with the port that sends it.

        First those from the receiving ends of the routes back, then those along the routes.
        """
        least = self.least_frame_bytes
        back = [
            (route.receive, frames(self.contents[0].headers, (least,), route.back).frame(0))
            for route in self.routes
            if route.back is not None
        ]
        forward = {table.frame(0): route.transmit for table, (route, _, _) in zip(self.tables(least), self._shares(), strict=True)}
        return back, [(port, frame) for frame, port in forward.items()]

    def summary(self) -> dict[str, object]:
        """What a record must say of it; JSON values only."""
        return {
            "routes": [f"{route.transmit + 1} to {route.receive + 1}" for route in self.routes],
            "contents": [
                {
                    "headers": content.headers,
                    "sizes": content.sizes and list(content.sizes),
                    "modifiers": list(content.modifiers),
                    "pacing": content.pacing.model_dump(mode="json"),
                    "weight": content.weight,
                }
                for content in self.contents
            ],
        }

    def _shares(self) -> list[tuple[Route, Content, float]]:
        share = {port: sum(route.transmit == port for route in self.routes) for port in self.transmitting}
        weights = sum(content.weight for content in self.contents)
        return [
            (route, content, content.weight / weights / share[route.transmit])
            for route in self.routes
            for content in self.contents
        ]

    @staticmethod
    def _sizes(content: Content, frame_bytes: int) -> tuple[int, ...]:
        return content.sizes or (frame_bytes,)

    def _frames(self, number: int, route: Route, content: Content, sizes: tuple[int, ...]) -> Frames:
        key = (number, sizes)
        if key not in self._made:
            beside = sum(other.transmit == route.transmit for other in self.routes) * len(self.contents)
            self._made[key] = frames(
                content.headers, sizes, route.ends, content.modifiers, self.seed + number, streams=beside
            )
        return self._made[key]
