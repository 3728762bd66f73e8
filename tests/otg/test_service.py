"""keisoku's own paths: runs of methods, and what OTG cannot say of traffic, on simulated devices with known truth."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
import snappi
from support.otg_server import key_of, set_traffic, two_ports, udp_flow, until_stopped

from keisoku.faces.otg.control.controller import Controller
from keisoku.faces.otg.serving.server import Listening, Server
from keisoku.faces.service.openapi import openapi
from keisoku.faces.service.operation import BASE, OPERATIONS
from keisoku.faces.service.runs import asked_from_afar
from keisoku.ground.run.result import Result
from keisoku.subjects.device.record.trial_record import TrialRecord

PLAN = {"methods": ["throughput"], "dut": "sim:gs908e", "frame_bytes": [64], "throughput": {"trial_s": 0.05}}
ENDLESS = PLAN | {"throughput": {"trial_s": 3600}}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(Listening(http_port=0, grpc_port=None), Controller(runs=tmp_path)) as running:
        yield running


def ask(server: Server, method: str, path: str, document: object = None) -> tuple[int, Any]:
    where = urlsplit(server.url)
    connection = http.client.HTTPConnection(str(where.hostname), where.port, timeout=60)
    try:
        connection.request(method, path, None if document is None else json.dumps(document), key_of(server))
        response = connection.getresponse()
        text = response.read()
        return response.status, json.loads(text) if "json" in str(response.getheader("content-type")) else text.decode()
    finally:
        connection.close()


def get(server: Server, path: str) -> Any:
    status, found = ask(server, "GET", BASE + path)
    assert status == 200, found
    return found


def start(server: Server, plan: dict[str, Any]) -> str:
    status, found = ask(server, "POST", f"{BASE}/runs", plan)
    assert (status, found["state"]) == (201, "running") or found["state"] == "finished", found
    return str(found["run"])


def until_over(server: Server, run: str) -> Any:
    while (found := get(server, f"/runs/{run}"))["state"] == "running":
        pass
    return found


def test_every_setting_of_a_plan_is_described() -> None:
    """Once settings' docstrings were read only for the help of options, the document had lost them."""
    plan = openapi()["components"]["schemas"]["ThroughputSettings"]["properties"]
    assert all(setting.get("description") for setting in plan.values())
    assert "description" in plan["trial_s"]


def test_a_run_is_started_watched_and_read(server: Server, tmp_path: Path) -> None:
    run = start(server, PLAN | {"require": ["throughput[64] >= 1 Mpps", "throughput[64] >= 2 Mpps"]})
    status = until_over(server, run)
    assert status["state"] == "finished" and status["error"] is None and status["trials"] > 0
    assert [each["met"] for each in status["criteria"]] == [True, False]
    results = [Result.model_validate(each) for each in get(server, f"/runs/{run}/results")]
    assert results[0].rows[0].figures["throughput"].unit == "frames/s"
    trials = [TrialRecord.model_validate(each) for each in get(server, f"/runs/{run}/trials")]
    assert len(trials) == status["trials"]
    assert "<h1>" in get(server, f"/runs/{run}/report")
    assert (tmp_path / run / "result.json").is_file()
    assert [each["run"] for each in get(server, "/runs")] == [run]


def test_metrics_are_those_of_the_newest_run_of_each_measurement(server: Server) -> None:
    assert ask(server, "GET", "/metrics") == (
        200,
        "# HELP keisoku_run_start_time_seconds When the run began.\n# TYPE keisoku_run_start_time_seconds gauge\n"
        "# UNIT keisoku_run_start_time_seconds seconds\n"
        "# HELP keisoku_row_measured 1 if the row was measured, 0 if it was not.\n# TYPE keisoku_row_measured gauge\n"
        "# EOF\n",
    )
    for size in (64, 1518):
        until_over(server, start(server, PLAN | {"frame_bytes": [size]}))
    _, text = ask(server, "GET", "/metrics")
    lines = [line for line in text.splitlines() if line.startswith("keisoku_throughput_frames_per_second")]
    assert len(lines) == 1 and 'frame_bytes="1518"' in lines[0] and 'state="measured"' in lines[0]


