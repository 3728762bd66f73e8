"""The reference of the accounting tests: what a window of numbers knows, kept in sets. Shares no idea with the RTL.

It must never look at the design: tests feed it the same arrivals and compare what both say.
"""

from dataclasses import dataclass, field


@dataclass
class Ledger:
    """Every number that came is in `seen`; the window only decides what may still be told apart."""

    window: int
    seen: set[int] = field(default_factory=set)
    told_lost: set[int] = field(default_factory=set)
    greatest: int = -1
    ended: bool = False
    verdicts: list[tuple[str, int]] = field(default_factory=list)

    def arrive(self, number: int) -> str:
        """The verdict of one intact arrival."""
        verdict = self._judge(number)
        self.verdicts.append((verdict, number))
        return verdict

    def _judge(self, number: int) -> str:
        if self.ended or number <= self.greatest - self.window:
            return "late"
        if number > self.greatest:
            self._leave(self.greatest - self.window + 1, number - self.window)
            self.greatest = number
            self.seen.add(number)
            return "in_order"
        if number in self.seen:
            return "duplicated"
        self.seen.add(number)
        return "reordered"

    def flush(self, offered: int) -> None:
        """Nothing below `offered` is waited for any more."""
        self._leave(self.greatest - self.window + 1, offered - 1)
        self.ended = True

    def lost_intervals(self) -> list[tuple[int, int]]:
        """Maximal runs of numbers that left the window unseen."""
        runs: list[tuple[int, int]] = []
        for number in sorted(self.told_lost):
            if runs and runs[-1][1] == number - 1:
                runs[-1] = (runs[-1][0], number)
            else:
                runs.append((number, number))
        return runs

    def _leave(self, first: int, last: int) -> None:
        self.told_lost.update(n for n in range(max(first, 0), last + 1) if n not in self.seen)
