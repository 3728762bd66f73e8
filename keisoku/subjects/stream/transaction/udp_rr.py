"""`stream udp-rr` as an entry of the table of measurements: how long a datagram and its answer take."""

from __future__ import annotations

from keisoku.language import phrase
from keisoku.subjects.stream.transaction.measurement import transaction_measurement
from keisoku.subjects.stream.transaction.settings import UdpRrSettings

MEASUREMENT = transaction_measurement(
    UdpRrSettings,
    title=phrase("Transactions over UDP"),
    summary="Measures transactions to HOST, where 'keisoku stream serve' runs, over UDP.",
    help_="""\b
    keisoku stream udp-rr 192.0.2.7
    keisoku stream udp-rr 192.0.2.7 --rate 1000 --poisson --timeout 100ms

    A transaction is a datagram and the datagram that answers it; one that is lost is not sent again.""",
)
