"""`keisoku path reflect`: a STAMP reflector."""

from __future__ import annotations

from pathlib import Path

import click

from keisoku.ground.host.two_ended.far_end import become
from keisoku.subjects.path.stamp.packet import PORT


@click.command("reflect")
@click.option("--at", default="", metavar="ADDRESS[@NAMESPACE]", help="local address (default: any)")
@click.option("--port", default=PORT, type=click.IntRange(0, 65535), show_default=True, help="UDP port")
@click.option(
    "--key-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="file with the key of the authenticated mode (RFC 8762 §4.4); a line end after it does not count",
)
@click.option("--peer", metavar="ADDRESS", help="the only host that is answered (default: any)")
def command(at: str, port: int, key_file: Path | None, peer: str | None) -> None:
    """Reflects STAMP packets (RFC 8762) until it is interrupted."""
    named = {"--key-file": key_file, "--peer": peer}
    more = [word for name, value in named.items() if value is not None for word in (name, str(value))]
    become("reflect", "--at", at, "--port", str(port), *more)
