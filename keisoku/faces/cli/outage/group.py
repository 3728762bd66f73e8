"""`keisoku outage`: the group of commands about interruptions end to end. It holds no command itself."""

from __future__ import annotations

import click

from keisoku.faces.cli.lazy_group import LazyGroup, Place


@click.group(
    "outage",
    cls=LazyGroup,
    measurements="outage",
    sentences={
        "udp": "Measures for how long UDP to and from HOST, where 'keisoku outage serve' runs, is interrupted.",
        "tcp": "Measures for how long TCP to and from HOST, where 'keisoku outage serve' runs, stalls or is broken.",
        "service": "Measures for how long TARGET does not answer: a ping, a STAMP reflector, DNS, TCP, HTTP or gRPC.",
        "mesh": "Measures for how long UDP is interrupted between each two of many ENDS, in both directions.",
    },
    places={
        "serve": Place(
            "keisoku.faces.cli.outage.serve",
            "Answers 'keisoku outage' of other hosts until it is interrupted.",
        ),
    },
)
def command() -> None:
    """Measures for how long traffic is gone: each interruption of each flow, in each direction, with both its ends."""
