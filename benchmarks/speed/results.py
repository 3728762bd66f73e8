"""What a run of the benchmarks found: as JSON under `results/`, and as tables in README.md between two markers.

It keeps no name and no path of the machine, only what decides speed. Nothing here measures.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import accounting
import clock
import engines
import frame_cost
import limit_search

_HERE = Path(__file__).parent
_PACKAGES = ("netsniff-ng", "tcpreplay", "iperf3", "nuttcp", "pchar", "sockperf", "qperf")

Results = dict[str, Any]


def machine() -> dict[str, Any]:
    """CPU, cores and kernel, and the versions of the peers."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "cpu": models[0] if models else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release().split("-")[0],
        "virtual": any(line.startswith("flags") and " hypervisor" in line for line in lines),
        "load_average_before": round(os.getloadavg()[0], 2),
        "peers": {package: version for package in _PACKAGES if (version := _version(package))},
    }


def _version(package: str) -> str:
    command = ["dpkg-query", "-W", "-f=${Version}", package]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return ""


def write(results: Results) -> Path:
    """Writes the run's file, named after the day and the kind of machine; returns its path."""
    cpu = re.sub(r"[^a-z0-9]+", "-", results["machine"]["cpu"].lower()).strip("-")
    quick = "-quick" if results["quick"] else ""
    path = _HERE / "results" / f"{results['at'][:10]}-{cpu}-{results['machine']['cores']}-cores{quick}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n")
    return path


def now() -> str:
    """UTC, ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def publish(results: Results, file: str) -> None:
    """Puts the tables into README.md in place of the last ones."""
    put(_HERE.parent / "README.md", "bench: begin", "bench: end", tables(results, file))


def put(page: Path, begin: str, end: str, text: str) -> None:
    """Puts it into a page of Markdown, in place of what is between these two comments."""
    opens, closes = f"<!-- {begin} -->", f"<!-- {end} -->"
    before, rest = page.read_text().split(opens)
    page.write_text(f"{before}{opens}\n{text}\n{closes}{rest.split(closes)[1]}")


def tables(results: Results, file: str) -> str:
    """All comparisons as Markdown."""
    host = results["machine"]
    guest = ", virtual" if host["virtual"] else ""
    load = host["load_average_before"]
    kind = "Quick run" if results["quick"] else "Run"
    peers = ", ".join(f"{name} {version}" for name, version in host["peers"].items())
    about = (
        f"{kind} of {results['at'][:10]}: {host['cpu']}, {host['cores']} cores{guest}, Linux {host['kernel']}, load "
        f"average before it {load}; {peers}. Medians of {results['repetitions']}; every figure is in `{file}`."
    )
    parts = [about]
    for title, key, shape in (
        ("Throughput, 64-byte frames", "throughput", throughput_table),
        ("keisoku's engines, 64-byte frames", "engines", engines.table),
        ("Highest load without loss, 64-byte frames", "lossless", lossless_table),
        ("CPU time of a frame, and the limits of the ratios", "frame-cost", frame_cost.table),
        ("Gaps between frames", "gaps", gaps_table),
        ("Accounting in memory", "accounting", accounting.table),
        ("Calibrating the processor's counter", "clock", clock.table),
        ("Searching for the best limit of a whole system", "limit", limit_search.table),
    ):
        if results.get(key):
            parts.append(f"### {title}\n\n{shape(results[key])}")
    return "\n\n".join(parts)


def throughput_table(rows: list[dict[str, Any]]) -> str:
    """keisoku against each peer, in million frames/s."""
    heads = ["through", "peer", "its frames end in", "peer offered", "peer received"]
    heads += ["keisoku offered", "keisoku received", "ratio (lowest to highest)", "goal"]
    cells = (
        [
            row["device"],
            " ".join([row["peer"], *row["command_options"]]),
            row["peer_frames_end_in"],
            *(_million(row[f"peer_{what}_fps"]) for what in ("offered", "received")),
            *(_million(row[f"keisoku_{what}_fps"]) for what in ("offered", "received")),
            f"**{row['median_ratio']:.2f}** ({min(row['ratios']):.2f} to {max(row['ratios']):.2f})",
            f"{row['goal']:g}" if row["goal"] else "",
        ]
        for row in rows
    )
    return _table(heads, cells)


def lossless_table(rows: list[dict[str, Any]]) -> str:
    """Each sender's highest load of which nothing was lost, in million frames/s."""
    heads = ["through", "sender", "M frames/s (lowest to highest)", "keisoku to it"]
    cells = (
        [
            row["device"],
            row["sender"],
            f"{_million(row['lossless_fps'])} ({min(row['lossless_fps']) / 1e6:.2f} to "
            f"{max(row['lossless_fps']) / 1e6:.2f})",
            "" if row["median_ratio"] is None else f"{row['median_ratio']:.2f}",
        ]
        for row in rows
    )
    return _table(heads, cells)


def gaps_table(rows: list[dict[str, Any]]) -> str:
    """Senders at each rate, in µs."""
    heads = ["asked, frames/s", "sender", "p1 µs", "p50 µs", "p99 µs", "p99.9 µs", "rate error ppm"]
    quantiles = ("p1_us", "p50_us", "p99_us", "p99_9_us")
    cells = (
        [
            f"{row['asked_fps']}",
            row["sender"],
            *(f"{row[name]:.2f}" for name in quantiles),
            f"{row['rate_error_ppm']:+.0f}",
        ]
        for row in rows
    )
    return _table(heads, cells)


def _million(rates: list[float]) -> str:
    return f"{median(rates) / 1e6:.2f}"


def _table(heads: list[str], rows: Iterable[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
