"""`keisoku stream udp`: how much UDP gets from one end to another, and where the rest was lost."""

from __future__ import annotations

from typing import Any

import click

from keisoku.cli.stream.options import carry_out, stream_options
from keisoku.host.place import Place
from keisoku.stream.path_mtu import payload_bytes
from keisoku.stream.sizes import udp_sizes


@click.command("udp")
@stream_options
def command(**options: Any) -> None:
    """Throughput and loss of UDP to HOST, where 'keisoku stream serve' runs, by size of the datagrams.

    \b
    keisoku stream udp 192.0.2.7 --rate 500Mb/s
    keisoku stream udp 192.0.2.7 --sizes 1472 --factor offload=off,on

    Every datagram is accounted for. A sweep goes up to what the path's MTU leaves, with and without segmentation
    offload.
    """
    if not options["sizes"] and not options["factors"]:
        options["factors"] = ("offload=off,on",)

    def sizes(place: Place, _: int) -> list[int]:
        return udp_sizes(payload_bytes(place))

    carry_out("udp", sizes, options)
