"""`stream rr` as an entry of the table of measurements: how long a request and its answer take on a TCP connection."""

from __future__ import annotations

from keisoku.language import phrase
from keisoku.subjects.stream.transaction.measurement import transaction_measurement
from keisoku.subjects.stream.transaction.settings import RrSettings

MEASUREMENT = transaction_measurement(
    RrSettings,
    title=phrase("Transactions over TCP"),
    summary="Measures transactions to HOST, where 'keisoku stream serve' runs, over TCP connections that stay open.",
    help_="""\b
    keisoku stream rr 192.0.2.7
    keisoku stream rr 192.0.2.7 --connections 1000 --rate 20000
    keisoku stream rr 192.0.2.7 --require 'p99[transaction] < 500 us'

    A transaction is a request and its response, one at a time on each connection.""",
)
