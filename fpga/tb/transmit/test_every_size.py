"""Back-to-back frames of many sizes, or with KEISOKU_EVERY_SIZE=1 of every size, in C++ over the Verilated generator.

The C++ checks gaps, lengths, checksums, FCS and signatures by itself; here are only the programs.
"""

import os
import random
import subprocess

import transmit_expected as expected
from simulate import FPGA, PACKAGES, use_verilator
from test_generator import SOURCES

from keisoku.ground.fpga.program import ENTRIES, PlannedFrame, encode

GAPS = (8, 11, 12)


def batch(sizes, chance):
    """A line for every_size.cpp."""
    plan = [
        PlannedFrame(expected.header("ipv4", size), size, chance.choice([*GAPS, chance.randrange(8, 40)]))
        for size in sizes
    ]
    program = encode(plan)
    assert len(program.slots) == 1
    writes = [(at + 4 * index, word) for at, words in program.writes for index, word in enumerate(words)]
    frames = [(frame.frame_bytes - 4, frame.gap_bytes) for frame in plan]
    return " ".join(map(str, [len(writes), len(frames), *sum(writes, ()), *sum(frames, ())]))


def test_sizes():
    """Skipped without Verilator."""
    root = use_verilator()
    build = FPGA / "build" / "every_size"
    sources = [FPGA / source for source in (*PACKAGES, *SOURCES) if "bench" not in source]
    command = [root / "bin" / "verilator", "--cc", "--exe", "--build", "-O3", "--x-assign", "fast", "-Wall"]
    command += ["-Wno-UNUSEDPARAM", "-CFLAGS", "-O2", "--top-module", "generator", "-Mdir", build, "-o", "every_size"]
    command += [*sources, FPGA / "tb" / "transmit" / "every_size.cpp"]
    subprocess.run(command, check=True, capture_output=True)
    chance = random.Random(9)
    if os.environ.get("KEISOKU_EVERY_SIZE"):
        sizes = list(range(64, 16_388))
    else:
        sizes = [*range(64, 400), *range(400, 16_387, 257), 16_387]
    batches = [batch(sizes[at : at + ENTRIES], chance) for at in range(0, len(sizes), ENTRIES)]
    result = subprocess.run([build / "every_size"], input="\n".join(batches), capture_output=True, text=True)
    assert result.returncode == 0, result.stdout
    assert result.stdout.startswith(f"{len(sizes)} frames ")
