"""Chooses the engines of ports that a user named without one, by a self-test of about a second.

Which engine is fastest depends on the driver: published rates of XDP frames from BPF differ by a factor of six between
two NICs. So each engine carries the run's own frames, as many as it can, and what comes out of the device decides. A
port whose frames a script defines sends nothing else; there the driver's features decide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import get_args

from keisoku.errors import EngineError
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.engine.engine import Engine
from keisoku.subjects.device.engine.wired_port import WiredPort
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.interference import PortEngine
from keisoku.subjects.device.record.trial import NS_PER_S, Phases, Trial

ENGINES: tuple[PortEngine, ...] = get_args(PortEngine)
"""In the order of preference: a program stamps closer to the wire than a socket, and sends what BPF paces."""
ALIKE = 0.98
"""An earlier engine of `ENGINES` is preferred to a faster one if it reaches this share of its rate."""
TRIALS = 2
"""The best of so many trials counts: other work on the host only makes an engine slower."""
TRIAL_S = 0.1
_BEYOND_ANY_PORT_FPS = 100e6
_STREAM = 0
_UNTESTED = "not tested, because only frames of the script may be sent"

Alternatives = Mapping[PortEngine, WiredPort]
"""A port in the form of each engine that may be chosen, the likely one first."""
Opener = Callable[[Sequence[WiredPort]], Engine]


@dataclass(frozen=True)
class EngineChoice:
    """The engine of one port, and why."""

    interface: str
    engine: PortEngine
    frames_per_second: dict[PortEngine, tuple[float, ...]] = field(default_factory=dict)
    """Frames/s of each engine that came out of the device, of the port's own if it sends; 0 where none did. One for
    each size of `frame_bytes`."""
    frame_bytes: tuple[int, ...] = ()
    """The smallest and the largest size of the run's frames, with FCS."""
    refusals: dict[PortEngine, str] = field(default_factory=dict)
    """Why an engine cannot be used."""
    untested: str | None = None
    """Why there was no self-test."""

    @property
    def sentence(self) -> str:
        """For the user."""
        if self.untested is not None:
            return phrase(
                "{interface}: engine {engine}, by the driver's features ({untested})",
                interface=self.interface,
                engine=self.engine,
                untested=self.untested,
            )
        rates = [
            f"{name} {' / '.join(f'{rate / 1e6:.2f}' for rate in found)}"
            for name, found in self.frames_per_second.items()
        ]
        tested = phrase(
            "a self-test forwarded {rates} million frames/s of {sizes} byte",
            rates=join_texts(", ", rates),
            sizes=" / ".join(map(str, self.frame_bytes)),
        )
        refused = join_texts(
            "", [phrase("; {name} is refused: {why}", name=name, why=why) for name, why in self.refusals.items()]
        )
        return phrase(
            "{interface}: engine {engine}, because {tested}{refused}",
            interface=self.interface,
            engine=self.engine,
            tested=tested,
            refused=refused,
        )


def by_features(ports: Sequence[Alternatives]) -> dict[int, EngineChoice]:
    """The likely engines, by port."""
    likely = {number: next(iter(port.values())) for number, port in enumerate(ports) if len(port) > 1}
    return {number: EngineChoice(port.interface, port.engine, untested=_UNTESTED) for number, port in likely.items()}


def by_self_test(
    ports: Sequence[Alternatives], loads: Mapping[int, float | None], opened: Opener
) -> list[EngineChoice]:
    """The choice for each port, in order; those with one alternative keep it.

    `loads`: frames/s of the line by each size of frames that is tried, None where it has no rate. `opened` opens an
    engine on ports. Raises EngineError if no engine can be opened.
    """
    test = _SelfTest(ports, loads, opened)
    for engine in ENGINES:
        test.try_engine(engine)
    return [test.choice(number) for number in range(len(ports))]


