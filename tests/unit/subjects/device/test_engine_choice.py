"""The choice of an engine for ports that were named without one: which is chosen, and what is said of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from keisoku.errors import EngineError
from keisoku.subjects.device.engine.wired_port import WiredPort
from keisoku.subjects.device.plan.plan import parse
from keisoku.subjects.device.plan_testbed import wanted_testbed
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.interference import PortEngine
from keisoku.subjects.device.record.trial import NS_PER_S, Trial
from keisoku.subjects.device.testbed.engine_choice import ENGINES, Alternatives, by_features, by_self_test
from keisoku.subjects.device.testbed.requirements import OpenedPort, WantedPort

Speeds = dict[str, float | str | dict[int, float]]
"""By engine: frames/s that it forwards, of each size if they differ, or why it is refused."""
SIZES = 64, 9018


def port(name: str, engines: Sequence[PortEngine] = ENGINES) -> Alternatives:
    return {engine: WiredPort(engine, name, Path("/run/netns/x"), "02:00:00:00:00:01", 1500) for engine in engines}


class FakeEngine:
    """Forwards frames from the first port to the second at the speed of the sender's engine."""

    def __init__(self, ports: Sequence[WiredPort], speeds: dict[str, Speeds]) -> None:
        self.ports, self.frames = list(ports), 0.0
        for one in ports:
            found = speeds[one.interface][one.engine]
            if isinstance(found, str):
                raise EngineError(f"{one.interface}: {found}")
        sender = ports[0]
        speed = speeds[sender.interface][sender.engine]
        self.speed = speed if isinstance(speed, dict) else dict.fromkeys(SIZES, float(speed))
        self.trials = 0

    def start(self, trial: Trial, stream: int, seed: int, frames: object = None) -> None:
        self.trials += 1
        # The first trial of an engine is disturbed: the best one counts.
        self.frames = self.speed[trial.frame_bytes] * (0.5 if self.trials == 1 else 1.0) * trial.duration_ns / NS_PER_S
        self.duration_ns = trial.duration_ns

    def finish(self) -> tuple[Facts, float]:
        tracked = type("Tracked", (), {"forwarded_frames": round(self.frames)})
        stream = type("Stream", (), {"transmit": 0, "receive": 1, "tracked": tracked})
        sent = type("Sent", (), {"first_sent_ns": 0, "last_sent_ns": self.duration_ns})
        sender = type("Transmitter", (), {"port": 0, "sent": sent})
        facts: Any = type("Facts", (), {"transmitters": [sender], "streams": [stream]})
        return facts, 0.1

    def close(self) -> None:
        pass


def choose(ports: Sequence[Alternatives], speeds: dict[str, Speeds]) -> list[Any]:
    loads = dict.fromkeys(SIZES)
    return by_self_test(ports, loads, lambda chosen: FakeEngine(chosen, speeds))  # type: ignore[arg-type,return-value]


ALL_SAME: Speeds = {"xdp": 1e6, "afxdp": 1e6, "packet": 1e6}


@pytest.mark.parametrize(
    ("speeds", "chosen"),
    [
        ({"xdp": 2e6, "afxdp": 1e6, "packet": 0.5e6}, "xdp"),
        ({"xdp": 1e6, "afxdp": 2e6, "packet": 0.5e6}, "afxdp"),
        ({"xdp": 1e6, "afxdp": 1e6, "packet": 2e6}, "packet"),
        ({"xdp": 0.99e6, "afxdp": 1e6, "packet": 0.5e6}, "xdp"),
        ({"xdp": "no", "afxdp": 0.99e6, "packet": 1e6}, "afxdp"),
        ({"xdp": 0.0, "afxdp": 0.0, "packet": 0.0}, "xdp"),
        # Small frames alone would choose one that carries no large ones.
        ({"xdp": {64: 2e6, 9018: 0.0}, "afxdp": 1e6, "packet": 0.9e6}, "afxdp"),
        ({"xdp": {64: 2e6, 9018: 0.4e6}, "afxdp": 0.1e6, "packet": {64: 1.2e6, 9018: 0.8e6}}, "packet"),
    ],
)
def test_the_fastest_engine_is_chosen_and_of_equals_the_preferred(speeds: Speeds, chosen: str) -> None:
    found = choose([port("eth1"), port("eth2")], {"eth1": speeds, "eth2": ALL_SAME})
    assert found[0].engine == chosen
    assert set(found[0].frames_per_second) == {name for name, speed in speeds.items() if not isinstance(speed, str)}


