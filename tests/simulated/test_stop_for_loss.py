"""A load that ends as soon as more frames are lost than it may lose: after the loss and a patience, never without."""

import pytest
from support.simulated_trials import device

from keisoku.subjects.device.engine.simulated import SimulatedEngine, routes_between
from keisoku.subjects.device.engine.traffic import Traffic
from keisoku.subjects.device.plan.content import Content
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import NS_PER_S, Bursts, Constant, Pacing, Phases, Trial
from keisoku.subjects.device.record.validity import reasons

PATIENCE_S = 0.05
RATE = 100_000
PHASES = Phases(learning=False, learning_wait_ns=0, drain_ns=NS_PER_S // 10, rest_ns=0)
STALL_AT_2_S = "[stall]\nperiod_ns = 2_000_000_000\nduration_ns = 1_000_000\n[output]\nbuffer_bytes = 640"
# Constant streams take the simulator's fast way, bursts of one frame the other: they must agree.
PACINGS = [Constant(), Bursts(burst_frames=1)]


def trial(seconds: float, lost: int | None) -> Trial:
    return Trial(
        purpose="test", frame_bytes=64, frames_per_second=RATE, duration_ns=round(seconds * NS_PER_S),
        phases=PHASES, stop_after_lost=lost,
    )  # fmt: skip


def carried(toml: str, wanted: Trial, pacing: Pacing) -> tuple[Facts, float]:
    traffic = Traffic(routes_between([(0, 1)]), [Content(pacing=pacing)])
    engine = SimulatedEngine(device(toml), traffic=traffic)
    engine.start(wanted, stream=1, seed=5)
    return engine.finish()


@pytest.mark.parametrize("pacing", PACINGS, ids=lambda pacing: pacing.kind)
def test_the_load_ends_a_patience_after_the_first_loss(pacing: Pacing) -> None:
    wanted = trial(10, 0)
    facts, seconds = carried(STALL_AT_2_S, wanted, pacing)
    assert facts.stopped_for_loss
    assert not facts.interrupted
    assert 2 + PATIENCE_S <= seconds - 0.1 <= 2 + 2.5 * PATIENCE_S
    assert facts.sent.offered_frames == pytest.approx(RATE * (seconds - 0.1), abs=1)
    assert facts.tracked.forwarded_frames + facts.tracked.lost_frames == facts.sent.offered_frames
    assert facts.tracked.lost_frames > 0
    assert reasons(wanted, facts) == []


@pytest.mark.parametrize("pacing", PACINGS, ids=lambda pacing: pacing.kind)
@pytest.mark.parametrize(
    ("toml", "lost"),
    [(STALL_AT_2_S, None), (STALL_AT_2_S, 10**6), ("[faults]\nreorder_ratio = 0.01\nduplicate_ratio = 0.01", 0)],
    ids=["not asked", "few enough", "reordered only"],
)
def test_a_load_that_may_go_on_does(toml: str, lost: int | None, pacing: Pacing) -> None:
    facts, seconds = carried(toml, trial(3, lost), pacing)
    assert not facts.stopped_for_loss
    assert facts.sent.offered_frames == 3 * RATE
    assert seconds == pytest.approx(3.1)


@pytest.mark.parametrize("pacing", PACINGS, ids=lambda pacing: pacing.kind)
def test_loss_in_the_last_moments_is_found_by_the_count_at_the_end(pacing: Pacing) -> None:
    facts, seconds = carried(STALL_AT_2_S, trial(2.02, 0), pacing)
    assert not facts.stopped_for_loss
    assert facts.tracked.lost_frames > 0
    assert seconds == pytest.approx(2.12)


def test_corrupt_frames_are_lost_ones() -> None:
    facts, _ = carried("[faults]\ncorrupt_ratio = 0.0001", trial(10, 0), Constant())
    assert facts.stopped_for_loss
    assert facts.tracked.corrupt.count == 1


def test_a_tester_that_fell_behind_before_the_stop_is_still_found_out() -> None:
    wanted = trial(10, 0)
    facts, _ = carried(STALL_AT_2_S, wanted, Constant())
    slower = wanted.model_copy(update={"frames_per_second": 1.02 * RATE})
    assert "until the load was stopped" in reasons(slower, facts)[0]
