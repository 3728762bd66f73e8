"""`keisoku path reflect`: a STAMP reflector."""

from __future__ import annotations

import signal
from pathlib import Path

import click

from keisoku.ground.host.place import Place
from keisoku.subjects.path.stamp.key import read_key
from keisoku.subjects.path.stamp.packet import PORT
from keisoku.subjects.path.stamp.reflector import Reflector


@click.command("reflect")
@click.option("--at", default="0.0.0.0", metavar="ADDRESS[@NAMESPACE]", help="local address (default: any IPv4)")
@click.option("--port", default=PORT, type=click.IntRange(0, 65535), show_default=True, help="UDP port")
@click.option(
    "--key-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="file with the key of the authenticated mode (RFC 8762 §4.4); a line end after it does not count",
)
def command(at: str, port: int, key_file: Path | None) -> None:
    """Reflects STAMP packets (RFC 8762) until it is interrupted."""
    reflector = Reflector(Place.parse(at), port, read_key(key_file))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: reflector.stop())
    click.echo(f"reflecting at UDP port {reflector.port}")
    reflector.serve()
    click.echo(f"reflected {reflector.reflected} packets, refused {reflector.refused}")
