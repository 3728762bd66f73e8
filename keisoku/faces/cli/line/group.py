"""`keisoku line`: the group of commands about what a line does to people. It holds no command itself."""

from __future__ import annotations

import click

from keisoku.faces.cli.lazy_group import LazyGroup


@click.group(
    "line",
    cls=LazyGroup,
    measurements="line",
    sentences={
        "survey": "Measures the line to HOST, where 'keisoku stream serve' runs, in one minute, and summarises it.",
        "responsiveness": "Measures latency to HOST, where 'keisoku stream serve' runs, idle and under load, and the"
        " queue between.",
    },
    places={},
)
def command() -> None:
    """Measures what the line to a host does to people: rates, loss, queues, NAT and latency under load."""
