"""A measurement of streams from its settings: this machine's own ceiling, then the path, then the cross-check.

It does the I/O between both ends; the analysis computes the figures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from keisoku.errors import PlanError
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.far_end import FarEnd
from keisoku.ground.lab.available import available
from keisoku.ground.lab.path.bare_path import TARGET_ADDRESS, BarePath
from keisoku.ground.observer import Observer
from keisoku.language import phrase
from keisoku.subjects.stream.best_set import best_set
from keisoku.subjects.stream.factor import HOST, of_interface
from keisoku.subjects.stream.flow.report import Row
from keisoku.subjects.stream.interface_setting import InterfaceSetting
from keisoku.subjects.stream.iperf3 import client
from keisoku.subjects.stream.outcome import cell_outcomes
from keisoku.subjects.stream.run import ENDED, StreamRun, total_bps
from keisoku.subjects.stream.schedule import Cell, CellSchedule
from keisoku.subjects.stream.session import StreamSession
from keisoku.subjects.stream.settings import MEASURED, StreamSettings

CHECKS = 5
_CEILING = {"ceiling_path", "ceiling_missing"}
"""Facts of the ceiling, or why it cannot be measured."""

_HEADERS_BYTES = 28
"""Of UDP and IPv4, which the bare path speaks."""

Told = Callable[[str], None]


class Path:
    """A way to the server, by one or several of its addresses; interfaces at both ends are set as a cell wants them."""

    def __init__(self, settings: StreamSettings, place: Place, port: int, stack: ExitStack) -> None:
        self._settings, self._port, self._stack = settings, port, stack
        self._place = place
        self._sessions: dict[str, StreamSession] = {}
        self._near: dict[str, InterfaceSetting] = {}
        self._set: dict[str, dict[str, int | bool]] = {}
        self.setups = settings.setups()

    def session(self, setup: dict[str, str]) -> StreamSession:
        """The connection by the address that a set-up names; opened when it is first wanted."""
        host = setup.get(HOST, self._place.host)
        if host not in self._sessions:
            if self._sessions:
                # A server has one client at a time.
                for name in list(self._sessions):
                    self._leave(name)
            place = Place(host, self._place.namespace)
            self._sessions[host] = self._stack.enter_context(StreamSession(place, self._port))
        return self._sessions[host]

    def measure(self, cell: Cell, limited: bool = True) -> Sequence[Row]:
        """One trial."""
        setup = self.setups[cell.setup]
        session = self.session(setup)
        self._set_interfaces(session, setup)
        trial = self._settings.trial(self.setups[cell.setup], cell.message_bytes)
        return session.measure(trial if limited else trial.model_copy(update={"bps": None}))

    def _leave(self, host: str) -> None:
        if near := self._near.pop(host, None):
            near.close()
        self._set.pop(host, None)
        self._sessions.pop(host).close()

    def _set_interfaces(self, session: StreamSession, setup: dict[str, str]) -> None:
        host, wanted = session.place.host, of_interface(setup)
        if self._set.get(host, {}) == wanted:
            return
        if host not in self._near:
            self._near[host] = self._stack.enter_context(InterfaceSetting(session.place.path, session.remote))
        session.set_interface(wanted)
        self._near[host].set(wanted)
        self._set[host] = wanted


def greet(settings: StreamSettings) -> None:
    """Raises EngineError if a server does not answer, before the minutes that the ceiling takes."""
    with ExitStack() as stack:
        path = Path(settings, settings.place, settings.port, stack)
        for setup in path.setups:
            path.session(setup)


def measure_streams(settings: StreamSettings, run: StreamRun, observer: Observer) -> None:
    """All that the settings ask for. Raises EngineError or PlanError; what was measured before is in the run."""
    told = observer.tell
    run.know(**{ENDED: False})
    if settings.ceiling == MEASURED and not _CEILING & set(run.facts):
        _measure_ceiling(settings, run, told)
    setups = settings.setups()
    with ExitStack() as stack:
        path = Path(settings, settings.place, settings.port, stack)
        campaign = CellSchedule(_cells(settings), settings.rule, settings.seed, settings.refine or 0)

        def measured(cell: Cell) -> Sequence[Row]:
            rows = path.measure(cell)
            observer.saw(phrase("{count} byte", count=cell.message_bytes), bits_per_second=total_bps(rows))
            return rows

        run.campaign("dut", campaign, measured, told)
        session = path.session(setups[next(iter(campaign.values)).setup])
        run.know(options=session.facts, far=session.server, links=session.links)
        if settings.cross_check:
            best = best_set(campaign.values)[0]
            told(phrase("cross-check by iperf3"))
            run.know(iperf3=_check(settings, path.session(setups[best.setup]), best))
    run.know(**{ENDED: True})


def _cells(settings: StreamSettings) -> list[Cell]:
    """Every set-up with every size."""
    return [Cell(place, size) for place in range(len(settings.setups())) for size in settings.size_bytes]


def carried(settings: StreamSettings, mtu: int) -> list[Cell]:
    """The cells that a path of this MTU can carry: the kernel cuts no segment of an offload into fragments."""
    most = mtu - _HEADERS_BYTES if settings.protocol == "udp" else math.inf
    setups = settings.setups()
    return [
        cell for cell in _cells(settings) if cell.message_bytes <= most or setups[cell.setup].get("offload") != "on"
    ]


def _measure_ceiling(settings: StreamSettings, run: StreamRun, told: Told) -> None:
    if reason := available():
        run.know(ceiling_missing=reason)
        return
    plain = [
        place
        for place, setup in enumerate(settings.setups())
        if all(_is_first(settings, *level) for level in setup.items())
    ]
    mtu = max((int(level) for level in settings.factor.get("mtu", ())), default=1500)
    cells = [cell for cell in carried(settings, mtu) if cell.setup in plain]
    if not cells:
        run.know(ceiling_missing=phrase("no message fits the bare path, whose MTU is {mtu} byte", mtu=mtu))
        return
    with bare_server(mtu) as (lab, server), ExitStack() as stack:
        place = Place(TARGET_ADDRESS, lab.tester_namespace)
        path = Path(settings, place, server.port, stack)
        path.setups = [{name: level for name, level in setup.items() if name != HOST} for setup in path.setups]
        campaign = CellSchedule(cells, settings.ceiling_rule, settings.seed)
        run.campaign("bare", campaign, lambda cell: path.measure(cell, limited=False), told)
        run.know(ceiling_path=lab.context())


def _is_first(settings: StreamSettings, name: str, level: str) -> bool:
    """Of hosts one is enough, as none of them is on the bare path."""
    return name != HOST or level == settings.factor[name][0]


@contextmanager
def bare_server(mtu: int = 1500) -> Iterator[tuple[BarePath, FarEnd]]:
    """A bare path of this machine with a server at its far end."""
    with BarePath(mtu) as lab, FarEnd("stream", Place(TARGET_ADDRESS, lab.target_namespace), "--settable") as server:
        yield lab, server


def _check(settings: StreamSettings, session: StreamSession, best: Cell) -> list[dict[str, Any]]:
    """iperf3 at the best cell, some times."""
    trial = settings.trial(settings.setups()[best.setup], best.message_bytes)
    found = []
    for _ in range(CHECKS):
        port = session.start_iperf3()
        try:
            said = client(session.place.inside, session.remote, port, trial)
        finally:
            session.end_iperf3()
        found.append({"setup": best.setup, "message_bytes": best.message_bytes, **said})
    return found


def earlier_ceiling(settings: StreamSettings, rows: Sequence[dict[str, Any]], run: str) -> dict[str, Any]:
    """The ceiling from an earlier run whose path was bare (such as a crossed cable), as `Ceiling.of` takes it.

    Raises PlanError if the run holds no throughput.
    """
    outcomes = [one for one in cell_outcomes(rows) if one.path == "dut" and one.values]
    if not outcomes:
        raise PlanError("ceiling", f"{run} holds no throughput", "give the directory of a finished run")
    best = max(outcomes, key=lambda one: float(np.mean(one.values)))
    mine = [one for one in outcomes if one.cell.setup == best.cell.setup]
    values = [[place, one.cell.message_bytes, *one.values] for one in mine for place in range(len(settings.setups()))]
    return {"run": run, "values": values}
