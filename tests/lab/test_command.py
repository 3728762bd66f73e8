"""The real command on real ports: labs, port URIs, calibration; every trial adds up."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from support.command_line import QUICK, assert_adds_up, keisoku, measured, namespaces_of, outcome_of, start, trials

from keisoku.ground.host.look import HostLook
from keisoku.ground.lab.device.lab import Lab
from keisoku.ground.lab.device.port import LabPort

pytestmark = pytest.mark.lab

THROUGHPUT = ["throughput", *QUICK, "--maximum", "100kpps", "--resolution", "20"]
LATENCY = ["latency", *QUICK, "--rate", "20kpps", "--repetitions", "2"]
LOSS = ["loss", *QUICK, "--maximum", "100kpps"]


@pytest.mark.parametrize(
    ("method", "device", "headers", "engine"),
    [
        (THROUGHPUT, "bridge", "ipv4", "xdp"),
        (THROUGHPUT, "router", "ipv6", "packet"),
        (LATENCY, "bridge", "ipv4", "packet"),
        (LATENCY, "router", "ipv4", "xdp"),
        (LOSS, "router", "ipv6", "xdp"),
        (LOSS, "bridge", "ipv6", "packet"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_a_device_is_measured_and_every_frame_accounted_for(
    tmp_path: Path, method: list[str], device: str, headers: str, engine: str
) -> None:
    done = keisoku(
        *method, "--dut", f"lab:{device}", "--headers", headers, "--engine", engine,
        "--size", "84,1518", "--out", "run", "--json", cwd=tmp_path,
    )  # fmt: skip
    done.measured_or_said_why_not()
    run = tmp_path / "run"
    assert_adds_up(run)
    assert {record["trial"]["frame_bytes"] for record in trials(run)} == {84, 1518}
    assert (run / "report.html").stat().st_size > 0
    assert (run / f"{method[0]}.csv").read_text().count("\n") > 2
    context = json.loads((run / "context.json").read_text())
    assert context["engine"] == engine
    assert context["lab"]["device"] == device
    look = HostLook.model_validate(context["host_look"])
    assert look.sentence() in " ".join(done.stderr.split()), "lines are folded at 100 characters"
    assert look.sentence() in (run / "report.html").read_text()
    answer = json.loads(done.stdout)
    assert answer["results"] == json.loads((run / "result.json").read_text())
    rows = answer["results"][0]["rows"]
    assert {row["frame_bytes"] for row in rows} == {84, 1518}
    # On a busy machine the tester may be too late; then it says so and gives no figure.
    assert all(row["figures"] or "tester" in row["remark"] or "host" in row["remark"] for row in rows)
    assert namespaces_of(done.pid) == []


def test_a_missed_criterion_is_exit_code_1(tmp_path: Path) -> None:
    met, missed = "throughput[84] >= 1 kpps", "throughput[84] <= 1 kpps"
    # Simulated: on a host that holds the tester up, a real one may have no throughput to be compared.
    done = keisoku(
        *THROUGHPUT, "--dut", "sim:gs908e", "--size", "84", "--require", met, "--require", missed, cwd=tmp_path
    )
    assert done.code == 1, done.stderr
    assert f"met     {met}" in done.stdout
    assert f"MISSED  {missed}" in done.stdout


def test_a_calibration_is_kept_used_and_left_out_when_asked(tmp_path: Path) -> None:
    calibrate = ["calibrate", "--size", "64", "--duration", "0.1s", "--repetitions", "2", "--waits", "0.02s"]
    calibrate += ["--loads", "10"]
    made = measured(*calibrate, "--out", "made", cwd=tmp_path)
    assert made.code == 0, made.stderr
    (kept,) = (tmp_path / "keisoku" / "calibration").glob("*.json")
    assert f"calibration kept: {kept}" in " ".join(made.stderr.split())
    calibration = json.loads(kept.read_text())
    assert {point["frame_bytes"] for point in calibration["points"]} == {64}

    # One trial of these that the tester does not spoil is enough.
    measure = [*LATENCY, "--dut", "lab:bridge", "--size", "64", "--duration", "0.1s", "--repetitions", "3"]
    means = {}
    for name in ("auto", "none"):
        done = measured(*measure, "--calibration", name, "--out", name, cwd=tmp_path)
        assert done.code == 0, done.stderr
        context = json.loads((tmp_path / name / "context.json").read_text())
        means[name] = json.loads((tmp_path / name / "result.json").read_text())[0]["rows"][0]["figures"]["mean"]
        used = context["calibration"]
        assert (used and used["made_at"]) == (calibration["made_at"] if name == "auto" else None)
    assert means["auto"]["uncertainty"] > 0
    assert "covers" not in means["auto"] and means["none"]["covers"] == "repetitions"

    keisoku(*measure, "--calibration", "nofile.json", cwd=tmp_path).refused("calibration", "nofile.json", "none")
    other = keisoku(*measure, "--calibration", str(kept), "--engine", "packet", cwd=tmp_path)
    other.refused("calibration", "engine", "keisoku calibrate")


def uri(engine: str, port: LabPort) -> str:
    return f"{engine}:{port.interface}@{port.namespace_path.name}"


@pytest.mark.parametrize(
    ("device", "engines", "headers"),
    [
        ("bridge", ("xdp", "packet"), "ethernet"),
        ("router", ("xdp", "packet"), "ipv4"),
        ("router", ("packet", "xdp"), "ipv6"),
    ],
)
def test_ports_are_named_by_uri(tmp_path: Path, device: str, engines: tuple[str, str], headers: str) -> None:
    with Lab(device) as lab:
        tx, rx = lab.ports
        gateway = {"ipv4": tx.dut_ipv4, "ipv6": tx.dut_ipv6}.get(headers)
        done = keisoku(
            *THROUGHPUT, "--tx", uri(engines[0], tx), "--rx", uri(engines[1], rx), "--headers", headers,
            *(["--gateway", gateway] if gateway else []),
            "--size", "84", "--out", "run", cwd=tmp_path,
        )  # fmt: skip
        done.measured_or_said_why_not()
        assert_adds_up(tmp_path / "run")
        context = json.loads((tmp_path / "run" / "context.json").read_text())
        assert context["gateway"] == ([gateway] if gateway else [])
        assert context["engine"] == "-".join(engines)
        assert tx.namespace_path.exists(), "a lab of somebody else stays"


def test_a_lab_prints_its_ports_and_is_removed_by_control_c(tmp_path: Path) -> None:
    child = start("lab", "bridge", "--ports", "3", cwd=tmp_path)
    assert child.stdout
    ports = [child.stdout.readline().split() for _ in range(3)]
    assert [port[0] for port in ports] == ["t1", "t2", "t3"]
    assert {port[-1] for port in ports} == {f"/run/netns/keisoku-{child.pid}-tester"}
    assert child.stdout.readline().startswith("ready")
    assert len(namespaces_of(child.pid)) == 2
    child.send_signal(signal.SIGINT)
    ended = outcome_of(child)
    assert (ended.code, ended.stdout, ended.stderr) == (0, "removed\n", "")
    assert namespaces_of(child.pid) == []


def test_ports_lists_the_interfaces_of_the_host(tmp_path: Path) -> None:
    done = keisoku("ports", cwd=tmp_path)
    assert done.code == 0, done.stderr
    head, *rows = done.stdout.splitlines()
    assert head.split()[:4] == ["port", "driver", "MAC", "MTU"]
    listed = {row.split()[0] for row in rows}
    ethernet = "1"  # ARPHRD_ETHER
    interfaces = {
        path.name for path in Path("/sys/class/net").iterdir() if (path / "type").read_text().strip() == ethernet
    }
    assert interfaces <= listed
    assert "lo" not in listed


def test_a_pipe_says_that_it_has_another_profile_than_a_terminal(tmp_path: Path) -> None:
    """It measured by the times of the standards, and no word was said of it."""
    command = ["throughput", "--dut", "lab:bridge", "--size", "64", "--dry-run"]
    told = "no terminal is here, so that the profile is rfc; '--profile quick' measures as on a terminal\n"
    assert told in keisoku(*command, cwd=tmp_path).stdout
    assert told not in keisoku(*command, "--profile", "rfc", cwd=tmp_path).stdout
