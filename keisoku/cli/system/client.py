"""`keisoku app client`: the far end of a load that `keisoku app load` makes over ssh. It is not for people."""

from __future__ import annotations

import sys

import click

from keisoku.system.load.remote_client import serve


@click.command("client", hidden=True)
@click.argument("token")
@click.argument("plan")
def command(token: str, plan: str) -> None:
    """Loads as PLAN says, begun and watched on standard input."""

    def tell(words: bytes) -> None:
        sys.stdout.buffer.write(words)
        sys.stdout.buffer.flush()

    serve(token, plan, tell)