def test_any_measurement_is_carried_out_by_its_name(server: Server) -> None:
    cost = {"measurement": "clock cost", "reads": 500, "rounds": 50, "stall_scan_s": 0.005}
    limit = {"measurement": "system limit", "system": "sim:e4", "sweep": 3, "repetitions": 1, "floor_bps": 1e8}
    for plan, figure in ((cost, "p50"), (limit, "requests")):
        run = start(server, plan)
        status = until_over(server, run)
        assert status["state"] == "finished" and status["measurement"] == plan["measurement"], status
        (result,) = [Result.model_validate(each) for each in get(server, f"/runs/{run}/results")]
        assert any(figure in row.figures for row in result.rows)
        assert "<h1>" in get(server, f"/runs/{run}/report")
        assert get(server, f"/runs/{run}/trials") == []


@pytest.mark.parametrize(
    ("plan", "field"),
    [
        ({"measurement": "stream file", "source": "/etc/passwd", "host": "127.0.0.1"}, "measurement"),
        ({"measurement": "path delay", "host": "127.0.0.1", "key_file": "/etc/passwd"}, "key_file"),
        ({"measurement": "stream tcp", "host": "127.0.0.1", "ceiling": "runs/other"}, "ceiling"),
        ({"measurement": "system limit", "system": "sim:/etc/passwd"}, "system"),
        ({"measurement": "system limit", "system": "lab:system?clients=4"}, "system"),
        ({"measurement": "clock costs"}, "measurement"),
    ],
)
def test_what_names_files_of_the_server_is_refused(server: Server, plan: dict[str, Any], field: str) -> None:
    code, error = ask(server, "POST", f"{BASE}/runs", plan)
    assert code == 400 and error["errors"][0].startswith(f"{field}: ")
    assert get(server, "/runs") == []


def test_a_run_and_a_configuration_do_not_share_the_ports(server: Server) -> None:
    config = json.loads(two_ports().serialize("json"))
    run = start(server, ENDLESS)
    for path, document in (("/config", config), (f"{BASE}/runs", PLAN)):
        code, error = ask(server, "POST", path, document)
        assert code == 409 and f"the run {run} holds them" in error["errors"][0]
    assert ask(server, "POST", "/config", {})[0] == 200  # of no ports
    code, status = ask(server, "POST", f"{BASE}/runs/{run}/cancel")
    assert (code, status["state"], status["doing"]) == (200, "cancelled", None)
    assert ask(server, "GET", f"{BASE}/runs/{run}/results")[0] == 400
    assert ask(server, "POST", "/config", config)[0] == 200
    code, error = ask(server, "POST", f"{BASE}/runs", PLAN)
    assert code == 409 and "an OTG configuration holds them" in error["errors"][0]
    assert ask(server, "POST", "/config", {})[0] == 200
    until_over(server, start(server, PLAN))


def test_who_starts_a_run_owns_the_ports_until_it_is_over() -> None:
    controller = Controller()
    with pytest.raises(ValueError, match="belong to alice"):
        try:
            run = controller.ask("alice", controller.start_run, ENDLESS, changes=True)
            controller.ask("bob", controller.runs.cancel, run.run, changes=True)
        except Exception as error:
            raise ValueError(str(error)) from error
        finally:
            controller.runs.close()
    # The run is over, and nobody holds a port.
    controller.ask("bob", controller.set_config, json.loads(two_ports().serialize("json")), changes=True)
    controller.close()


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({}, "methods"),
        ([], "no JSON object"),
        (PLAN | {"dut": "sim:nothing"}, "no simulated device 'nothing'"),
        (PLAN | {"capture": "/tmp/x.pcapng"}, "capture: may only be given on this host's command line"),
        (PLAN | {"calibration": "/etc/passwd"}, "names a file of the server"),
        (PLAN | {"pacing": "gaps:/etc/passwd"}, "names a file of the server"),
        (PLAN | {"stream": [{"pacing": " gaps:/etc/passwd"}]}, "names a file of the server"),
        (PLAN | {"force": True}, "force: may only be given on this host's command line"),
        (PLAN | {"require": ["nonsense"]}, "nonsense"),
        (PLAN | {"wrong": 1}, "wrong: there is no such setting"),
    ],
)
def test_what_cannot_be_measured_is_refused_and_leaves_no_run(server: Server, document: Any, said: str) -> None:
    code, error = ask(server, "POST", f"{BASE}/runs", document)
    assert code == 400 and said in error["errors"][0]
    assert get(server, "/runs") == []


def test_a_plan_that_names_no_file_is_taken() -> None:
    measurement, plan = asked_from_afar(PLAN | {"pacing": {"kind": "gaps", "gaps_ns": [1000]}})
    assert (measurement.name, plan.plain()["methods"]) == ("device", ["throughput"])


