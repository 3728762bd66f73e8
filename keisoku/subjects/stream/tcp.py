"""`stream tcp` as an entry of the table of measurements: how fast TCP is between two ends, and at which sizes."""

from __future__ import annotations

from keisoku.language import phrase
from keisoku.subjects.stream.measurement import stream_measurement
from keisoku.subjects.stream.settings import TcpSettings
from keisoku.subjects.stream.sizes import tcp_sizes

MEASUREMENT = stream_measurement(
    TcpSettings,
    lambda place: tcp_sizes(),
    title=phrase("TCP streams"),
    summary="Measures throughput of TCP to HOST, where 'keisoku stream serve' runs, by size of the sent messages.",
    help_="""\b
    keisoku stream tcp 192.0.2.7
    keisoku stream tcp 192.0.2.7 --size 65536 --factor congestion=cubic,bbr --factor mtu=1500,9000
    keisoku stream tcp 192.0.2.7 --require 'throughput[best] > 900 Mb/s'

    This machine's own limit is measured first, on a bare path of this host. Results within 5 % of it are marked.""",
)
