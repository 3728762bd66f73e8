"""How long a search for the highest load without loss takes, on four devices, by the controllers that we have.

Run it by itself: `python benchmarks/speed/search.py [SEEDS]`. Seconds are virtual, of load only: no waits between
trials. Goal: RFC 2544's (60 s, no frame lost), bounds half a percent apart, line 14.88 M frames/s, capacity 9.37.

Two ways to be the device. `simulated`: the simulated engine, frame by frame, with all rates a hundredth and every
probability a frame a hundredfold, so that a trial loses as many frames at the same times. `spread`: counts only, at
full rates, where the lost frames of a trial are spread evenly over it, as the comparison wants it whose figures are
called `published`; that is kind to bursts of loss, of which the first frame is then seen too early.
"""

from __future__ import annotations

import math
import random
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass

from keisoku.ground.run.result import Result
from keisoku.ground.simulated_device.device import parse_device
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.engine.simulated import SimulatedEngine
from keisoku.subjects.device.method.method import begin
from keisoku.subjects.device.plan.plan import parse
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.record.counts import Buckets, Ranges, Sent, Tracked
from keisoku.subjects.device.record.facts import Facts, Receiver, StreamFacts, Transmitter
from keisoku.subjects.device.record.trial import NS_PER_S, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import reasons

SCALE = 100
LINE_BITS_PER_SECOND = 1e10
LINE_FPS = LINE_BITS_PER_SECOND / (84 * 8)
CAPACITY_FPS = 9.37e6
STALL_MEAN_S = 30.0
STALL_S = 20e-6
ABSORBED_FRAMES = 128
"""Of a stall, by the buffer: below 6.4 M frames/s none is lost."""
BUFFER_FRAMES = 4
"""Of the simulated devices: at a hundredth of the rates it fills as slowly as 400 frames do."""
LEAK_RATIO = 1e-8
KNEE = 0.8
KNEE_SLOPE = 0.05
"""Loss ratio per load above the knee, both relative to the capacity: 1 % at the capacity."""
SEEN_S = 0.075
"""From a loss to the stop, where losses are spread: `core/src/account/loss_watch.rs` needs 50 to 100 ms."""


@dataclass(frozen=True)
class Behaviour:
    """What a device does in one trial at a load; rates in frames/s of full scale."""

    capacity_fps: float = CAPACITY_FPS
    loss_ratio: float = 0.0
    stall_after_s: float | None = None


def hard(load_fps: float, chance: random.Random) -> Behaviour:
    """A rate limit."""
    return Behaviour()


def noisy(load_fps: float, chance: random.Random) -> Behaviour:
    """A rate limit that is 0.3 % off in each trial, and a stall of 20 µs at random moments, one in 30 s."""
    return Behaviour(CAPACITY_FPS * chance.gauss(1, 0.003), stall_after_s=chance.expovariate(1 / STALL_MEAN_S))


def leak(load_fps: float, chance: random.Random) -> Behaviour:
    """A rate limit, and one frame in a hundred million is lost at any load."""
    return Behaviour(loss_ratio=LEAK_RATIO)


def knee(load_fps: float, chance: random.Random) -> Behaviour:
    """Loss grows from 80 % of the capacity on."""
    return Behaviour(loss_ratio=KNEE_SLOPE * max(0.0, load_fps / CAPACITY_FPS - KNEE))


DEVICES = {device.__name__: device for device in (hard, noisy, leak, knee)}
PUBLISHED = {"hard": (139.5, 68.7), "noisy": (503, 132), "leak": (1102, 527), "knee": (145.5, 70.8)}
"""Mean seconds of the package alone, and with a measurer that charges the time to the first loss."""

Device = Callable[[float, random.Random], Behaviour]
Carrier = Callable[[Device, Trial, random.Random], Facts]


def simulated(device: Device, trial: Trial, chance: random.Random) -> Facts:
    """The trial on the simulated engine; its rate is a hundredth of the device's."""
    now = device(trial.frames_per_second * SCALE, chance)
    toml = (
        f"link_bits_per_second = {LINE_BITS_PER_SECOND / SCALE}\n[output]\nbuffer_bytes = {64 * BUFFER_FRAMES}\n"
        f"service_bits_per_second = {now.capacity_fps * 84 * 8 / SCALE}\n"
        # A load-dependent loss is as probable as at full scale, and so first seen a hundred times later.
        f"[loss]\nratio = {now.loss_ratio * (SCALE if now.loss_ratio == LEAK_RATIO else 1)}\n"
    )
    if now.stall_after_s is not None:
        # As long a stall as fills the buffer at the same share of the line; later ones are never seen.
        stall_s = STALL_S * SCALE * BUFFER_FRAMES / ABSORBED_FRAMES
        toml += f"[stall]\nperiod_ns = {max(1, round(now.stall_after_s * 1e9))}\nduration_ns = {round(stall_s * 1e9)}\n"
    engine = SimulatedEngine(parse_device(toml, "search"))
    engine.start(trial, stream=1, seed=chance.randrange(2**31))
    return engine.finish()[0]


