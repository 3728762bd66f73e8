"""`Responder`: answers probes of one host while its streams go on: STAMP packets, and transactions on new connections.

It measures nothing.
"""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import Self

from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.far_end import FarEnd
from keisoku.subjects.stream.transaction.far import answering
from keisoku.subjects.stream.transaction.trial import TransactionTrial


class Responder:
    """A context manager; answers `host` at `address` from the start to the end. Raises EngineError if it cannot."""

    def __init__(self, trial: TransactionTrial, place: Place, address: str, host: str) -> None:
        self._trial, self._place, self._address, self._host = trial, place, address, host
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        try:
            self._port, self._token, _ = self._stack.enter_context(
                answering(self._trial, self._place, self._address, self._host)
            )
            here = Place(self._address, self._place.namespace)
            reflector = self._stack.enter_context(FarEnd("reflect", here, "--peer", self._host))
        except BaseException:
            self._stack.close()
            raise
        self._stamp_port = reflector.port
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def at(self) -> dict[str, int]:
        """Where it answers: ports of transactions and of STAMP, and the token of transactions."""
        return {"port": self._port, "token": self._token, "stamp_port": self._stamp_port}