def test_a_run_that_there_is_not(server: Server) -> None:
    for method, path in (("GET", ""), ("POST", "/cancel"), ("GET", "/results"), ("GET", "/trials"), ("GET", "/report")):
        assert ask(server, method, f"{BASE}/runs/nobody{path}")[0] == 404
    assert ask(server, "GET", f"{BASE}/runs?wrong=1")[0] == 400


def test_flows_are_told_as_keisoku_counts_them(server: Server, tmp_path: Path) -> None:
    device = tmp_path / "leaky.toml"
    device.write_text("[loss]\nratio = 0.1\n[jitter]\ndistribution = 'uniform'\nspread_ns = 1000\n")
    assert get(server, "/traffic") == {"traffic": None}
    assert get(server, "/traffic/flows")["state"] == "none"
    api = snappi.api(location=server.url)
    config = two_ports(f"sim:{device}#1", f"sim:{device}#2")
    udp_flow(config, "f 1/ä", packets=5000)
    udp_flow(config, "f2", tx="p2", rx="p1", packets=20, size=200)
    api.set_config(config)
    set_traffic(api, "start")
    counted = {metric.name: metric for metric in until_stopped(api)}

    told = get(server, "/traffic/flows")
    assert (told["state"], told["invalid_because"]) == ("ended", [])
    by_name = {each["name"]: each for each in told["flows"]}
    assert by_name.keys() == counted.keys()
    for name, metric in counted.items():
        flow = by_name[name]
        assert (flow["offered_frames"], flow["received_frames"]) == (metric.frames_tx, metric.frames_rx)
        assert (flow["transmit"], flow["receive"]) == (metric.port_tx, metric.port_rx)
        assert flow["figures"]["loss"]["value"] == pytest.approx(metric.loss)
    figures = by_name["f 1/ä"]["figures"]
    assert figures["lost"] == {"value": 5000 - counted["f 1/ä"].frames_rx, "unit": "frames", "uncertainty": 0.0}
    # Uniform over 1000 ns: D99.9 − Dmin is nearly all of it.
    assert 900 < figures["pdv"]["value"] <= 1000 and figures["pdv"]["unit"] == "ns"
    assert figures["min"]["value"] <= figures["p50"]["value"] <= figures["p99.9"]["value"] <= figures["max"]["value"]
    (one,) = get(server, f"/traffic/flows?name={quote('f 1/ä', safe='')}&percent=10&percent=90")["flows"]
    assert {"p10", "p90", "p99.9"} <= one["figures"].keys() and "p50" not in one["figures"]

    for each in get(server, "/traffic/histograms")["flows"]:
        assert sum(each["latency"]["histogram"]["counts"]) == counted[each["name"]].frames_rx
    (lost,) = get(server, f"/traffic/lost?name={quote('f 1/ä', safe='')}")["streams"]
    assert sum(gap["count"] for gap in lost["lost"]) == lost["lost_frames"] == figures["lost"]["value"]
    assert "all flows" in get(server, "/traffic/report")
    for wrong in ("flows?name=nobody", "flows?percent=101", "flows?percent=x", "lost?wrong=1"):
        assert ask(server, "GET", f"{BASE}/traffic/{wrong}")[0] == 400


def test_the_document_tells_of_every_path_and_resolves(server: Server) -> None:
    found = get(server, "/openapi.json")
    assert found == json.loads(json.dumps(openapi()))
    named = {(method.upper(), path) for path, methods in found["paths"].items() for method in methods}
    assert named == {(operation.method, BASE + operation.path) for operation in OPERATIONS}
    text = json.dumps(found)
    for reference in {part.split('"')[0] for part in text.split('"$ref": "#/components/schemas/')[1:]}:
        assert reference in found["components"]["schemas"]
    assert {"Plan", "Result", "TrialRecord", "RunStatus", "FlowAccount"} <= found["components"]["schemas"].keys()


def test_nobody_without_a_token_is_told_anything(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("alice:0123456789abcdef\n")
    tokens.chmod(0o600)
    listening = Listening(http_port=0, grpc_port=None, tokens=tokens)
    with Server(listening, Controller(runs=tmp_path)) as server:
        for operation in OPERATIONS:
            code, error = ask(server, operation.method, BASE + operation.path.replace("{run}", "x"), PLAN)
            assert (code, error["code"]) == (401, 401)
        assert ask(server, "GET", f"{BASE}/openapi.json")[0] == 401
        assert list(tmp_path.iterdir()) == [tokens]
