"""The look at the NAT of a line while its other conditions are measured. It sends a few small datagrams a second."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from keisoku.errors import EngineError
from keisoku.ground.entry import Work
from keisoku.ground.host.two_ended.control import ControlError
from keisoku.ground.run.directory import RunDirectory
from keisoku.language import phrase
from keisoku.subjects.path.nat.observation import TABLE, table
from keisoku.subjects.path.nat.sockets import NatProbing
from keisoku.subjects.stream.session import StreamSession

ELSEWHERE = "nat_from_elsewhere"
"""Of the facts: how many datagrams came to the far end from another address than the connection over TCP."""


class NatBeside:
    """Begins with its block, for `longest_s` in all, and tries at the end what is idle then.

    A line on which it fails is measured without it.
    """

    def __init__(self, work: Work[Any], session: StreamSession, longest_s: float) -> None:
        self._work, self._session, self._longest_s = work, session, longest_s
        self._probing: NatProbing | None = None

    def __enter__(self) -> Self:
        session = self._session
        try:
            told, _ = session.control.ask({"do": "nat"})
            self._probing = NatProbing(session.place, session.local, session.remote, told, self._longest_s)
        except EngineError as error:
            self._warn(error)
        except (KeyError, TypeError, ValueError) as error:
            peer = session.control.peer
            raise ControlError(f"{peer} does not answer as this version does: {error}") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        probing, directory = self._probing, self._work.directory
        if probing is None:
            return
        if kind is None:
            probing.finish()
        probing.stop()
        if probing.failure is not None:
            self._warn(probing.failure)
        if directory is not None:
            self.keep(directory)
        if directory is not None and kind is None:
            told, _ = self._session.control.ask({"do": "nat-end"})
            directory.know(**{ELSEWHERE: int(told["from_elsewhere"])})

    def settle(self) -> None:
        """Waits until what is left is a few datagrams a second."""
        if self._probing is not None:
            self._probing.settle()

    def keep(self, directory: RunDirectory) -> None:
        """Appends what was seen since the last call."""
        if self._probing is not None:
            directory.append(TABLE, table(self._probing.drain()))

    def _warn(self, error: Exception) -> None:
        self._work.observer.warn(phrase("the NAT of the path is not looked at: {error}", error=str(error)))
