"""How often results say which assumption a device breaks, and how often without reason: hits and false alarms.

Run it by itself: `python benchmarks/detection/assumption_detectors.py [FIRST LAST]`, with the range of seeds: those
below 1000 are for choosing constants, all others for showing what was chosen. Virtual time only.
"""

from __future__ import annotations

import math
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from collections.abc import Callable, Iterator

from support.odd_device import Begin, Lost, OddEngine, Part, Policer, Poll, Queue, Wait
from support.simulated_trials import carry_out, device, measured, plan

from keisoku.subjects.device.method.assumption.loss_place import chance_of_loss
from keisoku.subjects.device.method.assumption.outflow import outflow

LINK_BPS = 1e8
FIRST, LAST = 1000, 1150
FED, SLIGHTLY = 1.003, 1.0002
"""A throughput is fed by a buffer if it is so many times what the output sends."""


def _log_uniform(chance: random.Random, low: float, high: float) -> float:
    return math.exp(chance.uniform(math.log(low), math.log(high)))


def _limited(
    chance: random.Random, frames: tuple[float, float], size: int, link_bps: float = LINK_BPS
) -> tuple[str, float]:
    """An output slower than the link with a buffer of so many frames, and the frames/s that it sends."""
    service_bps = link_bps * _log_uniform(chance, 3e-3, 0.97)
    buffer = max(64, round(size * _log_uniform(chance, *frames)))
    toml = f"[output]\nservice_bits_per_second = {service_bps}\nbuffer_bytes = {buffer}\n"
    if chance.random() < 0.5:
        spread_ns = size * 8e9 / link_bps * _log_uniform(chance, 0.01, 10)
        toml += f'[jitter]\ndistribution = "normal"\nspread_ns = {spread_ns}\n'
    return toml, service_bps / (8 * (size + 20))


def _addresses(chance: random.Random, slowly: bool) -> bool:
    """Whether a search for a table's capacity says that the device learns too slowly."""
    asked = 100_000.0
    rate = asked * (_log_uniform(chance, 0.01, 0.999) if slowly else chance.uniform(1.01, 20))
    entries = round(_log_uniform(chance, 10, 8192))
    toml = f"ports = 4\n[address_table]\nentries = {entries}\nlearning_per_second = {rate}\n"
    settings = {"learning_fps": asked, "test_fps": asked, "settle_s": 0.001, "most_addresses": 10_000}
    phases = {"learning_wait_s": 0.0, "drain_s": 0.1, "rest_s": 0.0}
    source = plan("address_caching", frame_bytes=[64], ports=["1", "2", "3"], phases=phases, address_caching=settings)
    row = carry_out(source, device(toml))[0].rows[0]
    right = row.figures["addresses"].value == entries - 3 and not row.figures["addresses"].bound
    assert slowly or right, (entries, row)
    return "learns more slowly" in row.remark


SLOW_BPS = 1e7
"""Of devices whose every frame is computed in Python."""
SAID = {
    "last frames kept": "of a trial did not arrive",
    "first frames lost": "lost its first frame",
    "a count": ("the device counts frames", "counted over all trials"),
    "a time": "after the begin of a trial, at loads",
    "one stream": "lost frames were of",
    "order of loads": "order of the loads",
    "length of trials": "depends on the length of trials",
    "not its output": "not the rate of its output",
    "less at a lower load": "contradiction:",
    "no buffer": "no buffer:",
    "first frames wait": "the first frames wait",
    "a change": "for good",
    "one phase": "at one phase of",
    "chance": "is a matter of chance",
}
"""What a detector says, by what it finds."""
Run = Callable[[random.Random], list[str]]


def _remarks(methods: str, toml: str, engine: OddEngine | None, seed: int, **settings: object) -> list[str]:
    """All remarks of a run, on a simulated device or an odd one."""
    source = plan(methods.split()[0], methods=methods.split(), seed=seed, **settings)
    results = measured(source, device(toml), engine)
    return [text for one in results for text in (*one.remarks, *(row.remark for row in one.rows))]


Settings = dict[str, dict[str, float]]
Make = Callable[[random.Random, float, Settings], list[Part]]


def _odd(methods: str, make: Make) -> Run:
    """A run of an odd device; `make` is given the frames/s of the line, and settings that it may change."""

    def run(chance: random.Random) -> list[str]:
        size = chance.choice((64, 128))
        line_fps = SLOW_BPS / (8 * (size + 20))
        settings = _settings(chance, line_fps)
        parts = [Wait(_log_uniform(chance, 1e3, 1e5), chance.choice((0.0, _log_uniform(chance, 10, 1e5))))]
        engine = OddEngine([*parts, *make(chance, line_fps, settings)], SLOW_BPS)
        return _remarks(methods, "", engine, chance.randrange(1 << 30), frame_bytes=[size], **settings)

    return run


