"""What a user says of a run is on the page, in JUnit and in the list of runs, and never asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

import keisoku as ks
from keisoku.errors import PlanError
from keisoku.faces.cli.main import keisoku
from keisoku.ground.report.about import ABOUT as HEADS
from keisoku.ground.run.settings import ABOUT
from keisoku.running.measurement.carry_out import load

SAID = {"device": "Core <3>", "serial": "FOC1", "operator": "T. Yamada", "site": "Lab 4"}
SHORT: dict[str, Any] = {"dut": "sim:gs908e", "frame_bytes": 64, "profile": "quick"}


def said(*words: str) -> str:
    found = CliRunner().invoke(keisoku, list(words), catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.output


def test_what_is_said_of_a_run_is_on_its_page_in_junit_and_in_the_list(tmp_path: Path) -> None:
    run = tmp_path / "run"
    ks.measure("throughput", about=SAID, out=run, **SHORT)
    ks.measure("throughput", out=tmp_path / "bare", **SHORT)
    page = (run / "report.html").read_text()
    assert "<h1>Core &lt;3&gt;</h1>" in page and "<dt>Serial number</dt><dd>FOC1</dd>" in page
    for text in ('<span class="box dut">Core &lt;3&gt;</span>', "port 1<small>1 Gb/s</small>", "<td>T. Yamada</td>"):
        assert text in page
    root = ElementTree.fromstring(said("export", str(run), "--format", "junit").encode())
    found = {each.get("name"): each.get("value") for each in root.iter("property")}
    assert found == SAID and root.get("name") == "Core <3>"
    assert load(run).directory.plan["about"] == SAID and "about" not in load(tmp_path / "bare").directory.plan
    listed = said("runs", "list", str(tmp_path))
    assert "Core <3>" in listed and "serial: FOC1; operator: T. Yamada; site: Lab 4" in listed
    assert "properties" not in said("export", str(tmp_path / "bare"), "--format", "junit")


def test_a_name_that_no_report_knows_is_refused() -> None:
    with pytest.raises(PlanError, match=r"about: a report says no 'serail'; .*serial"):
        ks.Plan(methods=("throughput",), dut="sim:gs908e", about={"serail": "1"})


def test_every_name_has_a_head() -> None:
    assert tuple(HEADS) == ABOUT


def test_a_pdf_says_what_makes_it_and_where_it_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ks.measure("throughput", out=tmp_path / "run", **SHORT)
    for words, wanted in (([], "--out: a PDF is no text"), (["--out", "x.pdf"], "sudo apt install chromium")):
        monkeypatch.setattr("keisoku.ground.report.paper.shutil.which", lambda name: None)
        found = CliRunner().invoke(keisoku, ["export", str(tmp_path / "run"), "--format", "pdf", *words])
        assert found.exit_code and wanted in str(found.exception)
