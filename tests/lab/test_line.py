"""`keisoku line survey` on a path of real namespaces: its rates, its longest packet, its queue, its NAT, in words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.command_line import keisoku
from support.kernel_nat import KINDS, prepare

from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.far_end import FarEnd
from keisoku.ground.lab.path.name import find_path
from keisoku.ground.run.directory import RunDirectory
from keisoku.subjects.line.survey.analysis import PACKETS, RATE
from keisoku.subjects.line.survey.nat import ANSWERED, KEPT, NAT, UNANSWERED
from keisoku.subjects.path.nat.observation import TABLE

pytestmark = [pytest.mark.lab, pytest.mark.alone]


KIND = replace(KINDS["masquerade"], unanswered_s=5, answered_s=120)


def test_a_line_is_measured_by_one_command_and_said_in_words(tmp_path: Path) -> None:
    with find_path("path?hops=100M,10M/20M,100M&queue=60k&icmp=unlimited&mtu=1500,1400,1500") as lab:
        prepare(KIND, lab)
        with FarEnd("stream", Place(lab.target_address, lab.target_namespace)) as server:
            host = f"{lab.target_address}@{lab.tester_namespace}"
            quick = ("--rounds", "1", "--ramp", "0.5s", "--duration", "0.4s", "--within", "100s", "--out", "run")
            done = keisoku("line", "survey", host, "--port", str(server.port), *quick, cwd=tmp_path)
    assert done.code == 0, done.stderr
    (result,) = RunDirectory.open(tmp_path / "run").results()
    rows = {(row.group, row.case): row.figures for row in result.rows}
    for case, rate_bps in (("upload", 10e6), ("download", 20e6)):
        capacity = rows[RATE, case]["capacity"]
        lower, upper = capacity.bounds or (0.0, 0.0)
        assert capacity.value == pytest.approx(rate_bps, rel=0.02) and lower <= rate_bps <= upper
        assert rows[PACKETS, case]["lost"].value == rows[PACKETS, case]["reordered"].value == 0
    assert rows["Path", "whole"]["longest_packet"].value == 1400
    lower, upper = rows[KEPT, UNANSWERED]["timeout"].bounds or (0.0, 0.0)
    assert lower <= 1e9 * KIND.unanswered_s <= upper < 8e9
    assert rows[KEPT, ANSWERED]["timeout"].bound == "at least"
    assert {row.case: row.remark for row in result.rows if row.group == NAT}["ports"] == "the same outside"
    assert RunDirectory.open(tmp_path / "run").rows(TABLE).num_rows > 10
    for said in (
        "The upload carries",
        "at hop 2 (198.18.2.2)",
        "Packets of up to 1400 byte pass.",
        "UDP: a NAT translates addresses.",
        "An idle binding of UDP without an answer is kept between",
    ):
        assert said in result.sentence
        assert said in (tmp_path / "run" / "report.html").read_text()