def _settings(chance: random.Random, line_fps: float) -> Settings:
    seconds = _log_uniform(chance, 0.4, 2)
    latency = {
        "trial_s": seconds,
        "repetitions": chance.choice((3, 5)),
        "rate_fps": line_fps * chance.uniform(0.2, 0.6),
    }
    return {
        "throughput": {"trial_s": seconds, "resolution_percent": 0.5},
        "back_to_back": {"limit_s": 4, "repetitions": 2},
        "loss": {"trial_s": seconds},
        "latency": latency,
        "trial": {"trial_s": seconds, "rate_fps": line_fps * chance.uniform(0.36, 0.5)},
    }


def _output(chance: random.Random, line_fps: float) -> Queue:
    return Queue(line_fps * chance.uniform(0.3, 0.95), round(_log_uniform(chance, 2, 500)))


def _maybe_output(chance: random.Random, line_fps: float) -> list[Part]:
    return [_output(chance, line_fps)] if chance.random() < 0.3 else []


def _hole(chance: random.Random, line_fps: float, settings: Settings) -> list[Part]:
    most_fps = chance.uniform(0.55, 0.8) * line_fps
    return [Lost(_log_uniform(chance, 3e-3, 0.1), chance.uniform(0.2, 0.35) * line_fps, most_fps)]


def _hole_before_output(chance: random.Random, line_fps: float, settings: Settings) -> list[Part]:
    return [*_hole(chance, line_fps, settings), Queue(0.9 * line_fps, 50)]


def _one_in(in_each: bool) -> Make:
    def made(chance: random.Random, line_fps: float, settings: Settings) -> list[Part]:
        return [Lost(every=round(_log_uniform(chance, 100, line_fps / 5)), in_each=in_each)]

    return made


def _one_in_many(chance: random.Random, line_fps: float, settings: Settings) -> list[Part]:
    """The throughput is a number of frames by the length of its trials, and a burst the same number."""
    many = settings["throughput"]["trial_s"] * line_fps * chance.uniform(0.3, 0.9)
    return [Lost(every=round(many), in_each=True)]


def _after_a_time(chance: random.Random, line_fps: float, settings: Settings) -> list[Part]:
    share, frames = chance.uniform(0.3, 0.8), round(_log_uniform(chance, 5, 200))
    after_s = settings["throughput"]["trial_s"] * chance.uniform(0.2, 0.8)
    return [Queue(line_fps * chance.uniform(0.95, 1.2), frames, slow_after_s=after_s, slow_share=share)]


def _policer(chance: random.Random, line_fps: float, settings: Settings) -> list[Part]:
    return [Policer(line_fps * chance.uniform(0.2, 0.9), round(_log_uniform(chance, 20, line_fps)))]


def _once_full(chance: random.Random, line_fps: float, settings: Settings) -> list[Part]:
    """A slowdown for good; the highest load of the search lies between the two rates where that is asked for."""
    share, fps = chance.uniform(0.5, 0.9), line_fps * chance.uniform(0.3, 0.9)
    if "maximum_fps" in settings["throughput"]:
        settings["throughput"]["maximum_fps"] = fps * chance.uniform((1 + share) / 2, 0.99)
    return [Queue(fps, round(line_fps * _log_uniform(chance, 1e-3, 0.2)), slow_share=share, slow_once_full=True)]


def _once_full_from_below(chance: random.Random, line_fps: float, settings: Settings) -> list[Part]:
    settings["throughput"]["maximum_fps"] = line_fps
    return _once_full(chance, line_fps, settings)


def _ticks(chance: random.Random, line_fps: float, settings: Settings) -> list[Part]:
    """A poller whose tick divides the time between the frames of the latency's load."""
    load = settings["latency"]["rate_fps"]
    settings["latency"]["trial_s"] = settings["throughput"]["trial_s"]
    tick_ns = 1e9 / load / chance.choice((1, 2, 5))
    return [Poll(tick_ns, chance.uniform(0.1, 1) * tick_ns), Queue(load * chance.uniform(1.05, 1.6), 500)]


def _held(chance: random.Random, line_fps: float, settings: Settings) -> list[Part]:
    return [Lost(last=chance.choice((1, 1, 2, 7))), *_maybe_output(chance, line_fps)]


def _first_lost(chance: random.Random, line_fps: float, settings: Settings) -> list[Part]:
    return [Lost(first=chance.randint(1, 20)), *_maybe_output(chance, line_fps)]


