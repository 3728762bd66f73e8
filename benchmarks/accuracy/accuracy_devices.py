"""Families of random simulated devices, each measured by real procedures and compared with what its physics say."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from accuracy_physics import Device, Latency, log_uniform

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.trials import record_of

from keisoku.ground.run.result import Result
from keisoku.ground.simulated_device.device import parse_device
from keisoku.ground.statistics.quantity import Quantity
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.engine.simulated import SimulatedEngine, routes_between
from keisoku.subjects.device.engine.traffic import Traffic
from keisoku.subjects.device.plan.plan import parse
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.runner import proceed

BY_DEFINITION = {"fifo": 0, "lilo": 0, "lifo": -1, "filo": 1}
PERCENT = 100.0
HIDES = 10.0
"""Times the jitter to which a queue must grow in a trial to hide it."""


@dataclass(frozen=True)
class Compared:
    """One figure and what it should be."""

    quantity: str
    figure: Quantity | None
    """None: the procedure gave none."""
    truth: float
    still: bool = False
    """Nothing that decides it is random, so that its interval is a bound: of a frame, a bucket, a step of stamps."""


Family = Callable[[random.Random], Iterator[Compared]]


def measured(device: Device, seed: int, methods: str, **settings: Any) -> dict[str, Result]:
    """Results of procedures on a device in virtual time, by name."""
    plan = parse({"methods": methods.split(), "dut": "sim:random", "seed": seed, **settings})
    model = parse_device(device.toml, "random")
    ports = [int(text) for _, text in plan.port_fields()]
    engine = SimulatedEngine(
        model, ports, Traffic(routes_between(plan.pairs()), plan.contents(), plan.seed, plan.modifiers)
    )

    def carry_out(index: int, method: str, trial: Trial) -> TrialRecord:
        engine.start(trial, stream=1, seed=plan.seed + index)
        facts, seconds = engine.finish()
        return record_of(trial, facts, index=index, method=method, seconds=seconds)

    bias = Bias(exact=True, resolution_ns=engine.capabilities.resolution_ns)
    return {result.measurement: result for result in proceed(plan, engine.capabilities, bias, carry_out)}


def _size(chance: random.Random) -> int:
    return chance.choice([64, 128, 256, 512, 1024, 1518, chance.randint(64, 9000)])


def _jittery(chance: random.Random) -> Device:
    """Any latency with any jitter; stamps may be coarse."""
    link = chance.choice([1e8, 1e9, 1e9, 1e10])
    mode = chance.choice(["store-and-forward", "store-and-forward", "cut-through"])
    per_byte = chance.choice([8e9 / link, chance.uniform(0.2, 2) * 8e9 / link])
    jitter = chance.choice(["uniform", "normal", "uniform", "normal", ""])
    spread = log_uniform(chance, 5, 20_000)
    constant = log_uniform(chance, 300, 100_000) + (6 * spread if jitter == "normal" else 0)
    return Device(
        link_bps=link,
        mode=mode,
        ns_per_byte=per_byte,
        constant_ns=round(constant, 3),
        decision_ns=chance.choice([0, 0, round(chance.uniform(0, 30_000), 3)]) if jitter != "normal" else 0.0,
        jitter=jitter,
        spread_ns=round(spread, 3) if jitter else 0.0,
        resolution_ns=chance.choice([0, 0, 0, 1.0, 8.0, 40.0]),
    )


def _of_latency(figures: dict[str, Quantity], device: Device, size: int, truth: Latency) -> Iterator[Compared]:
    still = not device.jitter
    yield Compared("latency: mean (FIFO, LILO)", figures.get("mean"), truth.mean, still)
    for name, frames in BY_DEFINITION.items():
        if frames:
            yield Compared(
                f"latency: {name.upper()}", figures.get(name), truth.mean + frames * device.frame_ns(size), still
            )
    for name, value in truth.quantiles.items():
        yield Compared(f"latency: {name}", figures.get(name), value, still)
    if device.jitter != "normal":
        yield Compared("latency: min", figures.get("min"), truth.least, still)


@dataclass(frozen=True)
class _Load:
    """What is sent to a device that may lose frames at random."""

    device: Device
    size: int
    fps: float
    seconds: float
    seed: int
    repetitions: int

    @property
    def settings(self) -> dict[str, float]:
        """Of one trial."""
        return {"trial_s": self.seconds, "rate_fps": self.fps}


def _load(chance: random.Random) -> _Load:
    size = _size(chance)
    device = replace(_jittery(chance), loss=chance.choice([0, 0, 0, round(log_uniform(chance, 1e-4, 0.1), 6)]))
    fps = device.line_fps(size) * log_uniform(chance, 0.01, 0.9)
    seconds = log_uniform(chance, 3_000, 100_000) / fps
    return _Load(device, size, fps, seconds, chance.randrange(2**31), chance.choice([1, 2, 3, 5, 10, 20]))


def latency(chance: random.Random) -> Iterator[Compared]:
    """Latency at a load that the device carries: RFC 2544, RFC 8219, single trials."""
    load = _load(chance)
    device, size, seed = load.device, load.size, load.seed
    repeated = load.settings | {"repetitions": load.repetitions}
    found = measured(
        device,
        seed,
        "latency trial delay",
        frame_bytes=[size],
        latency=repeated,
        trial=load.settings,
        delay=repeated,
    )
    truth = device.latency(size, load.fps, seed)
    figures = {name: result.rows[0].figures for name, result in found.items()}
    yield from _of_latency(figures["latency"], device, size, truth)
    still = not device.jitter
    yield Compared("latency: tagged", figures["latency"].get("tagged"), truth.mean, still)
    yield Compared("trial: mean", figures["trial"].get("mean"), truth.mean, still)
    yield Compared("trial: p99", figures["trial"].get("p99"), truth.quantiles["p99"], still)
    yield Compared("delay: typical", figures["delay"].get("typical"), truth.quantiles["p50"], still)
    yield Compared("delay: worst case", figures["delay"].get("worst_case"), truth.quantiles["p99.9"], still)
    if device.jitter != "normal":
        pdv = truth.quantiles["p99.9"] - truth.least
        yield Compared("latency: pdv", figures["latency"].get("pdv"), pdv, still)


def variation(chance: random.Random) -> Iterator[Compared]:
    """Delay variation at a load that the device carries: RFC 8219, medians of trials of one length."""
    load = _load(chance)
    repeated = load.settings | {"repetitions": load.repetitions}
    found = measured(load.device, load.seed, "delay_variation", frame_bytes=[load.size], delay_variation=repeated)
    figures, still = found["delay_variation"].rows[0].figures, not load.device.jitter
    pdv = load.device.variation(load.size, load.fps, round(load.seconds * load.fps), load.seed)
    yield Compared("delay variation: pdv", figures.get("pdv"), pdv, still)
    median = load.device.latency(load.size, load.fps, load.seed).ipdv_median
    yield Compared("delay variation: IPDV median", figures.get("ipdv_median"), median, still)


def ratios(chance: random.Random) -> Iterator[Compared]:
    """Loss and reordering at random, and loss by overload."""
    size = _size(chance)
    lost, late = (round(log_uniform(chance, 1e-4, 0.3), 6) for _ in range(2))
    device = Device(loss=lost, reorder=late)
    fps = device.line_fps(size) * log_uniform(chance, 0.01, 0.95)
    common = {"trial_s": log_uniform(chance, 3_000, 100_000) / fps}
    seed = chance.randrange(2**31)
    found = measured(
        device,
        seed,
        "trial reordering",
        frame_bytes=[size],
        trial=common | {"rate_fps": fps},
        reordering=common | {"maximum_fps": fps, "loads_percent": [100.0]},
    )
    figures = {name: result.rows[0].figures for name, result in found.items()}
    yield Compared("loss ratio (trial)", figures["trial"].get("loss"), PERCENT * lost)
    yield Compared("loss ratio (reordering)", figures["reordering"].get("loss"), PERCENT * lost)
    # A frame that is held back is passed by the next one, which is never held back itself.
    yield Compared("reordering ratio", figures["reordering"].get("reordered"), PERCENT * late / (1 + late))

    share = chance.uniform(0.2, 0.95)
    device = Device(service_bps=1e9 * share, buffer_bytes=size * chance.randint(2, 6))
    line = device.line_fps(size)
    load = line * chance.uniform(share + 0.02, 1)
    settings = {"trial_s": log_uniform(chance, 20_000, 200_000) / load, "rate_fps": load}
    figure = measured(device, seed, "trial", frame_bytes=[size], trial=settings)["trial"].rows[0].figures.get("loss")
    yield Compared("loss ratio (overload)", figure, PERCENT * (1 - device.capacity_fps(size) / load), still=True)


def limited(chance: random.Random) -> Iterator[Compared]:
    """A device that is slower than its link: throughput, forwarding rates, bursts."""
    size = _size(chance)
    share = chance.uniform(0.05, 0.99)
    device = Device(
        service_bps=1e9 * share,
        buffer_bytes=size * chance.randint(2, 6),
        constant_ns=round(log_uniform(chance, 300, 30_000), 3),
        jitter=chance.choice(["", "", "uniform"]),
        spread_ns=round(log_uniform(chance, 5, 500), 3),
    )
    capacity = device.capacity_fps(size)
    frames = chance.uniform(10_000, 30_000)
    settings = {"trial_s": frames / capacity, "resolution_percent": chance.choice([0.5, 1.0])}
    seed = chance.randrange(2**31)
    found = measured(
        device,
        seed,
        "throughput forwarding",
        frame_bytes=[size],
        ports=["1", "2"],
        throughput=settings,
        forwarding=settings | {"loads_percent": [100.0]},
    )
    still = True  # the jitter is far below what a trial can show of a rate
    yield Compared("throughput", found["throughput"].rows[0].figures.get("throughput"), capacity, still)
    rows = {row.case: row.figures for row in found["forwarding"].rows}
    yield Compared("forwarding rate at the maximum load", rows["all loads"].get("frmol"), capacity, still)
    yield Compared("maximum forwarding rate", rows["all loads"].get("mfr"), capacity, still)

    device = Device(service_bps=1e9 * share, buffer_bytes=size * round(log_uniform(chance, 3, 50)))
    line = device.line_fps(size)
    burst = device.longest_burst(size, line)
    found = measured(
        device,
        seed,
        "throughput back_to_back",
        frame_bytes=[size],
        throughput=settings | {"trial_s": max(settings["trial_s"], 1000 * device.buffer_bytes / size / capacity)},
        back_to_back={"repetitions": chance.choice([2, 5]), "limit_s": max(0.1, 4 * burst / line)},
    )
    figures = found["back_to_back"].rows[0].figures
    yield Compared("back-to-back: burst", figures.get("burst"), burst, still)
    yield Compared("back-to-back: implied buffer time", figures.get("implied_buffer"), 1e9 * burst / line, still)
    corrected = 1e9 * burst / line * (1 - capacity / line)
    yield Compared("back-to-back: corrected buffer time", figures.get("corrected_buffer"), corrected, still)


def ways(chance: random.Random) -> Iterator[Compared]:
    """Latency by size: the port map of four ports, of which two and two share a chip, and a sweep."""
    sizes = sorted(chance.sample(range(64, 1519), 4))
    device = replace(_jittery(chance), ports=4, decision_ns=0.0)
    extra = chance.choice([0.0, round(log_uniform(chance, 50, 5_000), 3)])
    across = (
        f"[[pair]]\nfrom_ports = [1, 2]\nto_ports = [3, 4]\nextra_latency_ns = {extra!r}\n"
        f"[[pair]]\nfrom_ports = [3, 4]\nto_ports = [1, 2]\nextra_latency_ns = {extra!r}\n"
    )
    fps = device.line_fps(sizes[-1]) * log_uniform(chance, 0.02, 0.5)
    # The latency is a line over sizes only if no frame waits for another.
    apart_ns = 1e9 / fps - 1e9 / device.capacity_fps(sizes[-1])
    device = replace(device, more=across, spread_ns=min(device.spread_ns, round(0.08 * apart_ns, 3)))
    seconds, seed = log_uniform(chance, 2_000, 20_000) / fps, chance.randrange(2**31)
    found = measured(
        device,
        seed,
        "port_map",
        frame_bytes=sizes,
        ports=["1", "2", "3", "4"],
        port_map={"trial_s": seconds, "rate_fps": fps, "limits": False},
    )
    means = {size: device.latency(size, fps, seed).mean for size in sizes}
    slope = device.ns_per_byte if device.mode == "store-and-forward" else 0.0
    constant = means[sizes[0]] - slope * sizes[0]
    still = not device.jitter
    rows = {row.case: row.figures for row in found["port_map"].rows}
    parted = any(case.startswith("inside") for case in rows)
    for way in ("1 to 2", "3 to 1"):
        own = 0.0 if way == "1 to 2" else extra
        yield Compared("port map: latency", rows[way].get("latency"), means[sizes[0]] + own, still)
        yield Compared("port map: slope", rows[way].get("slope"), slope, still)
        yield Compared("port map: constant", rows[way].get("constant"), constant + own, still)
        yield Compared("port map: offset", rows[way].get("offset"), own if parted else own - extra * 8 / 12, still)

    device = replace(device, more="", ports=2)
    at_line = not device.jitter and chance.random() < 0.5
    if at_line:
        seconds = log_uniform(chance, 2_000, 20_000) / device.line_fps(sizes[-1])
    found = measured(
        device,
        seed,
        "sweep",
        frame_bytes=sizes,
        sweep={"trial_s": seconds} | ({} if at_line else {"rate_fps": fps}),
    )
    line = found["sweep"].line
    yield Compared("sweep: slope", line.slope if line else None, slope, still)
    yield Compared("sweep: constant", line.constant if line else None, constant, still)
    yield Compared("sweep: latency", found["sweep"].rows[0].figures.get("latency"), means[sizes[0]], still)


def clocks(chance: random.Random) -> Iterator[Compared]:
    """Ports whose clock differs from the tester's, with ample and small buffers."""
    size = _size(chance)
    jitter = chance.choice(["", "uniform", "normal"])
    spread = round(log_uniform(chance, 5, 500), 3)
    offset = round(chance.uniform(-200, 100), 2)
    trial_s = log_uniform(chance, 0.5, 2)
    queued_bytes = abs(offset) * 1e-6 * trial_s * 1e9 / 8
    buffer = round(queued_bytes * chance.choice([3, 3, 0.1])) + 10 * size
    device = Device(
        ns_per_byte=8.0,
        constant_ns=10_000.0,
        jitter=jitter,
        spread_ns=spread if jitter else 0.0,
        resolution_ns=chance.choice([0, 0, 8.0]),
        buffer_bytes=buffer,
        offset_ppm=offset,
    )
    seed = chance.randrange(2**31)
    # Slopes are over the time in which frames arrive, at the rate at which the output sends.
    growth = max(0.0, -offset)
    found = measured(
        device,
        seed,
        "clock_mismatch buffer_over_time",
        frame_bytes=[size],
        throughput={"trial_s": trial_s},
        clock_mismatch={"trial_s": trial_s, "repetitions": chance.choice([1, 3])},
        buffer_over_time={"trial_s": trial_s},
    )
    # A queue that grows far beyond the jitter hides it: frames then leave at the output's rate.
    still = not device.jitter or growth * 1e3 * trial_s > HIDES * device.spread_ns
    yield Compared("clock mismatch", found["clock_mismatch"].rows[0].figures.get("mismatch"), growth, still)
    rows = found["buffer_over_time"].rows
    if offset < 0 and growth:
        filling = next((row.figures for row in rows if row.case.endswith(": filling")), {})
        yield Compared("buffer over time: filling, slope", filling.get("slope"), growth * 1e3, still)

    # A backlog that was there at the start drains.
    share, stall_s = 1 - log_uniform(chance, 1e-4, 0.05), trial_s * 1e-3
    drain = 1e9 * (1 / share - 1)
    device = Device(constant_ns=10_000.0, more=f"[stall]\nfirst_ns = 0\nduration_ns = {round(stall_s * 1e9)}")
    fps = device.line_fps(size) * share
    # Sent then, it arrives after what a frame without a backlog takes.
    end_s = (stall_s * 1e9 - device.forwarding_ns(size)) / (1e9 * (1 - share)) + device.forwarding_ns(size) * 1e-9
    found = measured(
        device, seed, "buffer_over_time", frame_bytes=[size], buffer_over_time={"trial_s": trial_s, "rate_fps": fps}
    )
    rows, still = found["buffer_over_time"].rows, True
    if 0.1 * trial_s < end_s:
        draining = next((row.figures for row in rows if row.case.endswith(": draining")), {})
        yield Compared("buffer over time: draining, slope", draining.get("slope"), -drain, still)
        if end_s < 0.9 * trial_s:
            yield Compared("buffer over time: draining, end", draining.get("end"), end_s, still)


