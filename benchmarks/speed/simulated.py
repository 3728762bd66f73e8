"""How many frames a second the simulated engine computes, on one core, for devices of several kinds.

Run it by itself: `python benchmarks/speed/simulated.py [MILLION_FRAMES]`. It measures wall-clock time and
asserts nothing; the figures depend on the machine.
"""

from __future__ import annotations

import sys
import time

from keisoku.ground.simulated_device.device import parse_device
from keisoku.subjects.device.engine.simulated import SimulatedEngine
from keisoku.subjects.device.record.trial import Trial

LINE = "forwarding = { ns_per_byte = 8.0, constant_ns = 811.0 }\n"
UNIFORM = "jitter = { distribution = 'uniform', spread_ns = 200 }\n"
NORMAL = "jitter = { distribution = 'normal', spread_ns = 50 }\n"
LOSS = "loss = { ratio = 0.001 }\n"
STALL = "stall = { period_ns = 1_000_000, duration_ns = 10_000 }\n"
FAULTS = "faults = { duplicate_ratio = 1e-4, reorder_ratio = 1e-4, corrupt_ratio = 1e-4 }\n"
DEVICES = {
    "plain": "",
    "overloaded (half the service rate)": "output = { service_bits_per_second = 500_000_000 }\n",
    "random loss 0.1 %": LOSS,
    "uniform jitter": UNIFORM,
    "normal jitter": NORMAL,
    "uniform jitter, loss": UNIFORM + LOSS,
    "normal jitter, loss": NORMAL + LOSS,
    "everything": NORMAL + LOSS + STALL + FAULTS,
}
FRAMES_PER_SECOND = 1e9 / 8 / 84


def main() -> None:
    """Prints one line for each device."""
    frames = int(float(sys.argv[1] if len(sys.argv) > 1 else 50) * 1e6)
    trial = Trial(
        purpose="benchmark",
        frame_bytes=64,
        frames_per_second=FRAMES_PER_SECOND,
        duration_ns=round(frames / FRAMES_PER_SECOND * 1e9),
    )
    for name, model in DEVICES.items():
        engine = SimulatedEngine(parse_device(LINE + model, name))
        started = time.perf_counter()
        engine.start(trial, stream=1, seed=1)
        facts, _ = engine.finish()
        seconds = time.perf_counter() - started
        rate = facts.sent.offered_frames / seconds / 1e6
        print(f"{name:36} {rate:6.1f} million frames/s, {facts.tracked.lost_frames} lost")


if __name__ == "__main__":
    main()
