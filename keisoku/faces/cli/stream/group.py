"""`keisoku stream`: the group of commands about streams between two ends. It holds no command itself."""

from __future__ import annotations

import click

from keisoku.faces.cli.lazy_group import LazyGroup, Place


@click.group(
    "stream",
    cls=LazyGroup,
    measurements="stream",
    sentences={
        "tcp": "Measures throughput of TCP to HOST, where 'keisoku stream serve' runs, by size of the sent messages.",
        "udp": "Measures throughput and loss of UDP to HOST, where 'keisoku stream serve' runs, by size of the"
        " datagrams.",
        "file": "Transfers SOURCE to HOST, where 'keisoku stream serve --files DIRECTORY' runs, and verifies the copy.",
        "rr": "Measures transactions to HOST, where 'keisoku stream serve' runs, over TCP connections that stay open.",
        "crr": "Measures transactions to HOST, where 'keisoku stream serve' runs, each on a connection of its own.",
        "udp-rr": "Measures transactions to HOST, where 'keisoku stream serve' runs, over UDP.",
        "capacity": "Measures IP capacity to HOST, where 'keisoku stream serve --capacity' runs, by UDP as RFC 9097"
        " says.",
    },
    places={
        "serve": Place(
            "keisoku.faces.cli.stream.serve",
            "Answers 'keisoku line' and 'keisoku stream' of other hosts, one at a time.",
        ),
    },
)
def command() -> None:
    """Measures streams, IP capacity, transactions and file transfers between two ends, and says what limits them."""
