"""`keisoku stream serve`: the far end of streams, transactions and file transfers."""

from __future__ import annotations

from pathlib import Path

import click

from keisoku.errors import PlanError
from keisoku.ground.host.two_ended.far_end import become
from keisoku.subjects.stream.capacity.pdu import PORT as CAPACITY_PORT
from keisoku.subjects.stream.far_end import PORT


@click.command("serve")
@click.option("--at", default="", metavar="ADDRESS[@NAMESPACE]", help="local address (default: any)")
@click.option("--port", default=PORT, type=click.IntRange(0, 65535), show_default=True, help="TCP port")
@click.option(
    "--files",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="directory into which clients of 'keisoku stream file' may write",
)
@click.option("--settable", is_flag=True, help="let clients change MTU and offloads of the interface towards them")
@click.option(
    "--capacity",
    is_flag=False,
    flag_value=str(CAPACITY_PORT),
    type=click.IntRange(0, 65535),
    metavar="[PORT]",
    help=f"also serve 'stream capacity' and other clients of UDPSTP (RFC 9946), at UDP port {CAPACITY_PORT} or another",
)
@click.option(
    "--key-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="file with the key of clients of '--capacity', whose requests must be signed; a line end after it does not"
    " count",
)
@click.option(
    "--other-address",
    metavar="ADDRESS",
    help="a second address of this host, at which clients of 'line' look at NATs, too (RFC 5780)",
)
def command(
    at: str,
    port: int,
    files: Path | None,
    settable: bool,
    capacity: int | None,
    key_file: Path | None,
    other_address: str | None,
) -> None:
    """Answers 'keisoku line' and 'keisoku stream' of other hosts, one at a time.

    It goes on until it is interrupted.
    """
    if key_file is not None and capacity is None:
        raise PlanError("key-file", "only tests of capacity are signed", "add --capacity, or leave it out")
    more = [*(["--settable"] if settable else []), *([] if capacity is None else [f"--capacity={capacity}"])]
    for name, value in {"--files": files, "--key-file": key_file, "--other-address": other_address}.items():
        more += [name, str(value)] if value is not None else []
    become("stream", "--at", at, "--port", str(port), *more)