def test_a_refusal_at_one_port_is_said_and_costs_the_other_nothing() -> None:
    refusal = "the driver takes no XDP frames"
    speeds: dict[str, Speeds] = {
        "eth1": {"xdp": refusal, "afxdp": 2e6, "packet": 1e6},
        "eth2": ALL_SAME,
    }
    first, second = choose([port("eth1"), port("eth2")], speeds)
    assert first.engine == "afxdp"
    assert first.sentence == (
        "eth1: engine afxdp, because a self-test forwarded afxdp 2.00 / 2.00, packet 1.00 / 1.00 million "
        "frames/s of 64 / 9018 byte; "
        "xdp is refused: the driver takes no XDP frames"
    )
    assert not second.refusals


def test_an_engine_that_a_busy_host_let_send_for_a_moment_was_not_fast() -> None:
    """27 000 frames in a thousandth of a trial are 0.27 Mframes/s and not 270."""

    class Starved(FakeEngine):
        def start(self, trial: Trial, stream: int, seed: int, frames: object = None) -> None:
            super().start(trial, stream, seed, frames)
            if self.ports[0].engine == "afxdp":
                self.duration_ns //= 1000

    speeds: dict[str, Speeds] = {"eth1": {"xdp": 2e6, "afxdp": 0.27e6, "packet": 1e6}, "eth2": ALL_SAME}
    loads = dict.fromkeys(SIZES)
    found = by_self_test([port("eth1"), port("eth2")], loads, lambda chosen: Starved(chosen, speeds))  # type: ignore[arg-type,return-value]
    assert found[0].engine == "xdp"
    assert found[0].frames_per_second["afxdp"] == pytest.approx((0.27e6, 0.27e6))


def test_a_port_with_an_engine_in_its_name_keeps_it() -> None:
    speeds: dict[str, Speeds] = {"eth1": {"xdp": 1e6, "afxdp": 2e6, "packet": 3e6}, "eth2": ALL_SAME}
    first, second = choose([port("eth1"), port("eth2", ("xdp",))], speeds)
    assert (first.engine, second.engine) == ("packet", "xdp")


def test_without_any_engine_the_last_refusal_is_the_error() -> None:
    none: Speeds = {"xdp": "a", "afxdp": "b", "packet": "not allowed"}
    with pytest.raises(EngineError, match="not allowed"):
        choose([port("eth1"), port("eth2")], {"eth1": none, "eth2": none})


def test_without_a_test_the_likely_engine_is_taken_and_the_reason_said() -> None:
    found = by_features([port("eth1"), port("eth2", ("packet",))])
    assert list(found) == [0]
    assert "eth1: engine xdp, by the driver's features (not tested, because" in found[0].sentence


@pytest.mark.parametrize(
    ("name", "scheme"),
    [("eth1", "auto"), ("eth1@blue", "auto"), ("auto:eth1", "auto"), ("xdp:eth1", "xdp"), ("1", "1"), ("a b", "a b")],
)
def test_a_bare_interface_asks_for_a_choice(name: str, scheme: str) -> None:
    assert WantedPort(name, "tx").scheme == scheme


def test_a_resumed_run_keeps_the_engines_that_were_chosen() -> None:
    plan = parse({"methods": ["throughput"], "tx": "eth1", "rx": "packet:eth2"})
    assert [one.name for one in wanted_testbed(plan, [OpenedPort("afxdp"), OpenedPort("packet")]).ports] == [
        "afxdp:eth1",
        "packet:eth2",
    ]
    assert [one.name for one in wanted_testbed(plan).ports] == ["eth1", "packet:eth2"]
