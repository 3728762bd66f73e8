"""A real Prometheus reads the server's metrics, and has an answer to every query of the Grafana dashboard."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import urlopen

import pytest

from keisoku.faces.otg.control.controller import Controller
from keisoku.faces.otg.serving.server import Listening, Server

EXAMPLES = Path(__file__).parents[2] / "examples/ci"
PLAN = {
    "methods": ["throughput", "latency", "loss"],
    "dut": "sim:gs908e",
    "frame_bytes": [64],
    "throughput": {"trial_s": 0.05},
    "latency": {"trial_s": 0.05, "tag_after_s": 0.01, "repetitions": 2},
    "loss": {"trial_s": 0.05},
}
PATIENCE_S = 60.0

pytestmark = pytest.mark.skipif(shutil.which("prometheus") is None, reason="needs the Debian package prometheus")


def until(what: str, ask: Any) -> Any:
    """The first answer that is not None, of many tries."""
    deadline = time.monotonic() + PATIENCE_S
    while (found := ask()) is None:
        assert time.monotonic() < deadline, what
    return found


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    controller = Controller(runs=tmp_path / "runs")
    with Server(Listening(http_port=0, grpc_port=None), controller) as running:
        run = controller.runs.start(PLAN).run
        state = until("a run to end", lambda: None if controller.runs.status(run).state == "running" else True)
        assert state and controller.runs.status(run).state == "finished", controller.runs.status(run)
        yield running


@pytest.fixture
def prometheus(server: Server, tmp_path: Path) -> Iterator[str]:
    given = (EXAMPLES / "prometheus.yml").read_text(encoding="utf-8")
    target = server.url.removeprefix("http://").rstrip("/")
    assert "127.0.0.1:8443" in given
    configuration = tmp_path / "prometheus.yml"
    text = given.replace("127.0.0.1:8443", target)
    configuration.write_text(f"global: {{scrape_interval: 1s}}\n{text}", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = ["prometheus", f"--config.file={configuration}", f"--storage.tsdb.path={tmp_path / 'series'}"]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen([*command, f"--web.listen-address={address}"], stdout=log, stderr=log)
    try:
        yield f"http://{address}"
    finally:
        process.terminate()
        process.wait(30)


def answered(base: str, expression: str) -> list[Any] | None:
    try:
        with urlopen(f"{base}/api/v1/query?query={quote(expression)}", timeout=10) as answer:
            found = json.load(answer)
    except (URLError, ConnectionError, TimeoutError):
        return None  # it is still starting
    assert found["status"] == "success", found
    return found["data"]["result"] or None


def queries() -> list[str]:
    dashboard = json.loads((EXAMPLES / "grafana.json").read_text(encoding="utf-8"))
    return [target["expr"].replace("$device", ".*") for panel in dashboard["panels"] for target in panel["targets"]]


def test_prometheus_answers_every_query_of_the_dashboard(prometheus: str) -> None:
    [up] = until("a scrape", lambda: answered(prometheus, "keisoku_row_measured == 1 and on() (up == 1)"))[:1]
    assert up["metric"]["device"] == "simulated CentreCOM GS908E"
    asked = queries()
    assert len(asked) > 8
    for expression in asked:
        assert answered(prometheus, expression), expression
    [age] = answered(prometheus, 'time() - keisoku_run_start_time_seconds{measurement="latency"}') or []
    assert 0 <= float(age["value"][1]) < 3600


def through_grafanas_models(dashboard: dict[str, Any]) -> Any:
    """What is left of it after Grafana's own models of version 11.6, which are generated from its published schemas."""
    models = pytest.importorskip("grafana_foundation_sdk.models.dashboard", reason="./setup.sh check installs it")
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.cog.plugins import register_default_plugins

    register_default_plugins()  # panels and queries by their type
    return json.loads(JSONEncoder(sort_keys=True).encode(models.Dashboard.from_json(dashboard)))


def lost(before: Any, after: Any, place: str = "") -> list[str]:
    """Where something is not what it was. Defaults that the models add are nothing."""
    if isinstance(before, dict) and isinstance(after, dict):
        return [text for key, value in before.items() for text in lost(value, after.get(key), f"{place}.{key}")]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return [text for at, (one, other) in pairs for text in lost(one, other, f"{place}[{at}]")]
    return [] if before == after else [place]


def test_grafanas_own_models_know_every_field_of_the_dashboard() -> None:
    """Grafana itself is in no registry of packages; its models drop what they do not know."""
    dashboard = json.loads((EXAMPLES / "grafana.json").read_text(encoding="utf-8"))
    assert lost(dashboard, through_grafanas_models(dashboard)) == []
    dashboard["panels"][0]["options"]["legend"]["placment"] = "bottom"
    dashboard["panels"][0]["targets"][0]["legend"] = "x"
    wrong = lost(dashboard, through_grafanas_models(dashboard))
    assert wrong == [".panels[0].options.legend.placment", ".panels[0].targets[0].legend"]


def test_promtool_finds_nothing_wrong_with_the_names(server: Server) -> None:
    with urlopen(f"{server.url.rstrip('/')}/metrics", timeout=30) as answer:
        assert answer.headers["content-type"].startswith("application/openmetrics-text")
        lines = answer.read().decode().splitlines()
    # promtool reads the older text form, which has no units and no end.
    text = "".join(f"{line}\n" for line in lines if not line.startswith(("# UNIT", "# EOF")))
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=60)
    assert checked.returncode == 0, checked.stderr
