"""The page of a short run of every measurement and procedure: its card says something, its plots are drawn."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support.chromium import looked_at
from support.command_line import keisoku
from support.declared import undeclared
from support.every_kind import OTHERS, PROCEDURES

from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.far_end import FarEnd
from keisoku.running.measurement.plan_values import DEVICE
from keisoku.running.measurement.table import MODULES
from keisoku.subjects.device.table import PROCEDURES as TABLE

HERE = Place("127.0.0.1")
SWITCH = """
ports = 4
link_bits_per_second = 1_000_000_000
[forwarding]
ns_per_byte = 8.0
constant_ns = 1200.0
[scheduler]
code = "dscp"
kind = "drr"
[[queue]]
codes = [46]
priority = 1
buffer_bytes = 60_000
[[queue]]
codes = [10]
weight = 3.0
buffer_bytes = 130_000
[queue.marking]
by = "curve"
action = "drop"
least_bytes = 20_000
most_bytes = 60_000
most_ratio = 0.2
[[queue]]
codes = [0, 26]
buffer_bytes = 130_000
"""
TREX = {"flow_stats": {"7": {"tx_pkts": {"total": 1000}, "rx_pkts": {"total": 990}}, "global": {}}}


def test_every_measurement_and_procedure_has_a_command_here() -> None:
    assert set(OTHERS) == set(MODULES) - {DEVICE, "campaign"}
    assert set(PROCEDURES) == {each.name.replace("_", "-") for each in TABLE.values()} - {"forward-pressure"}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Ports of the far ends at the loopback, and files, by the names that commands have for them."""
    folder = tmp_path_factory.mktemp("kinds")
    draw = Random(20)
    (folder / "switch.toml").write_text(SWITCH)
    (folder / "phase.txt").write_text("\n".join(str(draw.gauss(0, 1e-9)) for _ in range(1000)))
    (folder / "trex.json").write_text(json.dumps(TREX))
    (folder / "file.bin").write_bytes(draw.randbytes(1 << 20))
    files = {"switch": "switch.toml", "phase": "phase.txt", "file": "file.bin", "imported": "trex.json"}
    with ExitStack() as stack:
        came = str(tmp_path_factory.mktemp("came"))
        streams, capacity = stack.enter_context(FarEnd("stream", HERE, "--files", came, "--capacity=0")).ports
        ports = {"stream": str(streams), "capacity": str(capacity)}
        for name, service in (("train", "path"), ("delay", "reflect"), ("outage", "outage")):
            ports[name] = str(stack.enter_context(FarEnd(service, HERE)).port)
        mesh = stack.enter_context(FarEnd("outage", Place("127.0.0.2"), "--mesh")).port
        ports["mesh"] = str(stack.enter_context(FarEnd("outage", HERE, "--mesh", port=mesh)).port)
        yield {name: str(folder / file) for name, file in files.items()} | ports


def commits(folder: Path, count: int) -> None:
    """A repository with so many."""
    git = ["git", "-C", str(folder), "-c", "user.name=keisoku", "-c", "user.email=keisoku@localhost"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    for number in range(count):
        subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message", f"change {number}"], check=True)


@pytest.mark.long
@pytest.mark.timeout(1200)  # two procedures wait more than once until a bridge forgets addresses, which takes 300 s
@pytest.mark.parametrize("name", [*PROCEDURES, *OTHERS])
def test_the_page_of_a_run_is_whole(browser: Any, tmp_path: Path, places: dict[str, str], name: str) -> None:
    given = PROCEDURES.get(name) or OTHERS.get(name, "")
    command = [*name.split(), *shlex.split(given.format(**places)), "--out", "run"]
    if name == "bisect":
        commits(tmp_path, 5)
    done = keisoku(*command, cwd=tmp_path, timeout_s=1100.0)
    assert done.code in (0, 2), done.stdout + done.stderr  # 2: undecided, or nothing was measured on a busy machine
    rows = [row for result in json.loads((tmp_path / "run" / "result.json").read_text()) for row in result["rows"]]
    assert not undeclared(tmp_path / "run")
    page = tmp_path / "run" / "report.html"
    assert len(page.read_bytes()) < 1_500_000
    looked_at(browser, page)
    cards = browser.execute_script("return [...document.querySelectorAll('.card')].map((card) => card.textContent)")
    if any(row["figures"] for row in rows):
        assert cards and not any("No figure was measured" in card for card in cards)
