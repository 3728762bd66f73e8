"""The interface of a system whose ports towards clients can be limited and observed.

A simulated system and a real network both implement it (`system/opening.py` opens them), and search and
governor use nothing else of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, Self

from keisoku.subjects.system.observation import Observation
from keisoku.subjects.system.state import State


class System(Protocol):
    """A context manager: on leaving, however that comes, no limit that it set is left anywhere."""

    @property
    def ports(self) -> Mapping[str, float]:
        """Ports that may be limited: line rate in bit/s by the name of the client behind.

        Every `Observation` shows these clients, under the same names.
        """

    def limit(self, limits: Mapping[str, float | None]) -> None:
        """Limits ports, in bit/s, from now on; a port that is not named has none. Raises EngineError if it cannot.

        Nothing is waited for: after a change, the caller leaves some intervals unused until things have settled.
        """

    def observe(self, seconds: float) -> Observation:
        """What the network shows of the next interval of that length, which has passed on return.

        The observation holds the seconds that it really covers. Raises EngineError if nothing could be observed.
        """

    def now_s(self) -> float:
        """Time of the system in s, from any origin: it passes between intervals, too. Virtual in a simulated one."""

    def truth(self) -> State | None:
        """What really bounded the whole system in the last interval; None where that is unknown.

        Only for scoring what was inferred; code that infers, searches or governs must not read it.
        """

    def facts(self) -> dict[str, Any]:
        """Description for a run's context: how it is made, which mechanism limits."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...
