"""The measuring end's way to the other one: it is let in, asks for the report, and is let in again after a restart.

It needs a connection only for that; packets go their own way (core/src/outage/near.rs).
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import Any

from keisoku._core import OutageNear
from keisoku.errors import EngineError
from keisoku.ground.host.address import address_text
from keisoku.ground.host.two_ended.control import Control, ControlError
from keisoku.subjects.stream.outage.settings import OutageSettings

GREETING = b"keisoku-outage 1\n"
SERVER = "keisoku outage serve"
_CONNECT_S = 5.0
_AGAIN_S = 1.0
"""To be let in again, or to be told, after an interruption: for each try."""
_REPORT_TRIES = 5


class OutageSession:
    """Let in from the start, and sending. Raises EngineError with what to do if it is not let in."""

    def __init__(self, settings: OutageSettings, tcp: bool = False) -> None:
        """Over a TCP connection for each flow, or by datagrams."""
        self._settings, self._place = settings, settings.place
        opened = self._open(0, _CONNECT_S)
        self._remote = opened["remote"]
        self.sessions: list[dict[str, Any]] = [{"token": opened["token"], "opened_ns": time.monotonic_ns(), "first": 0}]
        """Each far end that let this one in, when, and with which slot it began."""
        host, port = self._remote.partition("%")[0], int(opened["tcp_port" if tcp else "port"])
        plan = {
            "remote": f"[{self._remote}]:{port}" if ":" in host else f"{host}:{port}",
            "namespace": self._place.path,
            "flows": settings.flows,
            "interval_ns": round(settings.interval_s * 1e9),
            "quiet_ns": round((settings.silence_s + settings.interval_s) * 1e9),
            "token": opened["token"],
            "tcp": tcp,
        }
        try:
            self.near = OutageNear(json.dumps(plan))
        except OSError as error:
            raise EngineError(
                f"sockets cannot be opened: {error}; use fewer flows, or allow more by 'ulimit -n'"
            ) from error

    def renew(self) -> bool:
        """Is let in by a far end that was started again; whether that worked."""
        first = self._slot()
        try:
            opened = self._open(first, _AGAIN_S)
        except EngineError:
            return False
        self.near.renew(int(opened["token"]))
        self.sessions.append({"token": opened["token"], "opened_ns": time.monotonic_ns(), "first": first})
        return True

    def is_known(self) -> bool:
        """Whether the far end still knows this one, as far as it can be asked."""
        with suppress(EngineError):
            return bool(self._ask({"do": "known", "token": self.sessions[-1]["token"]}, _AGAIN_S)["known"])
        return True

    def far_record(self) -> dict[str, Any] | None:
        """What the far end has seen; None if it cannot be asked any more."""
        for _ in range(_REPORT_TRIES):
            with suppress(EngineError):
                answer = self._ask({"do": "report", "token": self.sessions[-1]["token"]}, _AGAIN_S)
                record: dict[str, Any] | None = answer["record"]
                return record
            time.sleep(0.2)
        return None

    def close(self) -> None:
        """Ends both ends, as far as the other one can be reached."""
        with suppress(EngineError):
            self._ask({"do": "close", "token": self.sessions[-1]["token"]}, _AGAIN_S)
        self.near.end()

    def _slot(self) -> int:
        """The slot of the far end that would be due now, had it gone on."""
        since_ns = time.monotonic_ns() - int(self.sessions[0]["opened_ns"])
        return round(since_ns * self._settings.flows / (self._settings.interval_s * 1e9))

    def _open(self, first: int, timeout_s: float) -> dict[str, Any]:
        wanted = {
            "flows": self._settings.flows,
            "interval_ns": round(self._settings.interval_s * 1e9),
            "quiet_ns": round((self._settings.silence_s + self._settings.interval_s) * 1e9),
            "first": first,
        }
        return self._ask({"do": "open", "wanted": wanted}, timeout_s)

    def _ask(self, message: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        connection = self._place.connect(self._settings.port, timeout_s, SERVER)
        control = Control(connection, f"{self._place.host} port {self._settings.port}", GREETING)
        try:
            control.greet(timeout_s)
            answer, _ = control.ask(message, timeout_s + _CONNECT_S)
            return {**answer, "remote": address_text(connection.getpeername())}
        except (KeyError, TypeError, ValueError) as error:
            raise ControlError(f"{self._place.host} does not answer as this version does: {error}") from error
        finally:
            control.close()
