"""`keisoku serve`: the Open Traffic Generator API. It prints its addresses; it measures nothing itself."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from pathlib import Path

import click

from keisoku.ground.statistics.seed import DEFAULT


@click.command("serve")
@click.option(
    "--listen", default="127.0.0.1", show_default=True, help="IP address of this host on which the server listens."
)
@click.option(
    "--http-port",
    type=click.IntRange(0, 65535),
    default=8443,
    show_default=True,
    help="TCP port for HTTP; 0: any free port.",
)
@click.option(
    "--grpc-port",
    type=click.IntRange(0, 65535),
    default=40051,
    show_default=True,
    help="TCP port for gRPC; 0: any free port.",
)
@click.option(
    "--gnmi-port",
    type=click.IntRange(0, 65535),
    help="TCP port for gNMI, such as 50051; 0: any free port; without it no gNMI. Needs the package pygnmi.",
)
@click.option(
    "--netconf-port",
    type=click.IntRange(1, 65535),
    help="TCP port for NETCONF over ssh, such as 830; without it no NETCONF. Needs root and --user root.",
)
@click.option(
    "--netconf-keys",
    type=click.Path(path_type=Path),
    help="File of public keys, as authorized_keys, of those who may use NETCONF.",
)
@click.option("--no-grpc", is_flag=True, help="Serve HTTP only.")
@click.option(
    "--certificate",
    type=click.Path(path_type=Path),
    help="PEM file of the server's certificate; without it the server uses HTTP.",
)
@click.option("--key", type=click.Path(path_type=Path), help="PEM file of the certificate's key.")
@click.option(
    "--client-ca",
    type=click.Path(path_type=Path),
    help="PEM file of the authorities that sign client certificates; clients then need a certificate.",
)
@click.option(
    "--tokens", type=click.Path(path_type=Path), help="File of lines NAME:TOKEN; clients then need one of these tokens."
)
@click.option("--user", default="nobody", show_default=True, help="User that the server becomes if root starts it.")
@click.option("--labs/--no-labs", default=True, show_default=True, help="Whether clients may use ports of labs.")
@click.option(
    "--take-over",
    is_flag=True,
    help="Let a configuration end traffic that another connection started; without it, it is refused.",
)
@click.option(
    "--speed",
    metavar="RATE",
    help="What a percentage is of, at ports that have no line rate and that a configuration gives none, such as 10G.",
)
@click.option(
    "--payload-start",
    metavar="HEX",
    help="Bytes with which the payload of each frame begins, such as 0A0B0C, if scripts look for them in captures.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=DEFAULT, show_default=True, help="Random seed of simulated devices."
)
@click.option(
    "--runs",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs/served"),
    show_default=True,
    help="Folder for runs that clients start at /keisoku/v1/runs.",
)
def command(
    listen: str,
    http_port: int,
    grpc_port: int,
    gnmi_port: int | None,
    netconf_port: int | None,
    netconf_keys: Path | None,
    no_grpc: bool,
    certificate: Path | None,
    key: Path | None,
    client_ca: Path | None,
    tokens: Path | None,
    user: str,
    labs: bool,
    take_over: bool,
    speed: str | None,
    payload_start: str | None,
    seed: int,
    runs: Path,
) -> None:
    """Serve the Open Traffic Generator API, for snappi, gosnappi and otgen.

    To listen on an address other than loopback the server needs a certificate, and its clients need a token
    (https://NAME:TOKEN@HOST:8443) or a certificate.

    A browser finds runs, reports and comparisons at /; it starts measurements with the key that the server prints, or
    with a token.

    Started by root, it becomes another user and keeps only a few capabilities: those for programs and sockets at ports,
    and without --no-labs those for labs.

    A port's location is xdp:INTERFACE, packet:INTERFACE (with @NAMESPACE), lab:DEVICE#PORT, sim:DEVICE#PORT, or
    fpga:LINK#PORT of an instrument.
    """
    from keisoku.errors import PlanError
    from keisoku.faces.otg.configuration import Defaults
    from keisoku.faces.otg.control.controller import Controller  # the server's modules take a second to load
    from keisoku.faces.otg.serving.privilege import give_up_root, hand_over
    from keisoku.faces.otg.serving.server import Listening, Server
    from keisoku.ground.host.undo import undo_left, undone_when_killed
    from keisoku.units import bit_rate

    try:
        start = bytes.fromhex(payload_start or "")
    except ValueError:
        raise PlanError("--payload-start", f"'{payload_start}' is not hexadecimal", "write it as 0A0B0C") from None
    defaults = Defaults(None if speed is None else bit_rate("--speed", speed), start)
    if (netconf_port is None) != (netconf_keys is None):
        raise PlanError("--netconf-keys", "NETCONF has a port, and keys of those who may use it", "give both")
    left = undo_left()

    listening = Listening(
        listen, http_port, None if no_grpc else grpc_port, certificate, key, client_ca, tokens, gnmi_port
    )
    hand_over(runs, user)
    kept: list[str] = []

    def become() -> None:
        kept.extend(give_up_root(user, labs) or ())
        left.extend(undo_left())  # the journal of that user

    controller = Controller(seed, runs, take_over, defaults)
    with Server(listening, controller, become) as server, undone_when_killed(), ExitStack() as stack:
        for done in left:
            click.echo(f"{done}, which a killed run had left")
        if kept:
            click.echo(f"now {user}, with {', '.join(kept)}")
        by_ssh = None
        if netconf_port is not None and netconf_keys is not None:
            from keisoku.faces.netconf.server import NetconfServer, SshListening  # only who wants it has its programs

            where = SshListening(listen, netconf_port, netconf_keys)
            netconf = stack.enter_context(NetconfServer(where, controller, defaults.speed))
            by_ssh = f"NETCONF at ssh://{netconf.user}@{listen}:{netconf_port}, key {netconf.fingerprint}"
        # Whoever reads this may use all of them.
        grpc = "" if server.grpc_location is None else f" and by gRPC at {server.grpc_location}"
        gnmi = "" if server.gnmi_location is None else f"; gNMI at {server.gnmi_location}"
        click.echo(f"OTG at {server.url}{grpc}{gnmi}; end with Ctrl-C")
        if by_ssh is not None:
            click.echo(by_ssh)
        click.echo(f"page for a browser: {server.page}")
        with suppress(KeyboardInterrupt):
            server.wait()
