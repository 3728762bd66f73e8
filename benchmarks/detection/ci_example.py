"""How often the CI example finds a slower data plane, and how often it gives a false alarm.

Run it by itself, with root: `python benchmarks/detection/ci_example.py [--tries 5] [--equals 10] [--within 1min]`; it
prints a table. It makes a repository whose first commit is the example's data plane; each
other commit, on top of the first, only changes a comment, or makes a number of steps more for each frame.
`examples/ci/measure.sh` compares each with the first, quiet and beside the disturber of the tests, all in random order.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.disturber import Disturber

EXAMPLE = Path(__file__).parents[2] / "examples" / "ci"
DATAPLANE = "forward.c"
STEPS = (2, 10, 50)
"""More for each frame, of the commits that are slower."""
SAID = {0: "not slower", 1: "slower", 2: "undecided"}
"""What the exit code of the example says."""


def git(folder: Path, *words: str) -> str:
    """What git printed that must succeed."""
    names = ["-c", "user.name=keisoku", "-c", "user.email=keisoku@localhost"]
    return subprocess.run(
        ["git", "-C", folder, *names, *words], capture_output=True, text=True, check=True
    ).stdout.strip()


def repository(folder: Path) -> tuple[str, dict[int, str]]:
    """The first commit, and the others by how many steps they add: 0 for the one that changes a comment."""
    source = (EXAMPLE / "dataplane" / DATAPLANE).read_text()
    git(folder, "init", "--quiet")

    def commit(text: str) -> str:
        (folder / DATAPLANE).write_text(text)
        git(folder, "add", DATAPLANE)
        git(folder, "commit", "--quiet", "--message", "change")
        return git(folder, "rev-parse", "HEAD")

    first = commit(source)
    others = {}
    for steps in (0, *STEPS):
        git(folder, "checkout", "--quiet", "--detach", first)
        slower = source.replace("#define WORK 0", f"#define WORK {steps}")
        others[steps] = commit(slower if steps else f"/* A comment. */\n{source}")
    return first, others


def compared(folder: Path, first: str, other: str, ends: list[str], out: Path) -> tuple[str, str, float]:
    """The verdict, the sentence, and how long it took in seconds."""
    began_s = time.monotonic()
    environment = dict(os.environ, DATAPLANE=DATAPLANE, OUT=str(out))
    environment.setdefault("KEISOKU", f"{sys.executable} -m keisoku")
    command = [str(EXAMPLE / "measure.sh"), first, other, *ends]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if "worse_by" not in line]  # which is its criterion
    said = lines[0] if lines else done.stderr.strip().rpartition("\n")[2]
    return SAID.get(done.returncode, f"exit code {done.returncode}"), said, time.monotonic() - began_s


def main() -> None:
    """Compares all and prints a line for each comparison, then the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tries", type=int, default=5, help="of each number of steps, quiet and disturbed")
    parser.add_argument("--equals", type=int, default=10, help="quiet and disturbed")
    parser.add_argument("--within", default="1min")
    parser.add_argument("--margin", default="5%")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    kinds = [(steps, disturbed) for steps in (0, *STEPS) for disturbed in (False, True)]
    todo = [kind for kind in kinds for _ in range(asked.tries if kind[0] else asked.equals)]
    random.Random(asked.seed).shuffle(todo)
    found: dict[tuple[int, bool], list[tuple[str, float]]] = {kind: [] for kind in kinds}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "repository").mkdir()
        first, others = repository(folder / "repository")
        for number, (steps, disturbed) in enumerate(todo):
            ends = ["--within", asked.within, "--margin", asked.margin, "--seed", str(1000 * asked.seed + number)]
            with Disturber(seed=number) if disturbed else nullcontext():
                verdict, said, took_s = compared(
                    folder / "repository", first, others[steps], ends, folder / str(number)
                )
            found[steps, disturbed].append((verdict, took_s))
            print(f"{steps} steps, {'disturbed' if disturbed else 'quiet'}, {took_s:.0f} s: {said}", flush=True)
    print("| steps more a frame | host | comparisons | slower | not slower | undecided | time (s), median |")
    print("|---:|---|---:|---:|---:|---:|---:|")
    for (steps, disturbed), verdicts in found.items():
        if not verdicts:
            continue
        counts = [sum(verdict == said for verdict, _ in verdicts) for said in ("slower", "not slower", "undecided")]
        middle = sorted(took_s for _, took_s in verdicts)[len(verdicts) // 2]
        counted = " | ".join(str(count) for count in (len(verdicts), *counts))
        print(f"| {steps} | {'disturbed' if disturbed else 'quiet'} | {counted} | {middle:.0f} |")


if __name__ == "__main__":
    main()
