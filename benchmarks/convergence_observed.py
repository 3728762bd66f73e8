"""Whether interruptions by real protocols agree with what the kernel says of its own routes, links and ports.

    python benchmarks/convergence_observed.py [ROUNDS]

Routers by FRR and a spanning tree, in the lab. `ip -ts monitor` (`bridge -timestamp monitor` for the spanning tree)
runs in the device's namespace: from the moment at which it told that the way was lost, or at which the event began, to
that of the new route. It prints the table.
"""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from support.lab_trials import on_lab
from support.trials import drive

from keisoku.device.calibration.bias import Bias
from keisoku.device.method.method import begin
from keisoku.device.plan.plan import parse
from keisoku.lab.device.lab import Lab
from keisoku.run.result import Row

CASES: tuple[tuple[str, str, float, tuple[str, ...], tuple[str, ...]], ...] = (
    ("diamond?bfd=off", "link-down", 2.0, ("upper", "state DOWN"), ("198.18.2.0/24", "dev lower")),
    ("diamond?routing=isis&bfd=off", "link-down", 2.0, ("upper", "state DOWN"), ("198.18.2.0/24", "dev lower")),
    ("diamond?routing=bgp&bfd=off", "link-down", 2.0, ("upper", "state DOWN"), ("198.18.2.0/24", "dev lower")),
    ("diamond", "neighbour-lost", 4.0, (), ("198.18.2.0/24", "dev lower")),
    ("diamond?bfd=off", "neighbour-lost", 7.0, (), ("198.18.2.0/24", "dev lower")),
    ("stp", "port-blocked", 6.0, ("second-first", "state DOWN"), ("second-third", "state forwarding")),
)


def measured(name: str, event: str, watch_s: float) -> tuple[Row, list[str], float]:
    """The row of the event, what the kernel said, and when the event began in s of the host's own time."""
    source: dict[str, Any] = {"methods": ["convergence"], "dut": f"lab:{name}", "frame_bytes": [64], "streams": 5}
    own = {"event": event, "rate_fps": 5000, "stable_s": 0.5, "watch_s": watch_s}
    plan = parse({**source, "convergence": own, "phases": {"learning_wait_s": 0.1, "drain_s": 0.1, "rest_s": 5.0}})
    with Lab(name) as lab:
        happen, begun = lab.happen, list[float]()

        def noted(what: str, undo: bool = False) -> int | None:
            if not undo:
                begun.append(time.time())
            return happen(what, undo)

        lab.happen = noted  # type: ignore[method-assign]
        engine = on_lab(plan, lab)
        monitor = ["ip", "netns", "exec", str(lab.context()["namespaces"][1])]  # type: ignore[index]
        words = ["ip", "-ts", "monitor", "route", "link"]
        if name == "stp":
            words = ["bridge", "-timestamp", "monitor", "link"]
        with subprocess.Popen([*monitor, *words], stdout=subprocess.PIPE, text=True) as child:
            try:
                method = begin("convergence", plan, engine.capabilities, Bias(), {})
                result, _ = drive("convergence", method, engine, seed=lambda index: index, streams=4096)
            finally:
                engine.close()
                time.sleep(0.2)
                child.terminate()
                said = (child.stdout.read() if child.stdout else "").splitlines()
    assert result is not None
    row = next((row for row in result.rows if row.case.startswith(event)), result.rows[0])
    return row, said, begun[row.trial or 0]


def moments(said: list[str], words: tuple[str, ...]) -> list[datetime]:
    """When the kernel told of changes with all these words, except of what it removed."""
    return [
        datetime.fromisoformat(line[1 : line.index("]")])
        for line in said
        if line.startswith("[2") and all(word in line for word in words) and "Deleted" not in line
    ]


def main() -> None:
    """Prints the table."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    print("| device | event | interruption, ms | interval, ms | kernel, ms |", flush=True)
    print("|---|---|---|---|---|", flush=True)
    for name, event, watch_s, lost_words, found_words in CASES:
        for _ in range(rounds):
            row, said, begun_s = measured(name, event, watch_s)
            if not row.figures:
                print(f"| `{name}` | {event} | not measured: {row.remark} | | |", flush=True)
                continue
            figure = row.figures["interruption" if lost_words else "convergence"]
            lost = moments(said, lost_words)[-1:] if lost_words else [datetime.fromtimestamp(begun_s)]
            lost = [at for at in moments(said, lost_words) if at.timestamp() >= begun_s][:1] if lost_words else lost
            found = [at for at in moments(said, found_words) if lost and at > lost[0]]
            kernel = f"{(found[0] - lost[0]) / timedelta(milliseconds=1):.1f}" if found else "not seen"
            low, high = figure.bounds or (0.0, 0.0)
            interval = f"{low / 1e6:.1f} to {high / 1e6:.1f}"
            print(f"| `{name}` | {event} | {figure.value / 1e6:.1f} | {interval} | {kernel} |", flush=True)


if __name__ == "__main__":
    main()
