"""Whether each lost frame has the right place and reason where several causes lose frames at once.

    python benchmarks/accuracy/lost_places.py [MIXTURES] [SEED] [FRAMES] [FRAMES_PER_SECOND]

Needs root, nft and tc; with clang and bpftool BPF programs drop frames, too. Each mixture draws three causes of
tests/support/lost_mixtures.py, the shares of their streams, and who gets copies of the frames beside. What each cause
dropped is counted otherwise. Where the host disturbed every attempt, another one is drawn. A line for each goes to the
terminal, then the table of docs/how-we-know/devices.md.
"""

from __future__ import annotations

import random
import shutil
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.bpf_object import compiled
from support.lost_mixtures import PROGRAMS, drawn, mixture_bed

ARGUMENTS = [int(argument) for argument in sys.argv[1:]] + [None] * 4
MIXTURES, SEED, FRAMES, RATE = (
    asked or usual for asked, usual in zip(ARGUMENTS, (100, 420042, 240, 4000), strict=False)
)


def main() -> int:
    """The exit status: 1 if a mixture had an error."""
    chance = random.Random(SEED)
    lost, named, disturbed, wrong_mixtures = 0, 0, 0, 0
    met: Counter[str] = Counter()
    absent: dict[str, str] = {}
    with TemporaryDirectory() as folder:
        found = shutil.which("clang") and shutil.which("bpftool")
        programs = compiled(PROGRAMS, Path(folder) / "mixture.o") if found else None
        with mixture_bed(programs) as bed:
            if programs is not None:
                healthy = [cause for cause in bed.causes if not cause.places]
                tried = bed.mixture(healthy, [1], "nobody", 40, RATE)
                absent = dict(tried[0].drops.absent) if tried and tried[0].drops else {}
                if "programs" not in absent:
                    bed.with_xdp()
            number = 0
            while number < MIXTURES and disturbed <= MIXTURES:
                causes, weights, bystander = drawn(chance, bed.causes)
                shown = ", ".join(f"{cause.name} ({weight})" for cause, weight in zip(causes, weights, strict=True))
                outcome = bed.mixture(causes, weights, bystander, FRAMES, float(RATE))
                if outcome is None or outcome[0].drops is None:
                    disturbed += 1
                    print(f"disturbed: {shown}", flush=True)
                    continue
                number += 1
                facts, counts = outcome
                assert facts.drops is not None
                differences = bed.differences(causes, facts, counts)
                met.update(cause.name for cause in causes if cause.places)
                lost += facts.drops.lost_frames
                named += facts.drops.lost_frames - facts.drops.not_seen
                wrong_mixtures += bool(differences)
                print(f"{number}: {'; '.join(differences) or 'right'}: {shown}; copies to {bystander}", flush=True)
    print(f"\nnot watched here: {absent}\ncauses: {dict(sorted(met.items()))}\n")
    heads = (
        "mixtures",
        "others, disturbed",
        "lost frames",
        "with a place",
        "ended unseen in the device",
        "with an error",
    )
    print(f"| {' | '.join(heads)} |")
    print("|---|---|---|---|---|---|")
    print(f"| {number} | {disturbed} | {lost} | {named} | {lost - named} | {wrong_mixtures} |")
    return int(wrong_mixtures > 0)


if __name__ == "__main__":
    sys.exit(main())
