"""`keisoku outage serve`: lets clients in over TCP, answers their packets, and says afterwards what it has received.

A client needs the connection to be let in and to ask, and none while it measures. The core's end sends and receives
(core/src/outage/far.rs).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from socket import AF_INET, AF_INET6

from pyroute2 import IPRoute, NetlinkError

from keisoku._core import OutageFar
from keisoku.errors import EngineError
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.control import Control, ControlError
from keisoku.ground.host.two_ended.one_client_server import OneClientServer
from keisoku.subjects.stream.outage.session import GREETING
from keisoku.subjects.stream.outage.settings import MOST_PER_SECOND

_IDLE_S = 5.0
_ANY = ("0.0.0.0", "::")


def _addresses(place: Place) -> list[str]:
    """Those at which it is reached; all of the host's, if it is at any."""
    found = place.addresses()
    if not set(found) & set(_ANY):
        return found

    def every() -> list[str]:
        with IPRoute() as ip:
            # A socket at any IPv6 address takes IPv4, too.
            kinds = (AF_INET, AF_INET6) if ":" in found[0] else (AF_INET,)
            return [str(one.get_attr("IFA_ADDRESS")) for kind in kinds for one in ip.get_addr(family=kind)]

    try:
        every_one = place.inside(every)
    except NetlinkError:
        return []
    # A link-local one would need its interface: a client that uses one is let in and told when it comes.
    return [address for address in every_one if not address.startswith("fe80:")]


class OutageServer(OneClientServer):
    """Listens from the moment it is made; `serve` answers until `stop`. Raises EngineError if it cannot listen."""

    greeting = GREETING

    def __init__(
        self,
        place: Place,
        port: int,
        told: Callable[[str], None] = lambda _: None,
        most_per_second: int = 2 * MOST_PER_SECOND,
    ) -> None:
        super().__init__(place, port, told)
        try:
            self._far = OutageFar(place.path, self.port, most_per_second)
            for address in _addresses(place):
                self._far.listen(address)
        except OSError as error:
            super().stop()
            raise EngineError(
                f"cannot answer at {place.host} UDP port {port}: {error}; choose another --port"
            ) from error

    def stop(self) -> None:
        """Ends `serve` and all sessions; may be called from any thread, or twice."""
        super().stop()
        self._far.end()

    def _answer(self, control: Control, address: str, host: str) -> None:
        while True:
            try:
                message, _ = control.receive(_IDLE_S)
            except ControlError:
                return
            try:
                control.send(self._reply(message, address, host))
            except OSError as error:
                control.send({"error": str(error)})
            except (KeyError, TypeError, ValueError) as error:
                control.send({"error": f"does not understand ({error}); use the same keisoku at both ends"})
                return

    def _reply(self, message: dict[str, object], address: str, host: str) -> dict[str, object]:
        match message.get("do"):
            case "open":
                opened: dict[str, object] = json.loads(self._far.open(json.dumps(message["wanted"]), host, address))
                return opened
            case "report":
                record = self._far.record(int(str(message["token"])))
                return {"record": None if record is None else json.loads(record)}
            case "known":
                return {"known": self._far.record(int(str(message["token"]))) is not None}
            case "close":
                self._far.close(int(str(message["token"])))
                return {"closed": True}
            case other:
                raise ValueError(str(other))