def _at_one_time(chance: random.Random, line_fps: float, settings: Settings) -> list[Part]:
    at_s = settings["throughput"]["trial_s"] * chance.uniform(0.2, 0.9)
    return [Lost(at_s=at_s, for_s=0.01), *_maybe_output(chance, line_fps)]


def _begins(chance: random.Random, line_fps: float, settings: Settings) -> list[Part]:
    return [Begin(chance.randint(1, 5), _log_uniform(chance, 3e5, 1e7))]


def _changes(chance: random.Random, line_fps: float, settings: Settings) -> list[Part]:
    latency = settings["latency"]
    frames = latency["rate_fps"] * latency["trial_s"] * chance.uniform(0.2, 0.8)
    return [Begin(round(frames), _log_uniform(chance, 1e4, 1e6))]


HABITS: dict[str, tuple[str, Run]] = {
    "loss at middle loads, and a trial there": ("less at a lower load", _odd("throughput trial", _hole)),
    "the same before a slower output": ("not its output", _odd("throughput", _hole_before_output)),
    "one in N frames lost, over all trials": ("a count", _odd("throughput", _one_in(in_each=False))),
    "frame N of each trial lost": ("a count", _odd("throughput", _one_in(in_each=True))),
    "frame N of each trial lost, read as a buffer": ("no buffer", _odd("back_to_back", _one_in_many)),
    "slower after a time": ("length of trials", _odd("throughput", _after_a_time)),
    "slower after a time, read as a buffer": ("no buffer", _odd("back_to_back", _after_a_time)),
    "a policer, read as a buffer": ("no buffer", _odd("back_to_back", _policer)),
    "slower once full, loads from above": ("order of loads", _odd("throughput", _once_full)),
    "the same, loss after a throughput from below": ("order of loads", _odd("throughput loss", _once_full_from_below)),
    "a poller, searched and then met at one phase": ("one phase", _odd("throughput latency", _ticks)),
    "last frames kept": ("last frames kept", _odd("throughput", _held)),
    "first frames lost": ("first frames lost", _odd("throughput", _first_lost)),
    "loss at one time of each trial": ("a time", _odd("throughput", _at_one_time)),
    "first frames wait": ("first frames wait", _odd("latency", _begins)),
    "latency changes for good": ("a change", _odd("latency", _changes)),
}
"""By its name: what is to be said of a device with this habit, and a run of it."""


def _ordinary(chance: random.Random) -> Iterator[tuple[str, list[str]]]:
    """Runs of simulated devices without such habits."""
    size = chance.choice((64, 256, 1518))
    line_fps = SLOW_BPS / (8 * (size + 20))
    shallow, _ = _limited(chance, (1, 200), size, SLOW_BPS)
    deep, _ = _limited(chance, (200, 20_000), size, SLOW_BPS)
    ratio = _log_uniform(chance, 1e-5, 0.02)
    spread_ns = _log_uniform(chance, 10, 1e6)
    devices = {
        "a limit": shallow,
        "a limit behind a deep buffer": deep,
        "the link": "",
        "jitter": f'[jitter]\ndistribution = "{chance.choice(("normal", "uniform"))}"\nspread_ns = {spread_ns}\n',
        "loss by chance": f"[loss]\nratio = {ratio}\n",
        "a limit, and loss by chance": f"{shallow}[loss]\nratio = {ratio}\n",
        "stalls": f"{shallow}[stall]\nperiod_ns = {round(_log_uniform(chance, 1e7, 1e9))}\nduration_ns = 1_000_000\n",
        "scatter of readings": f"{shallow}[scatter]\nspread_ns = {spread_ns}\n",
    }
    for name, toml in devices.items():
        settings = _settings(chance, line_fps)
        methods = chance.choice(("throughput latency", "throughput loss", "back_to_back", "throughput trial latency"))
        text = f"link_bits_per_second = {SLOW_BPS}\n{toml}"
        yield name, _remarks(methods, text, None, chance.randrange(1 << 30), frame_bytes=[size], **settings)
    toml = f"link_bits_per_second = {SLOW_BPS}\n{shallow}"
    both = {"frame_bytes": [size], "pattern": "bidirectional"}
    settings = _settings(chance, line_fps)
    yield "a limit, both ways", _remarks("throughput loss", toml, None, chance.randrange(1 << 30), **both, **settings)


def _told(remarks: list[str]) -> set[str]:
    found = set()
    for name, texts in SAID.items():
        if any(text in one for one in remarks for text in ([texts] if isinstance(texts, str) else texts)):
            found.add(name)
    return found


def _streams(chance: random.Random) -> list[str]:
    """One way of two loses frames."""
    toml = f"[[pair]]\nfrom_ports = [2]\nto_ports = [1]\nloss = {{ ratio = {_log_uniform(chance, 1e-3, 0.3)} }}\n"
    settings = _settings(chance, 1e5) | {"frame_bytes": [64], "pattern": "bidirectional"}
    text = f"link_bits_per_second = {LINK_BPS}\n{toml}"
    return _remarks("loss", text, None, chance.randrange(1 << 30), **settings)


