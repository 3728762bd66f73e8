"""`path delay` as an entry of the table of measurements: packets to a STAMP reflector, and their delays."""

from __future__ import annotations

import pyarrow as pa

from keisoku.errors import EngineError
from keisoku.ground.entry import Findings, Measurement, Work, without_files
from keisoku.ground.host.place import Place
from keisoku.ground.observer import Observer
from keisoku.ground.run.directory import RunDirectory
from keisoku.language import phrase, plural
from keisoku.subjects.path.stamp.analysis import NAME, delays_of
from keisoku.subjects.path.stamp.analysis import analyse as analyse_rows
from keisoku.subjects.path.stamp.exchanges import Exchanges, exchanges
from keisoku.subjects.path.stamp.key import read_key
from keisoku.subjects.path.stamp.plot import delay_plot
from keisoku.subjects.path.stamp.sender import DelaySender
from keisoku.subjects.path.stamp.settings import DelaySettings

TABLE = "packets"


def measure(work: Work[DelaySettings]) -> None:
    """Sends the packets and keeps a row for each. Raises EngineError if none of them is answered, or no answer can be
    used."""
    settings, sent, usable = work.settings, 0, False

    def keep(part: pa.Table) -> None:
        nonlocal sent, usable
        # With the first part, so that a reflector that never answers leaves nothing.
        directory = work.directory or work.begin({})
        directory.append(TABLE, part)
        sent += part.num_rows
        found = exchanges(part)
        usable = usable or len(found.t1_ns) > 0
        _show(work.observer, part, found)
        work.observer.came_to(sent, settings.packets, plural("{count} packet", "{count} packets", count=sent))

    DelaySender(Place.parse(settings.host), settings, read_key(settings.key_file)).measure(keep=keep)
    if not usable:
        assert work.directory is not None, "packets were answered"
        flags = exchanges(work.directory.rows(TABLE)).flags()
        said = "; ".join(flag.text for flag in flags) or phrase("no packet has a timestamp of the kernel")
        raise EngineError(f"nothing was measured: {said}")


def _show(observer: Observer, part: pa.Table, found: Exchanges) -> None:
    """The mean two-way delay of some packets, without the time in the reflector, and the share without an answer."""
    two_way_ns = found.t4_ns - found.t1_ns - (found.t3_ns - found.t2_ns)
    answered = int((part["t4_ns"].to_numpy() > 0).sum())
    latency_ns = float(two_way_ns.mean()) if len(two_way_ns) else None
    observer.saw(loss_percent=100 * (1 - answered / part.num_rows), latency_ns=latency_ns)


def analyse(directory: RunDirectory) -> Findings:
    """From the rows alone. Raises PlanError if there are none."""
    rows = directory.rows(TABLE)
    found = delays_of(rows)
    result = analyse_rows(rows, DelaySettings.model_validate(directory.plan))
    return Findings([result], [] if found is None else [delay_plot(found)])


MEASUREMENT = Measurement(
    name=NAME,
    title=phrase("Delay to a STAMP reflector"),
    settings=DelaySettings,
    seconds=lambda settings: settings.packets * settings.interval_s + settings.wait_s,
    shortens=("packets",),
    measure=measure,
    analyse=analyse,
    figure="median",
    units={"ns": "median p99 least largest variation_p99", "%": "lost", "": "sent answered doubled"},
    same=("size_bytes",),
    summary="Measures one-way and two-way delay to HOST, where a STAMP reflector runs.",
    help="""The reflector is 'keisoku path reflect' or any other one (RFC 8762).

    \b
    keisoku path delay 192.0.2.7
    keisoku path delay 192.0.2.7 --packets 1000 --interval 1ms --require "p99[two-way] < 5 ms\"""",
    from_afar=without_files("key_file"),
)
