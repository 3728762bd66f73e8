"""How often `keisoku telemetry` believes an exporter that says the truth, and how often it finds one that does not.

Run it by itself: `python benchmarks/detection/telemetry.py [FIRST LAST]`, with the range of seeds: those below 1000 are
for development, all others for showing. Each seed draws one exporter of each kind: how it samples, whether that is told
to keisoku, sizes and numbers of flows. Virtual time only.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.simulated_trials import carry_out, device, plan

from keisoku.ground.run.result import Row

FIRST, LAST = 1000, 1100
RATE_FPS = 10_000.0
OFF = 0.05
"""How far the estimate of a wrong sampling rate is off; the default resolution promises to find it."""


@dataclass(frozen=True)
class Exporter:
    """What is hidden, and what keisoku is told."""

    protocol: str
    one_in: int = 1
    truly_one_in: float = 1.0
    copies: int = 1
    missing: float = 0.0
    lost: float = 0.0
    told: bool = True
    """Whether the sampling that is configured is given to keisoku."""

    def measured(self, draw: random.Random) -> Row:
        """The row of the exporter."""
        own = f'protocol = "{self.protocol}"\none_in = {self.one_in}\ntruly_one_in = {self.truly_one_in}\n'
        own += (
            f"copies = {self.copies}\nmissing = {self.missing}\nlost = {self.lost}\nseed = {draw.randrange(1 << 30)}\n"
        )
        settings = {"flows": draw.choice([20, 100, 500]), "rate_fps": RATE_FPS, "before_s": 0.0, "after_s": 1.0}
        if self.told and self.one_in > 1:
            settings["sampling"] = self.one_in
        elif self.one_in > 1:
            settings["trial_s"] = 60.0
        size = draw.choice([128, 256, 512, 1518])
        source = plan("telemetry", frame_bytes=[size], seed=draw.randrange(1 << 30), telemetry=settings)
        result, _ = carry_out(source, device(f"ports = 2\nlink_bits_per_second = 10_000_000_000\n[telemetry]\n{own}"))
        (row,) = result.rows
        return row


def verdict(row: Row) -> str:
    """In a word, of the remark's first part."""
    text = row.remark.partition(";")[0]
    for words, said in (
        ("exactly", "true"),
        ("is true", "true"),
        ("times", "counted twice"),
        ("missing", "flows missing"),
        ("not counted", "too few"),
        ("too many", "too many"),
    ):
        if words in text:
            return said
    return text


def sampler(draw: random.Random, off: float = 1.0, copies: int = 1) -> Exporter:
    """One that samples, honestly but for what is given."""
    one_in = draw.choice([16, 32, 50, 64])
    return Exporter(draw.choice(["sflow", "netflow"]), one_in, one_in / off, copies=copies, told=draw.random() < 0.5)


KINDS: dict[str, tuple[Callable[[random.Random], Exporter], set[str]]] = {
    "records of every flow": (lambda draw: Exporter("netflow"), {"true"}),
    "samples as stated": (sampler, {"true"}),
    "samples 5 % too few frames": (lambda draw: sampler(draw, 1 - OFF), {"too few"}),
    "samples 5 % too many frames": (lambda draw: sampler(draw, 1 + OFF), {"too many"}),
    "every frame counted twice": (lambda draw: sampler(draw, copies=2), {"counted twice"}),
    "records of every flow, twice": (lambda draw: Exporter("netflow", copies=2), {"counted twice"}),
    "5 % of the flows without a record": (lambda draw: Exporter("netflow", missing=0.05), {"too few", "true"}),
}
"""What is drawn, and what is to be said. Of few flows none may be missing."""


def main() -> None:
    """A row for each kind."""
    first, last = (int(text) for text in sys.argv[1:3]) if len(sys.argv) > 2 else (FIRST, LAST)
    print("| exporter | runs | said as it is | what else was said | sampling rate inside its interval |")
    print("|---|---:|---:|---|---:|", flush=True)
    for kind, (make, expected) in KINDS.items():
        said: Counter[str] = Counter()
        inside = known = 0
        for seed in range(first, last):
            draw = random.Random(f"{seed} {kind}")
            exporter = make(draw)
            row = exporter.measured(draw)
            word = verdict(row)
            if kind.startswith("5 %"):
                # Where a record is missing, all its frames are.
                word = "true" if bool(row.figures["missing_flows"].value) == (word == "too few") else word
            said[word] += 1
            if (rate := row.figures.get("sampled_one_in")) is not None and rate.bounds and exporter.copies == 1:
                known += 1
                inside += rate.bounds[0] <= exporter.truly_one_in <= rate.bounds[1]
        right = sum(said[word] for word in expected)
        others = ", ".join(f"{word} {count}" for word, count in said.most_common() if word not in expected)
        print(
            f"| {kind} | {last - first} | {right} | {others} | {f'{inside} of {known}' if known else ''} |", flush=True
        )


if __name__ == "__main__":
    main()
