"""What a server of UDPSTP goes by: a table of sending rates, and algorithm B (ITU-T Y.1540 Annex B, RFC 9097 §8.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from keisoku.subjects.stream.capacity.pdu import NO_DELAY, Activation, Status
from keisoku.subjects.stream.capacity.sending_rate import IP_BYTES, RANDOM, SendingRate

PACKET_BYTES = 1250
HIGH_SPEED = 1000
"""The row from which on the search takes single rows; row n below it is n Mb/s of IP."""
_FAST_US, _SLOW_US, _IDLE_US = 100, 1000, 50_000
_FAST_ROWS = 90
"""Above `HIGH_SPEED`, up to the longest burst that a row may have."""
_BACK = 3
"""Steps of `fast_rows` that the search goes back at the first congestion."""


@dataclass
class RateSearch:
    """The row of a table, by what the receiver says. It climbs fast until congestion has been seen for some trial
    intervals, falls back once, and then goes row by row."""

    parameters: Activation
    rows: int
    row: int = 0
    _congested: int = 0

    def told(self, status: Status) -> int:
        """The row after a trial interval."""
        asked = self.parameters
        errors = status.lost if asked.only_losses else status.lost + status.reordered + status.duplicated
        delay_ms = self._delay_ms(status)
        fast = self.row < HIGH_SPEED
        if errors <= asked.errors_above and delay_ms < asked.low_delay_ms:
            if fast and self._congested < asked.slow_after:
                self.row = min(self.row + asked.fast_rows, HIGH_SPEED)
                self._congested = 0
            else:
                self.row = min(self.row + 1, self.rows - 1)
        elif errors > asked.errors_above or delay_ms > asked.high_delay_ms:
            self._congested += 1
            back = _BACK * asked.fast_rows if fast and self._congested == asked.slow_after else 1
            self.row = max(self.row - back, 0)
        return self.row

    def _delay_ms(self, status: Status) -> float:
        """The delay above the least; where nothing is known, one at which the row stays."""
        if self.parameters.one_way:
            return status.delay_sum_ms / status.delays if status.delays else self.parameters.low_delay_ms
        return self.parameters.low_delay_ms if status.rtt_over_ms == NO_DELAY else status.rtt_over_ms


@cache
def table(packet_bytes: int = PACKET_BYTES) -> Sequence[SendingRate]:
    """Rows in ascending order: 0 tries the path with a datagram now and then, row n up to 1000 is n Mb/s of packets of
    that length, and each further row has one datagram each 100 µs more."""
    payload = packet_bytes - IP_BYTES
    rows = [SendingRate(interval2_us=_IDLE_US, addon2=payload | RANDOM)]
    for mbps in range(1, HIGH_SPEED + 1):
        # 1 Mb/s is 125 byte in 1 ms.
        fast, rest = divmod(mbps * 125, 10 * packet_bytes)
        slow, rest = divmod(rest, packet_bytes)
        # An addon cannot be shorter than headers, nor is one of the table: 1 Mb/s is 97 byte of payload.
        rows.append(
            SendingRate(
                interval1_us=_FAST_US if fast else 0,
                payload1=payload if fast else 0,
                burst1=fast,
                interval2_us=_SLOW_US if slow or rest else 0,
                payload2=payload if slow else 0,
                burst2=slow,
                addon2=rest - IP_BYTES if rest else 0,
            )
        )
    most = HIGH_SPEED * 125 // (10 * packet_bytes)
    rows += [SendingRate(_FAST_US, payload, most + more) for more in range(1, _FAST_ROWS + 1)]
    return tuple(rows)
