"""Search for the sending rate: algorithm B of ITU-T Y.1540 Annex B and RFC 9097 §8.1. It does no I/O."""

from __future__ import annotations

from dataclasses import dataclass

from keisoku.subjects.stream.capacity.pdu import NO_DELAY, Activation, Status
from keisoku.subjects.stream.capacity.sending_rate import HIGH_SPEED

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
