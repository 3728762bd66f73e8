"""Commands of paths over the loopback: the same run for all of them, with criteria, and analysed again."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from keisoku.errors import PlanError
from keisoku.faces.cli.main import keisoku
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.far_end import FarEnd
from keisoku.ground.run.directory import RunDirectory
from keisoku.subjects.clock.rate import Part, Rate
from keisoku.subjects.clock.rate_correction import CONTEXT

HERE = Place("127.0.0.1")
FAST = Rate("CLOCK_MONOTONIC", 100e-6, (Part("clock: rate", standard=1e-3),), "said of the rate")


def invoked(*arguments: str) -> tuple[int, dict[str, Any]]:
    """Exit code and what was printed; errors a user can cause are raised, as the entry point would catch them."""
    done = CliRunner().invoke(keisoku, [*arguments, "--json"], standalone_mode=False)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    output: dict[str, Any] = json.loads(done.stdout)
    return done.exit_code, output


def test_delay_meets_a_criterion_or_misses_it_and_is_analysed_again(tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    with FarEnd("reflect", HERE) as far:
        usual = ("path", "delay", "127.0.0.1", "--port", str(far.port), "--packets", "20", "--interval", "1ms", "--out")
        code, output = invoked(*usual, run, "--require", "least[two-way] < 10 s", "--require", "answered == 20")
        assert code == 0, output["criteria"]
        missed, other = invoked(*usual, str(tmp_path / "missed"), "--require", "path delay[packets].answered > 20")
    assert (missed, other["criteria"][0]["met"]) == (1, False)
    (result,) = output["results"]
    assert result["measurement"] == "path delay"
    assert {row["case"] for row in result["rows"]} == {"packets", "two-way", "forward", "reverse"}
    assert (tmp_path / "run" / "path-delay.csv").exists()
    assert "least[two-way]" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert invoked("analyse", run) == (0, output)
    assert CONTEXT not in RunDirectory.open(tmp_path / "run").context  # a difference of two clocks


def test_a_shared_key_is_named_in_the_plan_and_never_kept(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(b"secret\n")
    with FarEnd("reflect", HERE, "--key-file", str(key)) as far:
        arguments = ("--port", str(far.port), "--packets", "5", "--interval", "1ms", "--key-file", str(key))
        code, output = invoked("path", "delay", "127.0.0.1", *arguments, "--out", str(tmp_path / "run"))
    assert code == 0
    assert "framing of RFC 8762, authenticated" in output["results"][0]["remarks"]
    for path in (tmp_path / "run").rglob("*"):
        assert path.is_dir() or b"secret" not in path.read_bytes()
    for wrong, said in ((tmp_path / "none", "cannot read"), (tmp_path / "empty", "is empty")):
        (tmp_path / "empty").write_bytes(b"")
        with pytest.raises(PlanError, match=f"^--key-file: .*{said}"):
            invoked("path", "delay", "127.0.0.1", "--key-file", str(wrong))


def test_packet_pair_keeps_the_rate_of_its_clock_and_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keisoku.subjects.clock.rate_correction.interval_rate", lambda: FAST)
    run = str(tmp_path / "run")
    with FarEnd("path", HERE) as far:
        few = ("--port", str(far.port), "--pairs", "10", "--most-pairs", "10", "--sweep-pairs", "10", "--out", run)
        code, output = invoked("path", "packet-pair", "127.0.0.1", *few, "--require", "capacity > 1 Mb/s")
    monkeypatch.undo()
    assert code == 0, output["criteria"]
    (result,) = output["results"]
    assert FAST.statement in result["remarks"]
    capacity = next(row["figures"]["capacity"] for row in result["rows"] if "capacity" in row["figures"])
    assert "clock: rate" in [part["source"] for part in capacity["budget"]]
    assert RunDirectory.open(tmp_path / "run").facts["ended"]
    assert invoked("analyse", run) == (0, output)


def test_clocks_of_one_path_are_one_run(tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    with FarEnd("path", HERE) as far:
        arguments = ("--port", str(far.port), "--repetitions", "2", "--pairs", "10", "--size", "1500", "--out", run)
        code, output = invoked("path", "clocks", "127.0.0.1", *arguments)
    assert code == 0
    (result,) = output["results"]
    assert "kernel" in {row["case"] for row in result["rows"]} and result["flags"] == []
    assert invoked("analyse", run) == (0, output)
    assert CONTEXT not in RunDirectory.open(tmp_path / "run").context


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("one-packet", "127.0.0.1", "--precision", "0"), "--precision: "),
        (("one-packet", "127.0.0.1", "--repetitions", "3"), "--repetitions: "),
        (("one-packet", "127.0.0.1", "--timeout", "soon"), "--timeout: "),
        (("packet-pair", "127.0.0.1@nowhere"), "HOST: there is no namespace nowhere"),
        (("clocks", "127.0.0.1", "--repetitions", "1"), "--repetitions: "),
        (("delay", "127.0.0.1", "--packets", "0"), "--packets: "),
        (("delay", "127.0.0.1", "--require", "path clocks.mean > 1"), "--require: 'path clocks' is not measured"),
    ],
)
def test_what_cannot_be_measured_is_one_sentence_and_leaves_nothing(
    arguments: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PlanError) as error:
        invoked("path", *arguments)
    assert str(error.value).startswith(said) and "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_runs_of_a_path_are_compared_queried_and_reported_as_any_others(tmp_path: Path) -> None:
    with FarEnd("reflect", HERE) as far:
        for name in ("one", "other"):
            usual = ("--port", str(far.port), "--packets", "20", "--interval", "1ms", "--out", str(tmp_path / name))
            assert invoked("path", "delay", "127.0.0.1", *usual)[0] == 0
    one, other = str(tmp_path / "one"), str(tmp_path / "other")
    compared = CliRunner().invoke(keisoku, ["compare", one, other], standalone_mode=False)
    assert "two-way" in compared.stdout, compared.exception
    counted = CliRunner().invoke(keisoku, ["query", one, "SELECT count(*) AS n FROM packets"], standalone_mode=False)
    assert "20" in counted.stdout.split(), counted.exception
    page = tmp_path / "page.html"
    CliRunner().invoke(keisoku, ["report", one, other, "--out", str(page)], standalone_mode=False)
    assert len(set(re.findall(r'id="(plot-[^"]*)"', page.read_text(encoding="utf-8")))) == 2