class _SelfTest:
    def __init__(self, ports: Sequence[Alternatives], loads: Mapping[int, float | None], opened: Opener) -> None:
        self._ports, self._opened = ports, opened
        self._trials = [
            Trial(
                purpose="choice of the engine",
                frame_bytes=size,
                frames_per_second=fps or _BEYOND_ANY_PORT_FPS,
                duration_ns=round(TRIAL_S * NS_PER_S),
                phases=Phases(learning_wait_ns=0, drain_ns=NS_PER_S // 100, rest_ns=0),
            )
            for size, fps in loads.items()
        ]
        self._refusals: list[dict[PortEngine, str]] = [{} for _ in ports]
        self._rates: list[dict[PortEngine, tuple[float, ...]]] = [{} for _ in ports]

    def try_engine(self, engine: PortEngine) -> None:
        """Tests an engine at all ports that may have it; others have what works there."""
        while wanting := [place for place in range(len(self._ports)) if self._may(place, engine)]:
            ports = [port[self._at(place, engine)] for place, port in enumerate(self._ports)]
            try:
                rates = self._measure(ports)
            except EngineError as error:
                # The core's sentences begin with the interface that they are about.
                about = [place for place in wanting if str(error).startswith(f"{ports[place].interface}:")]
                for place in about or wanting:
                    self._refusals[place][engine] = str(error).removeprefix(f"{ports[place].interface}: ")
                if engine == ENGINES[-1] and not any(self._rates):
                    raise
                continue
            for place in wanting:
                self._rates[place][engine] = rates[place]
            return

    def choice(self, place: int) -> EngineChoice:
        port, rates = self._ports[place], self._rates[place]
        best = [max(of_size) for of_size in zip(*rates.values(), strict=True)]
        # By the size at which an engine is furthest behind the best one.
        share = {name: min(_share(*pair) for pair in zip(found, best, strict=True)) for name, found in rates.items()}
        able = [engine for engine in ENGINES if engine in share and share[engine] >= ALIKE * max(share.values())]
        chosen = able[0] if able else next(iter(port))
        sizes = tuple(trial.frame_bytes for trial in self._trials)
        return EngineChoice(port[chosen].interface, chosen, rates, sizes, self._refusals[place])

    def _may(self, place: int, engine: PortEngine) -> bool:
        port = self._ports[place]
        return len(port) > 1 and engine in port and engine not in self._refusals[place]

    def _at(self, place: int, engine: PortEngine) -> PortEngine:
        if engine in self._ports[place] and engine not in self._refusals[place]:
            return engine
        return "packet" if "packet" in self._ports[place] else next(iter(self._ports[place]))

    def _measure(self, ports: Sequence[WiredPort]) -> list[tuple[float, ...]]:
        """Frames/s of each port, by size; of the best trial."""
        with closing(self._opened(ports)) as engine:
            found = []
            for trial in self._trials:
                tried = []
                for _ in range(TRIALS):
                    engine.start(trial, _STREAM, 0)
                    tried.append(_rates(trial, engine.finish()[0], len(ports)))
                found.append([max(rates) for rates in zip(*tried, strict=True)])
        return list(zip(*found, strict=True))


def _share(rate: float, best: float) -> float:
    return rate / best if best else 1.0


def _rates(trial: Trial, facts: Facts, ports: int) -> list[float]:
    """Frames/s that came through the device: sent by a port, or received there if it sends none. A sender that a busy
    host let send for a moment was no faster for that: the time is at least the trial's."""
    sending = {transmitter.port: transmitter.sent for transmitter in facts.transmitters}
    total = max(trial.duration_ns, *(sent.last_sent_ns - sent.first_sent_ns for sent in sending.values()))
    forwarded = [0] * ports
    for stream in facts.streams:
        for port in {stream.transmit, stream.receive}:
            if port == stream.transmit or port not in sending:
                forwarded[port] += stream.tracked.forwarded_frames
    return [frames * NS_PER_S / total for frames in forwarded]
