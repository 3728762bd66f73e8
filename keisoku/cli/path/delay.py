"""`keisoku path delay`: one-way and two-way delay to a STAMP reflector."""

from __future__ import annotations

from pathlib import Path

import click
import pyarrow as pa

from keisoku.cli.kept import kept
from keisoku.cli.observation import new_directory
from keisoku.cli.options import seconds
from keisoku.cli.path.analyse import ANALYSES
from keisoku.cli.stamp_key import key_option, read_key
from keisoku.host.place import Place
from keisoku.path.stamp.packet import PORT
from keisoku.path.stamp.run import TABLE
from keisoku.path.stamp.sender import KIND, DelaySender, DelaySettings
from keisoku.run.directory import RunDirectory


@click.command("delay")
@click.argument("host", metavar="HOST[@NAMESPACE]")
@click.option("--port", default=PORT, type=click.IntRange(1, 65535), show_default=True, help="the reflector's UDP port")
@click.option("--packets", default=100, type=click.IntRange(1, 10_000_000), show_default=True, help="to send")
@click.option("--interval", default="10 ms", metavar="TIME", show_default=True, help="from one packet to the next")
@click.option("--size", "ip_bytes", default=0, type=click.IntRange(0, 65535), help="IP bytes (default: the shortest)")
@click.option(
    "--wait", default="1 s", metavar="TIME", show_default=True, help="for an answer; later ones count as lost"
)
@click.option("--ssid", default=0, type=click.IntRange(0, 65535), help="session identifier of RFC 8972 (0: none)")
@key_option
@click.option("--out", type=click.Path(path_type=Path), help="run directory (default: runs/DATE-path-delay)")
@click.option("--json", "as_json", is_flag=True, help="print the result as JSON")
def command(
    host: str,
    port: int,
    packets: int,
    interval: str,
    ip_bytes: int,
    wait: str,
    ssid: int,
    key_file: Path | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Measures delay to HOST, where 'keisoku path reflect' or any other STAMP reflector (RFC 8762) runs."""
    place, key = Place.parse(host), read_key(key_file)
    settings = DelaySettings(
        host=place.host,
        port=port,
        packets=packets,
        interval_s=seconds("--interval", interval) or 0.0,
        ip_bytes=ip_bytes,
        wait_s=seconds("--wait", wait) or 0.0,
        ssid=ssid,
        authenticated=key is not None,
    )
    directory: RunDirectory | None = None

    def keep(part: pa.Table) -> None:
        # With the first part, so that a reflector that never answers leaves nothing.
        nonlocal directory
        directory = directory or new_directory(out, KIND, settings.model_dump(), {"namespace": place.namespace})
        directory.append(TABLE, part)

    with kept(lambda: directory, TABLE):
        DelaySender(place, settings, key).measure(keep=keep)
    assert directory
    ANALYSES.run(directory, as_json)