def habits(first: int, last: int) -> None:
    """Prints the tables of devices with habits, and of those without."""
    runs = HABITS | {"one stream of two loses": ("one stream", _streams)}
    print(f"| habit, seeds {first} to {last - 1} | runs | said | what else was said |")
    print("|---|---|---|---|")
    for name, (meant, run) in runs.items():
        told = [_told(run(random.Random(f"{name} {seed}"))) for seed in range(first, last)]
        hits = sum(meant in one for one in told)
        others = sorted({each for one in told for each in one} - {meant})
        rest = ", ".join(f"{each} {sum(each in one for one in told)}" for each in others)
        print(f"| {name} | {len(told)} | {hits} ({100 * hits / len(told):.0f} %) | {rest} |", flush=True)
    alarms: dict[str, list[set[str]]] = {}
    for seed in range(first, last):
        for name, remarks in _ordinary(random.Random(f"ordinary {seed}")):
            alarms.setdefault(name, []).append(_told(remarks))
    print(f"\n| device without such a habit, seeds {first} to {last - 1} | runs | what was said |")
    print("|---|---|---|")
    for name, told in alarms.items():
        rest = ", ".join(
            f"{each} {sum(each in one for one in told)}" for each in SAID if any(each in one for one in told)
        )
        print(f"| {name} | {len(told)} | {rest} |")


def main() -> None:
    """Prints all tables."""
    first, last = (int(sys.argv[1]), int(sys.argv[2])) if len(sys.argv) > 2 else (FIRST, LAST)
    habits(first, last)
    searches(first, last)


def searches(first: int, last: int) -> None:
    """Prints the tables of chance, of queues that grow, and of tables of addresses."""
    chance_table: dict[str, list[bool]] = {}
    fed_table: dict[str, list[bool]] = {}
    address_table: dict[str, list[bool]] = {}
    for seed in range(first, last):
        chance = random.Random(f"assumption {seed}")
        for name, slowly in (("learns more slowly than asked", True), ("learns as fast as asked", False)):
            address_table.setdefault(name, []).append(_addresses(chance, slowly))
        size, seconds = chance.choice((64, 256, 1518)), _log_uniform(chance, 0.2, 2)
        line_fps = LINK_BPS / (8 * (size + 20))
        ratio = _log_uniform(chance, 10 / (line_fps * seconds), 0.02)
        shallow, slow_fps = _limited(chance, (1, 200), size)
        deep, deep_fps = _limited(chance, (200, 20_000), size)
        families = {
            "loss by chance": (f"[loss]\nratio = {ratio}\n", line_fps),
            "a limit": (shallow, slow_fps),
            "a limit behind a deep buffer": (deep, deep_fps),
            "a limit, and loss by chance below it": (f"{shallow}[loss]\nratio = {ratio}\n", slow_fps),
            "the link": ("", line_fps),
        }
        for name, (toml, fps) in families.items():
            settings = {"trial_s": seconds, "resolution_percent": 0.1}
            source = plan("throughput", frame_bytes=[size], throughput=settings, seed=seed)
            result, records = carry_out(source, device(f"link_bits_per_second = {LINK_BPS}\n{toml}"))
            usable = [record for record in records if record.valid]
            chance_table.setdefault(name, []).append(chance_of_loss(usable) is not None)
            shown = next((record for record in records if record.index == result.rows[0].trial), None)
            if shown is not None:
                share = shown.offered_fps / fps
                kind = (
                    "fed by a buffer" if share > FED else "fed, by less than 0.3 %" if share > SLIGHTLY else "not fed"
                )
                fed_table.setdefault(kind, []).append(outflow(shown) is not None)
    print(f"\n| device, seeds {first} to {last - 1} | runs | said that loss is by chance |")
    print("|---|---|---|")
    for name, said in chance_table.items():
        print(f"| {name} | {len(said)} | {sum(said)} ({100 * sum(said) / len(said):.1f} %) |")
    print("\n| table of addresses | runs | said that it learns more slowly |")
    print("|---|---|---|")
    for name, said in address_table.items():
        print(f"| {name} | {len(said)} | {sum(said)} ({100 * sum(said) / len(said):.1f} %) |")
    print("\n| deciding trial | runs | said that a queue grew |")
    print("|---|---|---|")
    for name, said in fed_table.items():
        print(f"| {name} | {len(said)} | {sum(said)} ({100 * sum(said) / len(said):.1f} %) |")


if __name__ == "__main__":
    main()
