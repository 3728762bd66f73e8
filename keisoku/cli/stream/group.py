"""`keisoku stream`: the group of commands about streams between two ends. It holds no command itself."""

from __future__ import annotations

import click

from keisoku.cli.lazy_group import LazyGroup, Place


@click.group(
    "stream",
    cls=LazyGroup,
    measurements="stream",
    sentences={
        "tcp": "Measures throughput of TCP to HOST, where 'keisoku stream serve' runs, by size of the sent messages.",
        "udp": "Measures throughput and loss of UDP to HOST, where 'keisoku stream serve' runs, by size of the"
        " datagrams.",
        "file": "Transfers SOURCE to HOST, where 'keisoku stream serve --files DIRECTORY' runs, and verifies the copy.",
    },
    places={
        "serve": Place(
            "keisoku.cli.stream.serve",
            "Serves 'keisoku stream tcp', 'udp' and 'file' until it is interrupted; one client at a time.",
        ),
    },
)
def command() -> None:
    """Measures TCP and UDP streams and file transfers between two ends, and says what limits them."""
