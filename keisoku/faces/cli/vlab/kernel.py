"""`keisoku vlab kernel`: builds the kernel for devices in virtual time, or removes it."""

from __future__ import annotations

import click

from keisoku.ground.virtual_kernel.build import build, remove


@click.command("kernel")
@click.option("--remove", "removes", is_flag=True, help="remove the kernel and what is left of builds")
def command(removes: bool) -> None:
    """Builds the Linux kernel for devices in virtual time (--dut vlab:NAME), once for this machine.

    It takes about 10 minutes of CPU time and 3 GB while it builds, and 7 MB afterwards. The source is the Debian
    package linux-source-6.12. A build that was interrupted goes on where it was.

    \b
    keisoku vlab kernel
    keisoku convergence --dut vlab:diamond --event link-down
    """
    if removes:
        click.echo("removed" if remove() else "nothing to remove")
        return
    click.echo(f"the kernel is in {build(lambda said: click.echo(said, err=True))}")
