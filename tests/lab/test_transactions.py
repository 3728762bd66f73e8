"""Transactions between real namespaces: every one has its row, and delays that are known are in them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import keisoku

from keisoku.errors import EngineError
from keisoku.ground.entry import Work
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.far_end import FarEnd
from keisoku.ground.lab.path.bare_path import TARGET_ADDRESS
from keisoku.ground.lab.path.hop import Hop
from keisoku.ground.lab.path.lab import PathLab
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.settings import parsed
from keisoku.running.measurement.carry_out import analyse, carry_out, resume
from keisoku.running.measurement.table import find
from keisoku.subjects.stream.measure import bare_server
from keisoku.subjects.stream.session import StreamSession
from keisoku.subjects.stream.transaction.near import carry_out_trial
from keisoku.subjects.stream.transaction.rows import TRANSACTIONS, TRIALS
from keisoku.subjects.stream.transaction.trial import TransactionTrial

pytestmark = pytest.mark.lab

KINDS = ("rr", "crr", "udp-rr")
DELAY_NS = 5_000_000
"""Each way."""


@pytest.fixture(scope="module")
def bare() -> Iterator[tuple[str, int]]:
    """HOST@NAMESPACE and port of a server on a bare path."""
    with bare_server() as (lab, server):
        yield f"{TARGET_ADDRESS}@{lab.tester_namespace}", server.port


@pytest.fixture(scope="module")
def session(bare: tuple[str, int]) -> Iterator[StreamSession]:
    with bare_server() as (lab, server), StreamSession(Place(TARGET_ADDRESS, lab.tester_namespace), server.port) as one:
        yield one


def carried_out(session: StreamSession, **values: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Columns of the transactions as floats (NaN where not known), and the trial's row."""
    values = {"duration_s": 0.1, **values}
    table, trial = carry_out_trial(session, TransactionTrial.model_validate(values), 0)
    columns = {name: table[name].to_numpy(zero_copy_only=False).astype(float) for name in table.column_names}
    return columns, trial.to_pylist()[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loop", [{}, {"rate_rps": 500.0}, {"rate_rps": 500.0, "poisson": True}])
def test_every_transaction_is_answered_stamped_and_counted_at_both_ends(
    session: StreamSession, kind: str, loop: dict[str, Any]
) -> None:
    found, trial = carried_out(session, kind=kind, connections=20, request_bytes=3000, response_bytes=9000, **loop)
    answered = found["failure"] == 0
    assert answered.any() and set(found["failure"]) <= {0, 7}
    assert trial["far_answered"] == answered.sum()
    assert trial["foreign"] == trial["far_foreign"] == trial["late"] == trial["far_refused"] == 0
    times = {name: values[answered] for name, values in found.items()}
    assert (times["due_ns"] <= times["begun_ns"]).all() and (times["begun_ns"] <= times["sent_ns"]).all()
    assert (times["sent_ns"] < times["ended_ns"]).all()
    stamped = ~np.isnan(times["left_ns"]) & ~np.isnan(times["arrived_ns"])
    assert stamped.any() and trial["far_stamped"] > 0
    if kind == "crr":
        assert (times["setup_ns"] > 0).all()
        assert (times["begun_ns"] + times["setup_ns"] <= times["sent_ns"]).all()
        assert trial["far_connections"] == answered.sum()
    elif kind == "rr":
        assert trial["far_connections"] == 20


def test_a_thousand_connections_have_transactions_at_the_same_time(session: StreamSession) -> None:
    for kind in ("rr", "udp-rr"):
        found, trial = carried_out(session, kind=kind, connections=1000, duration_s=0.3)
        assert (found["failure"] == 0).all()
        assert len(set(found["connection"])) == 1000
        assert trial["far_answered"] == len(found["failure"])


@pytest.mark.parametrize("kind", KINDS)
def test_a_known_delay_is_in_every_transaction_and_is_the_networks(tmp_path: Path, kind: str) -> None:
    with _far([Hop(1_000_000_000, propagation_ns=DELAY_NS)]) as (place, port):
        measurement = find(f"stream {kind}")
        values = {"host": place, "port": port, "duration_s": 0.15, "repetitions": 6}
        done = carry_out(Work(measurement, parsed(measurement.settings, values), tmp_path / "run"))
    rows = done.directory.rows(TRANSACTIONS).to_pandas()
    assert (rows["failure"] == 0).all()
    # A host that is late only adds to these.
    assert (rows["ended_ns"] - rows["sent_ns"] >= 2 * DELAY_NS).all()
    assert (rows["arrived_ns"] - rows["left_ns"] >= 2 * DELAY_NS).all()
    (result,) = done.results
    means = {row.case: row.figures["mean"] for row in result.rows if "mean" in row.figures}
    lower, upper = means["network"].bounds or (0.0, 0.0)
    assert upper >= 2 * DELAY_NS and lower >= 1.9 * DELAY_NS
    if kind == "crr":
        assert (rows["setup_ns"] >= 2 * DELAY_NS).all()
        assert (rows["ended_ns"] - rows["begun_ns"] >= 4 * DELAY_NS).all()


def test_lost_datagrams_are_failures_with_their_reason_and_the_others_go_on(tmp_path: Path) -> None:
    with _far([Hop(1_000_000_000, loss=0.2)]) as (place, port):
        measurement = find("stream udp-rr")
        values = {"host": place, "port": port, "duration_s": 0.3, "repetitions": 2, "timeout_s": 0.02}
        done = carry_out(
            Work(measurement, parsed(measurement.settings, {**values, "connections": 10}), tmp_path / "run")
        )
    (result,) = done.results
    (row,) = [row for row in result.rows if row.case == "transaction"]
    kept = done.directory.rows(TRANSACTIONS).to_pandas()
    kept = kept[kept["number"] > 0]
    assert row.figures["failed"].value == (kept["failure"] == 1).sum() > 0
    assert row.figures["answered"].value == (kept["failure"] == 0).sum() > 0
    assert result.flagged("failed")


def test_a_run_goes_on_after_the_trials_that_it_holds(tmp_path: Path, bare: tuple[str, int]) -> None:
    measurement = find("stream rr")
    values = {"host": bare[0], "port": bare[1], "duration_s": 0.05, "repetitions": 2}
    done = carry_out(Work(measurement, parsed(measurement.settings, values), tmp_path / "run"))
    before = done.directory.rows(TRANSACTIONS)
    # Killed between the rows of a trial and the row that makes it count.
    (done.directory.path / TRIALS / "00000002.parquet").unlink()
    again = analyse(RunDirectory.open(tmp_path / "run"))
    assert again.results[0].flagged("unfinished")
    whole = resume(tmp_path / "run", {"repetitions": 4})
    rows = whole.directory.rows(TRANSACTIONS)
    assert rows.slice(0, before.num_rows).equals(before)
    assert whole.directory.rows(TRIALS)["number"].to_pylist() == [0, 1, 3, 4, 5]
    (row,) = [row for row in whole.results[0].rows if row.case == "transaction"]
    counted = rows.to_pandas()["number"].isin([1, 3, 4, 5]).sum()
    assert row.figures["answered"].value == counted


def test_the_command_measures_and_its_page_has_the_distribution(tmp_path: Path, bare: tuple[str, int]) -> None:
    quick = ("--port", str(bare[1]), "--duration", "50ms", "--repetitions", "2", "--out", "run")
    done = keisoku("stream", "udp-rr", bare[0], *quick, cwd=tmp_path)
    assert done.code == 0, done.stderr
    assert "transaction" in done.stdout
    assert "one in so many takes longer" in (tmp_path / "run" / "report.html").read_text()


@pytest.mark.parametrize("kind", KINDS)
def test_ipv6_is_as_good(kind: str) -> None:
    with FarEnd("stream", Place("::1")) as server, StreamSession(Place("::1"), server.port) as session:
        found, trial = carried_out(session, kind=kind, connections=2)
    assert (found["failure"] == 0).all() and trial["far_answered"] == len(found["failure"]) > 0


def test_a_trial_beyond_its_limits_is_refused_by_the_server(session: StreamSession) -> None:
    with pytest.raises(EngineError, match="does not understand"):
        session.control.ask({"do": "transactions", "trial": {"kind": "rr", "connections": 10_001}})


@contextmanager
def _far(hops: list[Hop]) -> Iterator[tuple[str, int]]:
    """HOST@NAMESPACE and port of a server behind these links."""
    with PathLab(hops) as lab, FarEnd("stream", Place(lab.target_address, lab.target_namespace)) as server:
        yield f"{lab.target_address}@{lab.tester_namespace}", server.port
