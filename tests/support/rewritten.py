"""A device that rewrites headers of chosen frames, told to each engine in its own words, and what a report says of it.

The simulated device (also the one behind the Verilated instrument) is told by a file, the lab's by patches. Addresses
are stated, so that the reports of all engines have the same words.
"""

from __future__ import annotations

import numpy as np

from keisoku.ground.frame.expectation import applied, expectations
from keisoku.ground.lab.device.faults import Faults, patches
from keisoku.subjects.device.analysis.changes import findings
from keisoku.subjects.device.record.arrival import CORRUPT
from keisoku.subjects.device.record.facts import Facts

HEADERS = (
    "Ether(dst='02:00:00:00:00:02', src='02:00:00:00:00:01')"
    "/IP(src='198.18.1.2', dst='198.18.2.2', tos=184)/UDP(sport=49184, dport=7)"
)
FRAMES = 1488
"""Of 64 byte in 1 ms at 1 Gb/s."""
RULES: dict[tuple[str, ...], tuple[str, tuple[int, ...]]] = {
    ("IP.dscp=0",): ("IP.dscp 46 to 0", (3, 4, 700)),
    ("IP.ttl=-1", "Ether.dst=02:00:00:00:00:09"): (
        "Ether.dst 02:00:00:00:00:02 to 02:00:00:00:00:09, IP.ttl 10 to 9",
        tuple(range(10, FRAMES, 100)),
    ),
    ("push=Dot1Q(vlan=5, prio=3)",): ("Dot1Q(prio=3, dei=0, vlan=5) added", tuple(range(11, FRAMES, 250))),
    ("IP.ecn=3",): ("IP.ecn 0 to 3", tuple(range(57, FRAMES, 90))),
    ("UDP.chksum=0",): ("UDP.chksum right to zero", (121, 122, 900)),
    ("IP.src=203.0.113.9", "UDP.sport=4000"): (
        "IP.src 198.18.1.2 to 203.0.113.9, UDP.sport 49184 to 4000",
        tuple(range(163, FRAMES, 300)),
    ),
}
"""What is done, the words of a report for it, and the numbers of the frames."""


def told(frames: int = FRAMES) -> dict[str, set[int]]:
    """What the report of so many frames is to say."""
    own = {words: {number for number in numbers if number < frames} for words, numbers in RULES.values()}
    return {words: numbers for words, numbers in own.items() if numbers}


def simulated_toml() -> str:
    """The device as a file."""
    return "".join(
        f"[[rewrite]]\nchanges = {list(changes)}\nframes = {list(numbers)}\n" for changes, (_, numbers) in RULES.items()
    )


def lab_faults(before: bytes, frame_bytes: int) -> Faults:
    """The lab's device, by the headers that are sent."""
    rewrite = []
    for changes, (_, numbers) in RULES.items():
        patch = patches(before, applied(expectations(changes), before, frame_bytes - 4))
        rewrite += [(number, patch) for number in numbers]
    return Faults(rewrite=tuple(rewrite))


def report(facts: Facts, rows: np.ndarray[tuple[int], np.dtype[np.void]]) -> dict[str, set[int]]:
    """The numbers of changed frames by what was changed, from the rows of frames as the core hands them over."""
    texts = {kind: one.text for one in findings(facts) for kind in one.kinds}
    found: dict[str, set[int]] = {}
    for row in rows:
        assert not row["flags"] & CORRUPT
        found.setdefault(texts[int(row["flags"]) >> 8], set()).add(int(row["sequence"]))
    return found
