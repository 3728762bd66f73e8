"""`stream udp` as an entry of the table of measurements: how much UDP arrives, and where the rest was lost."""

from __future__ import annotations

from keisoku.ground.host.place import Place
from keisoku.language import phrase
from keisoku.subjects.stream.measurement import stream_measurement
from keisoku.subjects.stream.path_mtu import payload_bytes
from keisoku.subjects.stream.settings import UdpSettings
from keisoku.subjects.stream.sizes import udp_sizes


def _sizes(place: Place) -> list[int]:
    return udp_sizes(payload_bytes(place))


MEASUREMENT = stream_measurement(
    UdpSettings,
    _sizes,
    title=phrase("UDP streams"),
    summary="Measures throughput and loss of UDP to HOST, where 'keisoku stream serve' runs, by size of the datagrams.",
    help_="""\b
    keisoku stream udp 192.0.2.7 --rate 500Mb/s
    keisoku stream udp 192.0.2.7 --size 1472 --factor offload=off,on

    Every datagram is accounted for. A sweep goes up to the path's MTU, with and without segmentation offload.""",
)
