"""One condition carried out: its load, and the probes of it beside each other. It computes no figure.

Four kinds of probes: short STAMP packets (and long ones while the path is idle), transactions on TCP connections of
their own, and packets that expire at every hop.
"""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa

from keisoku._core import transact
from keisoku.errors import EngineError
from keisoku.ground.host.place import Place
from keisoku.subjects.line.responsiveness.condition import (
    INTERVAL_S,
    LONG_BYTES,
    LONG_PACKETS,
    PATIENCE_S,
    Condition,
    Way,
    lasts_s,
    load_streams,
)
from keisoku.subjects.line.responsiveness.hop_probing import Hops, hop_table
from keisoku.subjects.line.responsiveness.settings import ResponsivenessSettings
from keisoku.subjects.path.stamp.sender import DelaySender
from keisoku.subjects.path.stamp.settings import DelaySettings
from keisoku.subjects.stream.flow.table import table as flow_table
from keisoku.subjects.stream.session import StreamSession
from keisoku.subjects.stream.transaction.near import plan_of
from keisoku.subjects.stream.transaction.rows import transactions
from keisoku.subjects.stream.transaction.trial import TransactionTrial

NS_PER_S = 1_000_000_000
FOREIGN_RPS = 10.0
"""Transactions a second."""
FOREIGN = TransactionTrial(
    kind="crr", connections=64, request_bytes=64, response_bytes=64, rate_rps=FOREIGN_RPS, timeout_s=5, stamps=False
)


@dataclass(frozen=True)
class FarEnd:
    """Where the server answers probes (`keisoku/subjects/stream/responder.py`)."""

    port: int
    token: int
    stamp_port: int


@dataclass
class Phase:
    """The raw rows of one condition in one round."""

    row: pa.Table
    delays: pa.Table
    flows: pa.Table
    transactions: pa.Table
    hops: pa.Table


PHASES, DELAYS, FLOWS, TRANSACTIONS, HOPS = "phases", "delays", "flows", "transactions", "hops"
"""Names of the tables: a row for each condition of each round, STAMP packet, flow, transaction, and packet to a hop."""
EMPTY = {FLOWS: flow_table([]), HOPS: hop_table([]).append_column("number", pa.array([], pa.int64()))}
"""Without any row."""


def begin(session: StreamSession) -> FarEnd:
    """Has the server answer probes from now on. Raises EngineError."""
    told, _ = session.control.ask({"do": "probes", "trial": FOREIGN.model_dump()})
    return FarEnd(int(told["port"]), int(told["token"]), int(told["stamp_port"]))


def carry_out(
    session: StreamSession,
    far: FarEnd,
    hops: Hops | None,
    settings: ResponsivenessSettings,
    condition: Condition,
    number: int,
    rates_bps: dict[Way, float],
) -> Phase:
    """Raises EngineError if the load or the probes cannot be sent, or if nothing is answered."""
    trial = load_streams(settings, condition, rates_bps)
    ramp_s = settings.ramp_s if trial is not None else 0.0
    whole_s = lasts_s(settings, condition) if trial is not None else settings.duration_s
    # A load that is over while probes are still sent would let them meet an empty queue.
    probed_s = whole_s - INTERVAL_S
    begun: dict[str, int] = {}
    futures: dict[str, Future[pa.Table]] = {}
    place = Place(session.remote, session.place.namespace)
    with ThreadPoolExecutor(4) as threads:

        def probe() -> None:
            begun["ns"] = time.time_ns()
            futures[DELAYS] = threads.submit(_delays, place, far, 0, probed_s)
            futures[TRANSACTIONS] = threads.submit(_foreign, session, far, number, ramp_s, settings.duration_s)
            if hops is not None:
                futures[HOPS] = threads.submit(lambda: hop_table(hops.probe(probed_s)))

        rows = []
        # Before the others, which would wait behind them.
        delays = [_delays(place, far, LONG_BYTES, LONG_PACKETS * INTERVAL_S)] if condition == "idle" else []
        if trial is None:
            probe()
        else:
            rows = session.measure(trial, probe)
    delays.append(futures[DELAYS].result())
    row = {
        "number": number,
        "condition": condition,
        "begun_ns": begun["ns"],
        "from_ns": begun["ns"] + round(ramp_s * NS_PER_S),
        "to_ns": begun["ns"] + round(probed_s * NS_PER_S),
        "congestion": _congestion(session) if trial is not None and trial.protocol == "tcp" else None,
    }
    return Phase(
        row=pa.Table.from_pylist([row]),
        delays=_numbered(pa.concat_tables(delays), number),
        flows=flow_table([{**one, "number": number} for one in rows]),
        transactions=futures[TRANSACTIONS].result(),
        hops=_numbered(futures[HOPS].result() if HOPS in futures else hop_table([]), number),
    )


def _delays(place: Place, far: FarEnd, size_bytes: int, duration_s: float) -> pa.Table:
    wanted = DelaySettings(
        host=place.host,
        port=far.stamp_port,
        packets=max(1, round(duration_s / INTERVAL_S)),
        interval_s=INTERVAL_S,
        size_bytes=size_bytes,
        wait_s=PATIENCE_S,
    )
    found = DelaySender(place, wanted).measure()
    return found.append_column("size_bytes", pa.array([size_bytes] * found.num_rows, pa.int64()))


def _foreign(session: StreamSession, far: FarEnd, number: int, after_s: float, duration_s: float) -> pa.Table:
    time.sleep(after_s)
    trial = FOREIGN.model_copy(update={"duration_s": duration_s, "seed": number + 1})
    plan = plan_of(trial, session.remote, far.port, far.token)
    try:
        rows, _ = session.place.inside(lambda: transact(plan))
    except OSError as error:
        raise EngineError(f"{session.place.host} does not take connections: {error}; measure again") from error
    return transactions(number, rows)


def _congestion(session: StreamSession) -> str | None:
    near = session.facts.get("near")
    return str(near["congestion"]) if isinstance(near, dict) and "congestion" in near else None


def _numbered(rows: pa.Table, number: int) -> pa.Table:
    return rows.append_column("number", pa.array([number] * rows.num_rows, pa.int64()))
