"""`keisoku system ports`: the far end of limits that are set over ssh ('net:FILE' with a host). No user calls it."""

from __future__ import annotations

import sys

import click

from keisoku.subjects.system.network.remote_system import serve


@click.command("ports", hidden=True)
@click.argument("token")
@click.argument("plan")
def command(token: str, plan: str) -> None:
    """Limits and observes the ports that PLAN names, as asked over standard input."""

    def tell(line: str) -> None:
        sys.stdout.write(line)
        sys.stdout.flush()

    serve(token, plan, tell)