def fillings(chance: random.Random) -> Iterator[Compared]:
    """Buffers that a slower port fills within the trial."""
    size = _size(chance)
    jitter = chance.choice(["", "uniform", "normal"])
    offset, trial_s = -round(log_uniform(chance, 5, 200), 2), log_uniform(chance, 0.5, 2)
    growth = -offset
    frames = round(chance.uniform(0.2, 0.75) * growth * 1e-6 * trial_s * 1e9 / 8 / (size + 20))
    if frames < 8:
        return
    buffer = frames * size + chance.randrange(size)
    device = Device(
        ns_per_byte=8.0,
        constant_ns=10_000.0,
        jitter=jitter,
        spread_ns=round(log_uniform(chance, 5, 500), 3) if jitter else 0.0,
        resolution_ns=chance.choice([0, 0, 8.0]),
        buffer_bytes=buffer,
        offset_ppm=offset,
    )
    seed = chance.randrange(2**31)
    fill_s = device.filled_s(size, trial_s, seed)
    if fill_s is None:
        return
    found = measured(device, seed, "buffer_over_time", frame_bytes=[size], buffer_over_time={"trial_s": trial_s})
    rows, still = found["buffer_over_time"].rows, not device.jitter
    filling = next((row.figures for row in rows if row.case.endswith(": filling")), {})
    yield Compared("buffer over time: filling, end", filling.get("end"), fill_s, still)
    full = next((row.figures for row in rows if row.case.endswith("dropping")), {})
    yield Compared("buffer over time: depth", full.get("depth"), buffer, still)


