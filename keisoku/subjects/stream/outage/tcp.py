"""`outage tcp` as an entry of the table of measurements."""

from __future__ import annotations

from keisoku.language import phrase
from keisoku.subjects.stream.outage.measurement import outage_measurement

MEASUREMENT = outage_measurement(
    "tcp",
    title=phrase("Interruptions of TCP"),
    summary="Measures for how long TCP to and from HOST, where 'keisoku outage serve' runs, stalls or is broken.",
    help="""As an application sees it: each flow is a connection, which is opened again where it breaks.

    \b
    keisoku outage tcp 192.0.2.7 --while 'kubectl drain node3' --budget 5s
    keisoku outage tcp 192.0.2.7 --flows 10 --event 'ssh r1 reboot' --watch 60s""",
)
