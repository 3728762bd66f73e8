"""`keisoku system client`: the far end of a load that `keisoku system load` makes over ssh. Users do not call it."""

from __future__ import annotations

import sys

import click

from keisoku.subjects.system.load.remote_client import serve


@click.command("client", hidden=True)
@click.argument("token")
@click.argument("plan")
def command(token: str, plan: str) -> None:
    """Carries out the load that PLAN describes, controlled over standard input."""

    def tell(words: bytes) -> None:
        sys.stdout.buffer.write(words)
        sys.stdout.buffer.flush()

    serve(token, plan, tell)
