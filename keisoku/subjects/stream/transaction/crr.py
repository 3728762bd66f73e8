"""`stream crr` as an entry of the table of measurements: how long transactions take that each open a connection."""

from __future__ import annotations

from keisoku.language import phrase
from keisoku.subjects.stream.transaction.measurement import transaction_measurement
from keisoku.subjects.stream.transaction.settings import CrrSettings

MEASUREMENT = transaction_measurement(
    CrrSettings,
    title=phrase("Transactions over TCP connections of their own"),
    summary="Measures transactions to HOST, where 'keisoku stream serve' runs, each on a connection of its own.",
    help_="""\b
    keisoku stream crr 192.0.2.7
    keisoku stream crr 192.0.2.7 --connections 10 --rate 500

    A transaction is a connection, a request and its response; the connection is also shown apart.""",
)
