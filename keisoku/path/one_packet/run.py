"""The raw probes of a one-packet run as a table on disk, and its answer made from them. It measures nothing."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from keisoku.errors import KeisokuError
from keisoku.path.one_packet.analysis import analyse as analyse_probes
from keisoku.path.one_packet.fit import fit_path
from keisoku.path.one_packet.plot import hop_plots
from keisoku.path.one_packet.probe import HopProbe, from_row
from keisoku.path.one_packet.sources import source_rows
from keisoku.report.plot import Plot
from keisoku.run.directory import RunDirectory
from keisoku.run.result import Result

PROBES = "probes"
SCHEMA = pa.schema(
    [
        ("hop", pa.int16()),
        ("size_bytes", pa.int32()),
        ("sent_ns", pa.int64()),
        ("rtt_ns", pa.int64()),
        ("reply_bytes", pa.int32()),
        ("replier", pa.string()),
        ("reply_ttl", pa.int16()),
        ("icmp_type", pa.int16()),
        ("icmp_code", pa.int16()),
        ("stamps", pa.string()),
        ("rtt_tsc_ns", pa.int64()),
        ("rtt_gettimeofday_ns", pa.int64()),
        ("train", pa.int32()),
        ("place", pa.int32()),
    ]
)


def append(directory: RunDirectory, probes: Sequence[HopProbe]) -> None:
    """Keeps probes; returns when they are on the disk."""
    directory.append(PROBES, pa.Table.from_pylist([probe.row() for probe in probes], schema=SCHEMA))


def probes_of(directory: RunDirectory) -> list[HopProbe]:
    """All probes of a run, in the order of sending. Raises PlanError if there are none."""
    return [from_row(row) for row in directory.rows(PROBES).to_pylist()]


def analyse(directory: RunDirectory) -> tuple[Result, Sequence[Plot]]:
    """The answer and the plots, from the directory alone."""
    probes = probes_of(directory)
    address = str(directory.context.get("address", ""))
    by_source = directory.context.get("stamp_noise_ns")
    noise = {str(name): float(value) for name, value in by_source.items()} if isinstance(by_source, dict) else {}
    kernel = noise.get("kernel")
    reached = any(probe.replier == address for probe in probes)
    host = str(directory.plan.get("host", address))
    fitted = fit_path(probes)
    if not fitted.fits:
        raise KeisokuError(
            f"{directory.path}: no hop answered enough sizes of probe for a fit; measure again with a longer --budget"
        )
    round_trip = None if kernel is None else kernel * 2**0.5
    observation = analyse_probes(host, fitted, probes, round_trip, reached)
    observation = observation.model_copy(update={"rows": (*observation.rows, *source_rows(probes, noise))})
    return observation, hop_plots(fitted)
