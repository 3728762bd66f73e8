"""The tester's end of a trial of transactions. It carries out the trial and computes nothing."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from keisoku._core import transact
from keisoku.errors import EngineError
from keisoku.ground.host.open_files import allow_files
from keisoku.ground.host.two_ended.control import ControlError
from keisoku.subjects.stream.session import StreamSession
from keisoku.subjects.stream.transaction.rows import transactions, trial_row
from keisoku.subjects.stream.transaction.trial import MOST_TRANSACTIONS, TransactionTrial

_END_S = 15.0


def carry_out_trial(session: StreamSession, trial: TransactionTrial, number: int) -> tuple[pa.Table, pa.Table]:
    """The rows of its transactions, and the row of the trial. Raises EngineError if it cannot be carried out."""
    allow_files("connections", trial.connections)
    opened, _ = session.control.ask({"do": "transactions", "trial": trial.model_dump()})
    problem: OSError | None = None
    try:
        plan = plan_of(trial, session.remote, int(opened["port"]), int(opened["token"]))
        try:
            rows, near = session.place.inside(lambda: transact(plan))
        except OSError as error:
            problem = error
        told, _ = session.control.ask({"do": "transactions-end"}, _END_S)
        if problem is not None:
            raise _not_opened(session, trial, opened["port"], problem, told["report"]) from problem
        return transactions(number, rows), trial_row(number, json.loads(near), told["report"])
    except (KeyError, ValueError, TypeError) as error:
        raise ControlError(f"{session.control.peer} does not answer as this version does: {error}") from error


def _not_opened(
    session: StreamSession, trial: TransactionTrial, port: int, problem: OSError, report: dict[str, Any]
) -> EngineError:
    if report["refused"]:
        said = f"it had no file left for {report['refused']} of them; allow more by 'ulimit -n' there"
    else:
        protocol = "UDP" if trial.kind == "udp-rr" else "TCP"
        said = f"open {protocol} port {port} in its firewall"
    return EngineError(f"{session.place.host} does not take all connections: {problem}; {said}, or use fewer of them")


def plan_of(trial: TransactionTrial, address: str, port: int, token: int) -> str:
    """What the core's `transact` carries out."""
    values: dict[str, Any] = {
        "kind": trial.kind,
        "server": f"[{address}]:{port}" if ":" in address else f"{address}:{port}",
        "token": token,
        "connections": trial.connections,
        "request_bytes": trial.request_bytes,
        "response_bytes": trial.response_bytes,
        "duration_ns": round(trial.duration_s * 1e9),
        "timeout_ns": round(trial.timeout_s * 1e9),
        "per_second": trial.rate_rps,
        "poisson": trial.poisson,
        "seed": trial.seed,
        "stamps": trial.stamps,
        "most_rows": MOST_TRANSACTIONS,
    }
    return json.dumps(values)
