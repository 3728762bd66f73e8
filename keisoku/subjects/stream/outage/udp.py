"""`outage udp` as an entry of the table of measurements."""

from __future__ import annotations

from keisoku.language import phrase
from keisoku.subjects.stream.outage.measurement import outage_measurement

MEASUREMENT = outage_measurement(
    "udp",
    title=phrase("Interruptions of UDP"),
    summary="Measures for how long UDP to and from HOST, where 'keisoku outage serve' runs, is interrupted.",
    help="""Each flow sends numbered packets in both directions; each interruption has two ends, known to one interval.

    \b
    keisoku outage udp 192.0.2.7 --while 'kubectl drain node3' --budget 2s
    keisoku outage udp 192.0.2.7 --flows 100 --interval 1ms --event 'ssh r1 reboot' --watch 60s""",
)
