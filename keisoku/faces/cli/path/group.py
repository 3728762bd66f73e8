"""`keisoku path`: the group of commands about the hops of an IP path. It holds no command itself."""

from __future__ import annotations

import click

from keisoku.faces.cli.lazy_group import LazyGroup, Place


@click.group(
    "path",
    cls=LazyGroup,
    measurements="path",
    sentences={
        "one-packet": "Measures bandwidth, forward and reverse, and latency of every hop to HOST by single packets.",
        "packet-pair": "Measures the capacity of the path to HOST and back, where 'keisoku path serve' runs.",
        "delay": "Measures one-way and two-way delay to HOST, where a STAMP reflector runs.",
        "clocks": "Measures the path to HOST, where 'keisoku path serve' runs, by every source of time at once.",
    },
    places={
        "serve": Place(
            "keisoku.faces.cli.path.serve",
            "Serves 'keisoku path packet-pair' and 'path clocks' until it is interrupted; one client at a time.",
        ),
        "reflect": Place(
            "keisoku.faces.cli.path.reflect",
            "Reflects STAMP packets (RFC 8762) until it is interrupted.",
        ),
    },
)
def command() -> None:
    """Measures bandwidth and delay of an IP path and of its hops."""