def congested(chance: random.Random) -> Iterator[Compared]:
    """Several ports send to one: RFC 8239."""
    size = chance.choice([64, 256, 512, 1518])
    jitter = chance.choice(["", "uniform", "uniform"])
    device = Device(
        ports=3,
        jitter=jitter,
        spread_ns=round(log_uniform(chance, 5, 300), 3),
        buffer_bytes=round(size * log_uniform(chance, 4, 400)),
        resolution_ns=chance.choice([0, 0, 8.0]),
    )
    seed = chance.randrange(2**31)
    found = measured(
        device,
        seed,
        "buffering microburst line_rate",
        frame_bytes=[size],
        ports=["1", "2", "3"],
        buffering={"cases": ["port"], "outputs": "last", "oversubscription_percent": chance.choice([1.0, 10.0])},
        microburst={"outputs": "last", "limit_s": 0.05},
        line_rate={"trial_s": log_uniform(chance, 3_000, 30_000) / device.line_fps(size), "loads_percent": [30.0]},
    )
    rows = {name: result.rows[0].figures for name, result in found.items()}
    service_ns = 1e9 / device.capacity_fps(size)
    places, still = device.buffer_bytes / size, True
    yield Compared("buffering: buffer", rows["buffering"].get("buffer"), device.buffer_bytes, still)
    yield Compared("buffering: buffer time", rows["buffering"].get("buffer_time"), places * service_ns, still)
    yield Compared("buffering: service", rows["buffering"].get("service"), device.capacity_fps(size), still)
    if not jitter:
        yield Compared("microburst: burst", rows["microburst"].get("burst"), device.longest_microburst(size, 2), still)
    yield Compared("microburst: buffer", rows["microburst"].get("buffer"), device.buffer_bytes, still)
    still = not jitter
    row, fps = rows["line_rate"], 0.3 * device.line_fps(size)
    truth = device.latency(size, fps, seed)
    yield Compared("line rate: mean", row.get("mean"), truth.mean, still)
    yield Compared("line rate: jitter", row.get("jitter"), truth.mean - truth.least, still)
    yield Compared("line rate: jitter, 99 %", row.get("jitter_p99"), truth.quantiles["p99"] - truth.least, still)


