"""`import keisoku as ks` on simulated devices whose truth is known."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import keisoku as ks
from keisoku.ground.run.directory import RunDirectory
from keisoku.subjects.device.plan.plan import Plan, plan_of
from keisoku.subjects.device.procedure.rfc2544.latency import LatencySettings
from keisoku.subjects.device.procedure.rfc2544.loss import LossSettings
from keisoku.subjects.device.table import PROCEDURES

LEAKY = "[loss]\nratio = 0.01\n"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> ks.Measured:
    folder = tmp_path_factory.mktemp("api")
    (folder / "leaky.toml").write_text(LEAKY)
    device = f"sim:{folder / 'leaky.toml'}"
    return ks.measure(
        "trial",
        dut=device,
        frame_bytes=[64, 128],
        rate_fps=100_000,
        trial_s=0.1,
        waits_s=0.1,
        pattern="bidirectional",
        require=["trial.loss <= 5 %"],
        out=folder / "run",
    )


def test_importing_costs_nothing_that_is_not_used() -> None:
    heavy = "{'numpy', 'pydantic', 'pyarrow', 'scapy', 'pandas', 'duckdb', 'starlette', 'jinja2'}"
    code = f"import keisoku, sys; print({heavy} & set(sys.modules), keisoku.measure.__name__, dir(keisoku))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.startswith("set() measure")
    assert all(name in shown for name in ks.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = ks.nothing


def test_no_setting_of_a_method_is_a_key_of_the_plan() -> None:
    """Else a keyword would mean two things: the VLAN of classes is that of the frames."""
    for procedure in PROCEDURES.values():
        assert not procedure.settings.model_fields.keys() & Plan.model_fields.keys() - {"vlan"}


def test_keywords_make_the_plan_that_the_command_line_makes() -> None:
    plan = plan_of(
        ("latency",), {"dut": "sim:gs908e", "trial_s": 2, "repetitions": 3, "frame_bytes": 64, "waits_s": 0.5}
    )
    latency = plan.settings_of(LatencySettings)
    assert (latency.trial_s, latency.repetitions, plan.throughput.trial_s) == (2, 3, 2)
    assert (plan.frame_bytes, plan.phases.drain_s, plan.phases.rest_s) == ((64,), 0.5, 0.5)
    assert plan_of(("sweep",), {"dut": "sim:gs908e"}).frame_bytes[-1] == 16384
    assert plan_of(("sweep",), {"tx": "xdp:a", "rx": "xdp:b"}).frame_bytes[-1] == 1518
    assert plan_of(("calibrate",), {}).dut == "lab:cable"
    assert plan_of(("trial",), {"dut": "lab:bridge", "tx": 2, "rx": 1}).port_fields() == [("tx", "2"), ("rx", "1")]
    both = plan_of(("throughput", "loss"), {"dut": "sim:gs908e", "loss": {"step_percent": 5}, "frame_bytes": "64,128"})
    assert (both.settings_of(LossSettings).step_percent, both.frame_bytes) == (5, (64, 128))


@pytest.mark.parametrize(
    ("methods", "keys", "said"),
    [
        ((), {}, "methods: no method is given"),
        (("througput",), {}, "did you mean 'throughput'"),
        (
            ("throughput",),
            {"dut": "sim:gs908e", "trail_s": 1},
            "trail_s: there is no such setting; did you mean 'trial_s'",
        ),
        (("throughput", "loss"), {"dut": "sim:gs908e", "trial_s": 1}, "trial_s: there is no such setting"),
        (("throughput",), {"dut": "sim:gs908e", "trial_s": -1}, "throughput.trial_s"),
    ],
)
def test_what_is_wrong_is_named(methods: tuple[str, ...], keys: dict[str, Any], said: str) -> None:
    with pytest.raises(ks.PlanError, match=said):
        ks.measure(*methods, **keys)


def test_a_plan_is_taken_alone() -> None:
    plan = Plan(methods=("trial",), dut="sim:gs908e")
    with pytest.raises(ks.PlanError, match="given together with settings"):
        ks.measure(plan, trial_s=1)


def test_figures_are_the_devices_truth(found: ks.Measured) -> None:
    every = found.result().rows
    assert [row.case for row in every if row.frame_bytes == 64] == [
        "all streams",
        "stream 0: 1 to 2",
        "stream 1: 2 to 1",
    ]
    loss = found.figure("loss", 64, "all streams")
    assert loss.unit == "%" and loss.value == pytest.approx(1.0, abs=0.4)
    parts = [found.figure("lost", 64, f"stream {way}").value for way in ("0: 1 to 2", "1: 2 to 1")]
    assert sum(parts) == found.figure("lost", 64, "all streams").value > 0
    # 8 ns a byte, stored and forwarded.
    assert found.figure("mean", 128, "all streams").value - found.figure("mean", 64, "all streams").value == 512
    assert found.met and found["trial"] == found.result("trial")
    for wrong in (("nothing", 64), ("loss", 65), ("loss", 64)):
        with pytest.raises(ks.PlanError, match="rows have"):
            found.figure(*wrong)
    with pytest.raises(KeyError):
        found["latency"]


def test_tables_hold_what_the_records_hold(found: ks.Measured) -> None:
    trials, streams = found.arrow("trials").to_pylist(), found.arrow("streams").to_pylist()
    assert [row["trial"] for row in trials] == [0, 1] and len(streams) == 4
    assert sum(row["lost_frames"] for row in streams) == sum(row["lost_frames"] for row in trials)
    assert sum(found.arrow("lost")["count"].to_pylist()) == sum(row["lost_frames"] for row in trials)
    assert sum(found.arrow("latencies")["frames"].to_pylist()) == sum(row["forwarded_frames"] for row in trials)
    figures = found.arrow().to_pylist()
    assert len(figures) == sum(len(row.figures) for row in found.result().rows)
    assert {row["unit"] for row in figures} == {"frames/s", "frames", "%", "ns"}
    assert found.query("select sum(lost_frames) as n from trials")["n"].to_pylist() == [
        sum(row["lost_frames"] for row in trials)
    ]
    with pytest.raises(ks.PlanError, match="kept no row of any frame"):
        found.arrow("frames")
    with pytest.raises(
        ks.PlanError,
        match=r"this run has no table 'nothing'; use figures, trials, streams, lost, lost_places, late_places, "
        r"exports, changes, latencies$",
    ):
        found.arrow("nothing")
    with pytest.raises(ks.PlanError, match="kept no row of any frame; measure with --frames"):
        found.query("select count(*) from frames")
    assert found.query("select sum(frames) as n from latencies")["n"].to_pylist() == [
        sum(row["forwarded_frames"] for row in trials)
    ]
    with pytest.raises(ks.PlanError, match="query"):
        found.query("select nothing")


def test_pandas_has_the_same(found: ks.Measured) -> None:
    pytest.importorskip("pandas")
    assert list(found.pandas("trials")["lost_frames"]) == found.arrow("trials")["lost_frames"].to_pylist()


def test_a_notebook_sees_plots_and_tables_without_a_script(found: ks.Measured) -> None:
    shown = found._repr_html_()
    assert "<script" not in shown and "<svg" in shown and "✓ met" in shown and "Frame loss" in shown
    for picture in shown.split("<svg")[1:]:
        ElementTree.fromstring("<svg" + picture.split("</svg>")[0] + "</svg>")
    assert repr(found).startswith("<trial of simulated leaky: 2 trials in ")


def test_a_run_is_read_again_and_reported(found: ks.Measured, tmp_path: Path) -> None:
    again = ks.load(found.directory)
    assert again.results == found.results and again.met
    assert ks.resume(found.directory).results == found.results
    page = found.report(tmp_path / "page.html").read_text()
    assert "Single trials" in page and found.report().name == "report.html"
    with pytest.raises(ks.PlanError, match="holds no run"):
        ks.load(tmp_path)
    unfinished = RunDirectory.create(tmp_path / "begun", "device", again.outcome.directory.plan, {})
    with pytest.raises(ks.PlanError, match="is not the directory of a finished run"):
        ks.load(unfinished.path)


def test_an_observer_sees_every_trial(tmp_path: Path) -> None:
    seen: list[str] = []

    class Watching:
        def trial_started(self, index: int, method: str, trial: object) -> None:
            seen.append(f"{method} {index}")

        def trial_progress(self, progress: object) -> None:
            pass

        def trial_finished(self, record: object) -> None:
            seen.append("finished")

    plan = Plan(methods=("trial",), dut="sim:gs908e", frame_bytes=(64,))
    ks.measure(plan, observer=Watching(), out=str(tmp_path / "run"))
    assert seen == ["trial 0", "finished"]
