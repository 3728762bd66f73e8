"""`keisoku vlab`: the group of commands about virtual kernels. It holds no command itself."""

from __future__ import annotations

import click

from keisoku.faces.cli.lazy_group import LazyGroup, Place


@click.group(
    "vlab",
    cls=LazyGroup,
    measurements="vlab",
    sentences={},
    places={
        "kernel": Place(
            "keisoku.faces.cli.vlab.kernel",
            "Builds the Linux kernel for devices in virtual time (--dut vlab:NAME), once for this machine.",
        ),
    },
)
def command() -> None:
    """Prepares laboratories in virtual time: real Linux kernels, whose clock moves on only when everything waits."""