def outages(chance: random.Random) -> Iterator[Compared]:
    """Resets."""
    size = _size(chance)
    duration_ns = round(log_uniform(chance, 1e5, 1e8))
    jitter = chance.choice(["", "uniform"])
    device = Device(
        more=f"[reset]\nduration_ns = {duration_ns}",
        constant_ns=round(log_uniform(chance, 300, 30_000), 3),
        jitter=jitter,
        spread_ns=round(log_uniform(chance, 5, 2_000), 3),
    )
    fps = device.line_fps(size) * log_uniform(chance, 0.01, 0.9)
    settings = {
        "rate_fps": fps,
        "stable_s": chance.uniform(0.01, 0.02),
        "watch_s": duration_ns * 1.3e-9 + 0.01,
        "repetitions": chance.choice([1, 3, 5]),
    }
    found = measured(device, chance.randrange(2**31), "reset", frame_bytes=[size], reset=settings)
    figures = found["reset"].rows[0].figures
    # Frames that were inside when it began are lost as well.
    truth = duration_ns + device.forwarding_ns(size) + device.spread_ns / 2 * bool(jitter)
    yield Compared("reset by loss", figures.get("reset_by_loss"), truth)
    yield Compared("reset by stamps", figures.get("reset_by_stamps"), truth)


FAMILIES: tuple[Family, ...] = (latency, variation, ratios, limited, ways, clocks, fillings, congested, outages)
