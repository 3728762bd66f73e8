"""`keisoku system`: the group of commands about whole systems of servers and clients. It holds no command itself."""

from __future__ import annotations

import click

from keisoku.faces.cli.lazy_group import LazyGroup, Place


@click.group(
    "system",
    cls=LazyGroup,
    measurements="system",
    sentences={
        "load": "Measures requests/s, bytes/s and latencies of clients that load web servers, or bit/s of bulk TCP.",
        "limit": "Finds the best rate limit of a port for the whole system, changing and observing only the network.",
        "govern": "Keeps a whole system at its optimum by the rate limit of a port, changing and observing only the"
        " network.",
    },
    places={
        "client": Place(
            "keisoku.faces.cli.system.client",
            "Carries out the load that PLAN describes, controlled over standard input.",
        ),
        "ports": Place(
            "keisoku.faces.cli.system.ports",
            "Limits and observes the ports that PLAN names, as asked over standard input.",
        ),
    },
)
def command() -> None:
    """Measures whole systems of servers and clients, and finds the best rate limit in the network for them."""
