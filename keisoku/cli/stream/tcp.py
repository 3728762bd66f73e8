"""`keisoku stream tcp`: how fast TCP is between two ends, and at which message sizes."""

from __future__ import annotations

from typing import Any

import click

from keisoku.cli.stream.options import carry_out, stream_options
from keisoku.stream.sizes import tcp_sizes


@click.command("tcp")
@stream_options
def command(**options: Any) -> None:
    """Throughput of TCP to HOST, where 'keisoku stream serve' runs, by size of the sent messages.

    \b
    keisoku stream tcp 192.0.2.7
    keisoku stream tcp 192.0.2.7 --sizes 65536 --factor congestion=cubic,bbr --factor mtu=1500,9000
    keisoku stream analyse runs/20261121-210000-stream-tcp  # again, from the raw trials

    The machine's own limit is measured first, on a bare path of this host; what comes within 5 % of it is marked.
    """
    carry_out("tcp", lambda *_: tcp_sizes(), options)
