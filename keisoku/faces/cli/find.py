"""`keisoku find`: finds test frames in a capture by their sequence numbers."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import click

from keisoku.faces.cli.columns import columns
from keisoku.subjects.device.capture.find import FoundFrames, Sighting, find

_NS_PER_S = 1_000_000_000


@click.command("find")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--sequence", required=True, metavar="NUMBERS", help="sequence numbers, such as 5,12-20")
@click.option("--stream", type=int, metavar="STREAM", help="stream number (needed if the file has several streams)")
@click.option("--json", "as_json", is_flag=True, help="print the findings as JSON")
def command(file: Path, sequence: str, stream: int | None, as_json: bool) -> None:
    """Shows where and when frames of a stream were seen in a capture FILE (pcapng or pcap).

    A frame that the DUT lost is seen at the port before the DUT, but not at the port after it.
    """
    found = find(file, sequence, stream)
    if as_json:
        click.echo(json.dumps(asdict(found) | {"never_seen": _missing(found)}, indent=1))
        return
    rows = [_row(found, sighting) for sighting in sorted(found.sightings, key=lambda one: (one.sequence, one.time_ns))]
    if rows:
        click.echo(columns(("sequence", "time (UTC)", "port", "direction", "bytes", "remark"), rows))
    for index in found.carrying():
        ranges = found.never_seen(index)
        doubt = found.doubt(index)
        text = ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in ranges)
        remark = f" ({doubt})" if ranges and doubt else ""
        click.echo(f"{_port(found, index)}: " + (f"never seen: {text}{remark}" if ranges else "all were seen"))
    for index in sorted(set(range(len(found.ports))) - set(found.carrying())):
        click.echo(f"{_port(found, index)}: no frame of stream {found.stream} was seen at all")


def _row(found: FoundFrames, sighting: Sighting) -> tuple[str, ...]:
    return (
        str(sighting.sequence),
        _time(sighting.time_ns),
        _port(found, sighting.port),
        sighting.direction or "unknown",
        str(sighting.length),
        "" if sighting.intact else "signature damaged",
    )


def _time(time_ns: int) -> str:
    whole_s, rest_ns = divmod(time_ns, _NS_PER_S)
    return f"{datetime.fromtimestamp(whole_s, UTC):%Y-%m-%d %H:%M:%S}.{rest_ns:09d}"


def _port(found: FoundFrames, index: int) -> str:
    port = found.ports[index]
    name = port.name or f"port {index + 1}"
    return f"{name} ({port.description})" if port.description else name


def _missing(found: FoundFrames) -> list[dict[str, object]]:
    return [
        {"port": index, "ranges": found.never_seen(index), "doubt": found.doubt(index)}
        for index in range(len(found.ports))
    ]
