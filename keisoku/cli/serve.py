"""`keisoku serve`: the Open Traffic Generator API. Prints where it listens; measures nothing itself."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click


@click.command("serve")
@click.option("--listen", default="127.0.0.1", show_default=True, help="Address of this host to listen on.")
@click.option("--http-port", type=click.IntRange(0, 65535), default=8443, show_default=True, help="0: any free one.")
@click.option("--grpc-port", type=click.IntRange(0, 65535), default=40051, show_default=True, help="0: any free one.")
@click.option("--no-grpc", is_flag=True, help="HTTP only.")
@click.option("--certificate", type=click.Path(path_type=Path), help="PEM file; without it the server speaks HTTP.")
@click.option("--key", type=click.Path(path_type=Path), help="PEM file of its key.")
@click.option("--client-ca", type=click.Path(path_type=Path), help="PEM file: clients need certificates of these.")
@click.option("--tokens", type=click.Path(path_type=Path), help="File of lines NAME:TOKEN: clients need one of them.")
@click.option("--user", default="nobody", show_default=True, help="Whom to become if root starts the server.")
@click.option("--labs/--no-labs", default=True, show_default=True, help="Whether ports may be a lab's.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of what a simulated device draws."
)
@click.option(
    "--runs",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs/served"),
    show_default=True,
    help="Folder of the runs that clients start at /keisoku/v1/runs.",
)
def command(
    listen: str,
    http_port: int,
    grpc_port: int,
    no_grpc: bool,
    certificate: Path | None,
    key: Path | None,
    client_ca: Path | None,
    tokens: Path | None,
    user: str,
    labs: bool,
    seed: int,
    runs: Path,
) -> None:
    """Serve the Open Traffic Generator API, for snappi, gosnappi and otgen.

    Beyond loopback it needs a certificate, and clients that show a token (https://NAME:TOKEN@HOST:8443) or a
    certificate.

    Started by root, it becomes another user and keeps a few capabilities only: those that programs and sockets at ports
    need, and unless --no-labs those that labs need.

    A port's location is xdp:INTERFACE, packet:INTERFACE (with @NAMESPACE), lab:DEVICE#PORT, sim:DEVICE#PORT, or
    fpga:LINK#PORT of an instrument.
    """
    from keisoku.host.undo import undo_left
    from keisoku.otg.controller import Controller  # what serves takes a second to load
    from keisoku.otg.privilege import give_up_root, hand_over
    from keisoku.otg.server import Listening, Server

    left = undo_left()

    listening = Listening(listen, http_port, None if no_grpc else grpc_port, certificate, key, client_ca, tokens)
    hand_over(runs, user)
    kept: list[str] = []

    def become() -> None:
        kept.extend(give_up_root(user, labs) or ())
        left.extend(undo_left())  # that user's own

    with Server(listening, Controller(seed, runs), become) as server:
        for done in left:
            click.echo(f"{done}, as a killed run had left it")
        if kept:
            click.echo(f"now {user}, with {', '.join(kept)}")
        grpc = "" if server.grpc_location is None else f" and by gRPC at {server.grpc_location}"
        click.echo(f"OTG at {server.url}{grpc}; end with Ctrl-C")
        with suppress(KeyboardInterrupt):
            server.wait()
