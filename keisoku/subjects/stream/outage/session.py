"""The measuring end's way to the other one: it is let in, asks for the report, and is let in again after a restart, or
after one of the ends has got another address.

It needs a connection only for that; packets go their own way (core/src/outage/near.rs).
"""

from __future__ import annotations

import json
import socket
import time
from contextlib import suppress
from typing import Any

from keisoku._core import OutageNear
from keisoku.errors import EngineError
from keisoku.ground.host.address import address_text, family
from keisoku.ground.host.two_ended.control import Control, ControlError
from keisoku.subjects.stream.outage.settings import OutageSettings

GREETING = b"keisoku-outage 1\n"
SERVER = "keisoku outage serve"
_CONNECT_S = 5.0
_AGAIN_S = 1.0
"""To be let in again, or to be told, after an interruption: for each try."""
_REPORT_TRIES = 5
_RENEW_S, _SILENT_S = 0.2, 1.0
"""To be let in again by a far end that says it does not know this one, and by one that says nothing: so often."""


class OutageSession:
    """Let in from the start, and sending. Raises EngineError with what to do if it is not let in."""

    def __init__(self, settings: OutageSettings, tcp: bool = False) -> None:
        """Over a TCP connection for each flow, or by datagrams."""
        self._settings, self._place = settings, settings.place
        self._tcp = tcp
        opened = self._open(0, _CONNECT_S)
        self.sessions = [self._begun(opened, 0)]
        """Each far end that let this one in: its address, that at which it saw this one, when, and its first slot."""
        plan = {
            "remote": self._way_to(opened),
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
        self._tried_s = time.monotonic()

    def keep_up(self, glance: dict[str, Any]) -> None:
        """Is let in again where that is necessary, by a glance of the core; to be called again and again."""
        silent = glance["now_ns"] - max(glance["heard_ns"]) >= _SILENT_S * 1e9
        since_s = time.monotonic() - self._tried_s
        if glance["unknown"] and since_s >= _RENEW_S:
            self._renew()
        elif silent and since_s >= _SILENT_S:
            # A far end at an address that it has got since is not known to answer that it does not know.
            if not self._is_known():
                self._renew()
        else:
            return
        self._tried_s = time.monotonic()

    def _renew(self) -> None:
        """Is let in, if that works, by a far end that was started again, or after one of the ends moved."""
        first = self._slot()
        try:
            opened = self._open(first, _AGAIN_S)
        except EngineError:
            return
        if not self._tcp and family(opened["remote"]) != family(self.sessions[-1]["remote"]):
            return  # sockets of datagrams have one family
        self.near.renew(int(opened["token"]), self._way_to(opened))
        self.sessions.append(self._begun(opened, first))

    def _is_known(self) -> bool:
        """Whether the far end still knows this one, and both have the same addresses, as far as it can be asked."""
        session = self.sessions[-1]
        with suppress(EngineError):
            answer = self._ask({"do": "known", "token": session["token"]}, _AGAIN_S)
            return bool(answer["known"]) and answer["remote"] == session["remote"]
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

    @staticmethod
    def _begun(opened: dict[str, Any], first: int) -> dict[str, Any]:
        return {
            "token": opened["token"],
            "remote": opened["remote"],
            "seen": opened["seen"],
            "opened_ns": time.monotonic_ns(),
            "first": first,
        }

    def _way_to(self, opened: dict[str, Any]) -> str:
        """Where packets go, as the core reads it."""
        remote, port = opened["remote"], int(opened["tcp_port" if self._tcp else "port"])
        return f"[{remote}]:{port}" if family(remote) == socket.AF_INET6 else f"{remote}:{port}"

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
