"""How often `keisoku bisect` names the right commit, in virtual time and on a real data plane.

`python benchmarks/detection/bisections.py [--histories 200] [--seed 500000]` draws histories of 64 commits whose change
is known, and the figures of runs, and is decided by the command's rule; docs/how-we-know/comparisons.md has the table.
Two kinds of noise: `shared` is that of `cost` on a machine that others use: 0.7 % normal, a random walk of 0.2 % a run,
and one run in thirty that is slow as a whole, by 10 % to 50 %. `heavy` is Student's t with 3 degrees of freedom
(0.6 %), with a level of 0.3 % of each build, which its code has by where it lies. Constants were chosen on other seeds
(1).

`python benchmarks/detection/bisections.py --real 10 [--commits 32]`, with root: as many repositories of XDP sources, in
each of which one commit costs about 5 % more, bisected on the data plane of `examples/ci`. With `--disturbed` beside
programs that never sleep.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keisoku.ground.statistics.bisection import Belief, Comparison, History
from keisoku.ground.statistics.bisection_belief import believe
from keisoku.running.measurement.side_runs import order

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

LENGTH = 64
MARGIN = 0.02
ERROR = 0.05
MOST_PAIRS = 150
EXAMPLE = Path(__file__).parents[2] / "examples" / "ci"
STEPS, MORE = 200, 10
"""Of the loop in the real data plane; the loop is nearly all of the cost, so these are 5 % more."""
Levels = NDArray[np.float64]
Draw = Callable[[np.random.Generator], tuple[Levels, object]]


class Shared:
    """Runs on a machine that others use."""

    of_builds = 0.0

    def __init__(self, chance: np.random.Generator) -> None:
        self._chance, self._level = chance, 0.0

    def run(self) -> float:
        """What the next run adds to the logarithm of its figure."""
        self._level += self._chance.normal(0, 0.002)
        slow = self._chance.uniform(0.1, 0.4) if self._chance.random() < 1 / 30 else 0.0
        return float(self._level + self._chance.normal(0, 0.007) + slow)


class Heavy(Shared):
    """Heavy tails, and a level of each build."""

    of_builds = 0.003

    def run(self) -> float:
        """The same."""
        return float(0.006 * self._chance.standard_t(3))


def one(size: float) -> Draw:
    """A single change."""

    def draw(chance: np.random.Generator) -> tuple[Levels, object]:
        place = int(chance.integers(1, LENGTH + 1))
        return np.where(np.arange(LENGTH + 1) >= place, math.log1p(size), 0.0), place

    return draw


def two(size: float) -> Draw:
    """Two equal changes."""

    def draw(chance: np.random.Generator) -> tuple[Levels, object]:
        places = chance.choice(np.arange(1, LENGTH + 1), 2, replace=False)
        return (np.arange(LENGTH + 1)[:, None] >= places).sum(axis=1) * math.log1p(size), "more"

    return draw


def none(chance: np.random.Generator) -> tuple[Levels, object]:
    """No change."""
    return np.zeros(LENGTH + 1), "none"


HISTORIES: dict[str, Draw] = {
    "5 %": one(0.05),
    "3 %": one(0.03),
    "-5 %": one(-0.05),
    "none": none,
    "5 % and 5 %": two(0.05),
    "3 % and 3 %": two(0.03),
}


def bisected(levels: Levels, noise: Shared, seed: int) -> Belief:
    """What is found by pairs that are ordered as the command orders them."""
    history = History(LENGTH, math.log1p(MARGIN), ERROR)
    comparisons: list[Comparison] = []
    belief = believe(history, comparisons)
    while belief.answer == "undecided" and len(comparisons) < MOST_PAIRS:
        place, against_bad = belief.next()
        found = {side: noise.run() for side in order(seed, len(comparisons) + 1)}
        apart = levels[place] - levels[LENGTH if against_bad else 0]
        comparisons.append(Comparison(place, against_bad, float(apart + found["b"] - found["a"])))
        belief = believe(history, comparisons)
    return belief


def row(name: str, kind: type[Shared], draw: Draw, histories: int, seed: int) -> str:
    """A row of Markdown."""
    found: Counter[str] = Counter()
    pairs, errors = [], []
    for number in range(seed, seed + histories):
        chance = np.random.default_rng(number)
        levels, truth = draw(chance)
        belief = bisected(levels + chance.normal(0, kind.of_builds, LENGTH + 1), kind(chance), number)
        said = belief.place[0] if belief.answer == "one" else belief.answer
        found["undecided" if said == "undecided" else "right" if said == truth else "wrong"] += 1
        pairs.append(len(belief.comparisons))
        if said != "undecided":
            errors.append(1 - belief.likeliest[1])
    stated = 100 * statistics.fmean(errors) if errors else math.nan
    return (
        f"| {name} | {kind.__name__.lower()} | {found['right']} | {found['wrong']} | {found['undecided']} "
        f"| {stated:.1f} % | {statistics.median(pairs):.0f} | {max(pairs)} |"
    )


def git(folder: Path, *words: str) -> str:
    """What git printed that must succeed."""
    names = ["-c", "user.name=keisoku", "-c", "user.email=keisoku@localhost"]
    command = ["git", "-C", str(folder), *names, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def repository(folder: Path, commits: int, chance: random.Random) -> str:
    """A history of XDP sources, of which one commit takes more steps; returns that one.

    The others change comments, or add a constant that nothing uses.
    """
    source = (EXAMPLE / "dataplane" / "forward.c").read_text()
    git(folder, "init", "--quiet")
    slower, steps, found = chance.randint(1, commits), STEPS, ""
    for number in range(commits + 1):
        if number == slower:
            steps += MORE
        elif chance.random() < 0.5:
            source += f"\nconst int unused_{number} = {number};\n"
        text = f"/* Version {number}. */\n{source.replace('#define WORK 0', f'#define WORK {steps}')}"
        (folder / "forward.c").write_text(text)
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "--message", f"dataplane: change {number}")
        found = git(folder, "rev-parse", "HEAD") if number == slower else found
    return found


def real(number: int, commits: int, within: str, disturbed: bool) -> tuple[str, float]:
    """'right', 'wrong' or 'undecided' with the sentence, and how long it took in seconds."""
    from support.disturber import Disturber

    script = EXAMPLE / "dataplane.sh"
    with tempfile.TemporaryDirectory() as kept, Disturber(seed=number) if disturbed else nullcontext():
        folder = Path(kept, "repository")
        folder.mkdir()
        truth = repository(folder, commits, random.Random(number))
        subprocess.run([str(script), "up"], check=True)
        try:
            # The ports need a data plane before they are looked at: --load brings the first one.
            command = [sys.executable, "-m", "keisoku", "bisect", f"HEAD~{commits}", "HEAD", "cost", "--size", "64"]
            command += ["--tx", "xdp:kci0", "--rx", "xdp:kci1", "--within", within, "--json", "--out", f"{kept}/run"]
            command += ["--build", f"{script} build forward.c $KEISOKU_BUILD/forward.o"]
            command += ["--load", f"{script} load $KEISOKU_BUILD/forward.o"]
            began_s = time.monotonic()
            done = subprocess.run(
                command,
                cwd=folder,
                env={**os.environ, "XDG_CACHE_HOME": f"{kept}/cache"},
                capture_output=True,
                text=True,
                check=False,
            )
            took_s = time.monotonic() - began_s
        finally:
            subprocess.run([str(script), "down"], check=True)
        if done.returncode not in (0, 2) or not done.stdout:
            raise SystemExit(done.stderr)
        said = json.loads(done.stdout)["results"][0]["sentence"]
    verdict = "undecided" if done.returncode == 2 else "right" if said.startswith(f"{truth[:12]} ") else "wrong"
    return f"{verdict}: {said}" + (f" (truth {truth[:12]})" if verdict == "wrong" else ""), took_s


def main() -> None:
    """Prints the table, or a line for each real history."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--histories", type=int, default=200)
    parser.add_argument("--seed", type=int, default=500_000)
    parser.add_argument("--real", type=int, default=0, help="real histories instead of drawn ones")
    parser.add_argument("--commits", type=int, default=32, help="of each real history")
    parser.add_argument("--within", default="10min", help="for each real history")
    parser.add_argument("--disturbed", action="store_true", help="real histories beside the disturber of the tests")
    asked = parser.parse_args()
    for number in range(1, asked.real + 1):
        said, took_s = real(number, asked.commits, asked.within, asked.disturbed)
        print(f"{number}: {took_s:.0f} s: {said}", flush=True)
    if asked.real:
        return
    print(f"| change | noise | right, of {asked.histories} | wrong | undecided | stated error | pairs, median | most |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for kind in (Shared, Heavy):
        for name, draw in HISTORIES.items():
            print(row(name, kind, draw, asked.histories, asked.seed), flush=True)


if __name__ == "__main__":
    main()