def spread(device: Device, trial: Trial, chance: random.Random) -> Facts:
    """The trial's counts, drawn; rates are a hundredth here as well, so that both ways see the same questions."""
    load_fps, seconds = trial.frames_per_second * SCALE, trial.duration_ns / NS_PER_S
    now = device(load_fps, chance)
    lost = max(0.0, load_fps - now.capacity_fps) * seconds + _poisson(now.loss_ratio * load_fps * seconds, chance)
    if now.stall_after_s is not None:
        lost += _poisson(seconds / STALL_MEAN_S, chance) * max(0.0, load_fps * STALL_S - ABSORBED_FRAMES)
    first_s = seconds / (lost + 1) + SEEN_S
    stopped = trial.stop_after_lost is not None and lost >= 1 and first_s < seconds
    share = first_s / seconds if stopped else 1.0
    offered, missing = round(load_fps * seconds * share), math.ceil(lost * share) if lost >= 1 else 0
    return _facts(offered, min(missing, offered), round((first_s if stopped else seconds) * NS_PER_S), stopped)


def searched(device: Device, carrier: Carrier, controller: str, whole: bool, seed: int) -> tuple[Result, float, int]:
    """Result, seconds of load and trials of one search."""
    settings = {"loss_percent": [0], "controller": controller, "stop_at_loss": not whole, "ceiling_percent": 100}
    phases = {"learning": False, "drain_s": 1, "rest_s": 0}
    plan = parse({"methods": ["mlr"], "dut": "sim:search", "frame_bytes": [64], "mlr": settings, "phases": phases})
    empty = parse_device(f"link_bits_per_second = {LINE_BITS_PER_SECOND / SCALE}", "search")
    method = begin("mlr", plan, _capabilities(empty.link_bits_per_second), Bias(exact=True), {})
    chance, seconds, count, reply = random.Random(seed), 0.0, 0, None
    while True:
        try:
            trial = method.send(reply)  # type: ignore[arg-type]  # a fresh generator takes None
        except StopIteration as stop:
            return stop.value, seconds, count
        facts = carrier(device, trial, chance)
        if carrier is spread:  # what is asked for is a hundredth, what is counted is not
            trial_seen = trial.model_copy(update={"frames_per_second": trial.frames_per_second * SCALE})
        else:
            trial_seen = trial
        spent_s = (facts.sent.last_sent_ns if facts.stopped_for_loss else trial.duration_ns) / NS_PER_S
        invalid = reasons(trial_seen, facts)
        assert not invalid, invalid
        seconds, count = seconds + spent_s, count + 1
        reply = TrialRecord(
            index=count, method="mlr", trial=trial_seen, facts=facts, started_at="", engine_seconds=spent_s,
            invalid_because=invalid,
        )  # fmt: skip


def main() -> None:
    """Prints the table."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    print(
        "| device | carried out | controller | stopped at loss | seconds (published) | standard error | trials |"
        " NDR M/s, deviation |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name, device in DEVICES.items():
        for carrier in (spread, simulated):
            for controller, whole in (("mlrsearch", True), ("mlrsearch", False), ("descent", False)):
                if carrier is simulated and whole:
                    continue
                found = [searched(device, carrier, controller, whole, seed) for seed in range(seeds)]
                for result, _, _ in found:
                    figures = result.rows[0].figures
                    assert figures["upper_bound"].value * 0.995 <= figures["lower_bound"].value * (1 + 1e-9)
                seconds = [one[1] for one in found]
                loads = [one[0].rows[0].figures["throughput"].value * SCALE / 1e6 for one in found]
                error = statistics.stdev(seconds) / math.sqrt(seeds) if seeds > 1 else 0.0
                trials = statistics.mean(one[2] for one in found)
                deviation = statistics.stdev(loads) if seeds > 1 else 0.0
                print(
                    f"| {name} | {carrier.__name__} | {controller} | {'no' if whole else 'yes'} |"
                    f" {statistics.mean(seconds):.1f} ({PUBLISHED[name][0 if whole else 1]:g}) | {error:.1f} |"
                    f" {trials:.1f} | {statistics.mean(loads):.4f} ± {deviation:.4f} |",
                    flush=True,
                )


def _poisson(mean: float, chance: random.Random) -> int:
    """Exact for few, normal for many."""
    if mean > 50:
        return max(0, round(chance.gauss(mean, math.sqrt(mean))))
    count, product, limit = 0, chance.random(), math.exp(-mean)
    while product > limit:
        count, product = count + 1, product * chance.random()
    return count


def _capabilities(link_bits_per_second: float) -> Capabilities:
    return Capabilities(
        engine="simulated", link_bits_per_second=link_bits_per_second, min_frame_bytes=64, max_frame_bytes=None,
        simulated=True, transmit_stamp="", receive_stamp="",
    )  # fmt: skip


def _facts(offered: int, lost: int, last_sent_ns: int, stopped: bool) -> Facts:
    none = Ranges(count=0, ranges=[], complete=True)
    sent = Sent(
        offered_frames=offered, first_sent_ns=0, last_sent_ns=last_sent_ns, lag_max_ns=0, postponed_ns=0, gaps=Buckets()
    )
    tracked = Tracked(
        received_frames=offered - lost, forwarded_frames=offered - lost, lost_frames=lost, corrupt=none,
        corrupt_arrivals=0, duplicated=none, reordered=none, foreign_frames=0, lost=[], lost_kept_as="intervals",
        latency=None, tagged_latency_ns=None, series=[],
    )  # fmt: skip
    receiver = Receiver(
        port=1, foreign_frames=0, misdirected_frames=0, tester_dropped_frames=0, last_received_ns=None, stamp=""
    )
    return Facts(
        streams=[StreamFacts(stream=1, transmit=0, receive=1, offered_frames=offered, tracked=tracked)],
        transmitters=[Transmitter(port=0, sent=sent, stamp="")],
        receivers=[receiver],
        interference=None,
        interrupted=False,
        stopped_for_loss=stopped,
    )


if __name__ == "__main__":
    main()
