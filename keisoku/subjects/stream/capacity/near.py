"""The client of a test of UDPSTP: asks a server for it, and carries out its own end."""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial

from keisoku.errors import EngineError
from keisoku.ground.host.address import family, socket_address
from keisoku.ground.host.place import Place
from keisoku.subjects.stream.capacity import pdu
from keisoku.subjects.stream.capacity.capacity_test import CapacityTest, ObservedStatus
from keisoku.subjects.stream.capacity.carry import Effort, carry_out, drops, prepare, wall_ns
from keisoku.subjects.stream.capacity.pdu import Activation, PduError, Setup, Status, kind_of
from keisoku.subjects.stream.capacity.receiving_end import ReceivingEnd
from keisoku.subjects.stream.capacity.seal import Keys, SealError, SealTimeError, Tail, sealed, verify
from keisoku.subjects.stream.capacity.sending_end import SendingEnd

SERVER = "keisoku stream serve --capacity"
_ATTEMPTS, _PATIENCE_S = 3, 1.0
_BUSY_S, _AGAIN_S = 5.0, 0.2
"""So long, and so often, a server is asked that measures already: a slow one may not have ended our own last test, or
one that we asked for and of which its answer came too late."""
_LONGEST = 2048
_MODIFIERS = {pdu.BAD_JUMBO: pdu.JUMBO, pdu.BAD_MTU: pdu.TRADITIONAL_MTU}
_REFUSALS = {
    pdu.BAD_VERSION: f"speaks another version of UDPSTP than {pdu.VERSION} (RFC 9946); use a server of that version",
    pdu.NO_KEY_HERE: "has no key; leave out --key-file, or start the server with the key",
    pdu.KEY_NEEDED: "wants the test to be signed; give --key-file",
    pdu.BAD_MODE: "signs in another way; use a server with HMAC-SHA-256 of control PDUs (mode 1)",
    pdu.BAD_DIGEST: "has another key; compare the files of --key-file, and --key-id",
    pdu.BAD_TIME: "takes the request for an old one; set the clocks of both hosts to within 5 s",
    pdu.BANDWIDTH_NEEDED: "wants to be told a bandwidth, which this client does not say; start it without its limit",
    pdu.CAPACITY_EXCEEDED: "is measuring with another client; try again later",
    pdu.BAD_CONNECTIONS: "refuses a test of one connection; use another server",
    pdu.NO_CONNECTION: "has no room for another test; try again later",
}


def measure(
    place: Place,
    port: int,
    asked: Activation,
    key: bytes | None = None,
    key_id: int = 0,
    came_to: Callable[[int], None] = lambda over_s: None,
) -> CapacityTest:
    """`came_to` is called with each whole second of the load that is over, first with 0 once the server has agreed.

    Raises EngineError if the server cannot be reached, does not answer, or refuses.
    """
    problem: OSError | None = None
    for address in _ATTEMPTS * place.addresses():
        # A socket for each attempt: late answers to an earlier one do not reach it.
        made = place.inside(partial(socket.socket, family(address), socket.SOCK_DGRAM))
        with closing(made):
            prepare(made)
            try:
                parameters = _Asking(made, place.host, (address, port), key, key_id).begun(asked)
                if parameters is not None:
                    return _carried_out(made, parameters, ":" in address, came_to)
            except ConnectionRefusedError:
                continue
            except OSError as error:
                problem = error
    if problem is not None:
        said = f"{place.host} cannot be reached at UDP port {port}: {problem.strerror}"
        raise EngineError(f"{said}; check the address, and the firewalls of both hosts") from problem
    start = f"start '{SERVER}' there"
    raise EngineError(f"{place.host} does not answer at UDP port {port}; {start}, and open UDP in its firewall")


class _Asking:
    """The set-up and the activation of one test."""

    def __init__(self, made: socket.socket, host: str, server: tuple[str, int], key: bytes | None, key_id: int) -> None:
        self._made, self._host, self._server = made, host, server
        self._shared, self._key_id = key, key_id
        self._keys: Keys | None = None

    def begun(self, asked: Activation) -> Activation | None:
        """The parameters of the test; None if an answer is missing. Raises EngineError if the server refuses."""
        modifiers, deadline_s = 0, time.monotonic() + _BUSY_S
        while (found := self._set_up(modifiers)) is not None:
            if found.response == pdu.CAPACITY_EXCEEDED and time.monotonic() <= deadline_s:
                time.sleep(_AGAIN_S)
                continue
            wanted = _MODIFIERS.get(found.response, 0)
            if not wanted or modifiers & wanted:
                break
            # Both ends must have the same option of lengths, and the server does not say which it has.
            modifiers |= wanted
        if found is None:
            return None
        if found.response != pdu.OK:
            said = _REFUSALS.get(found.response, f"refuses the test (response {found.response}); see its messages")
            raise EngineError(f"{self._host} {said}")
        self._made.connect(socket_address(self._server[0], found.port))
        self._made.send(self._sealed(asked.pack()))
        answer = self._answer(pdu.ACTIVATION)
        if answer is None:
            return None
        parameters = Activation.parse(answer)
        if parameters.response != pdu.OK:
            raise EngineError(f"{self._host} refuses the parameters of the test; use other settings or another server")
        _check(parameters, asked, self._host)
        return parameters

    def _set_up(self, modifiers: int) -> Setup | None:
        now_s = int(time.time())
        self._keys = None if self._shared is None else Keys.derive(self._shared, now_s)
        request = Setup(connections_id=1 + secrets.randbelow(0xFFFF), modifiers=modifiers)
        self._made.connect(socket_address(*self._server))
        self._made.send(self._sealed(request.pack(), now_s))
        answer = self._answer(pdu.SETUP)
        return None if answer is None else Setup.parse(answer)

    def _sealed(self, data: bytes, now_s: int | None = None) -> bytes:
        now_s = int(time.time()) if now_s is None else now_s
        return sealed(data, now_s, None if self._keys is None else self._keys.client, self._key_id)

    def _answer(self, kind: int) -> bytes | None:
        """The next PDU of that kind; others are null requests, or already of the load."""
        deadline_s = time.monotonic() + _PATIENCE_S
        while (left_s := deadline_s - time.monotonic()) > 0:
            self._made.settimeout(left_s)
            try:
                data = self._made.recv(_LONGEST)
            except TimeoutError:
                return None
            if kind_of(data) != kind:
                continue
            try:
                (Setup if kind == pdu.SETUP else Activation).parse(data)
                Tail.parse(data)
            except PduError:
                continue
            self._verify(data, kind)
            return data
        return None

    def _verify(self, data: bytes, kind: int) -> None:
        if self._keys is None:
            return
        try:
            verify(data, self._keys.server, int(time.time()))
        except SealError as error:
            # A server that has no key, or another one, cannot sign why it refuses.
            refused = Setup.parse(data).response if kind == pdu.SETUP else 0
            said = _REFUSALS.get(refused, "signs with another key; compare the files of --key-file")
            raise EngineError(f"{self._host} {said}") from error
        except SealTimeError as error:
            raise EngineError(f"{self._host} {_REFUSALS[pdu.BAD_TIME]}") from error


def _check(parameters: Activation, asked: Activation, host: str) -> None:
    """Of what a server changed, only what can be carried out."""
    possible = (
        parameters.command == asked.command
        and 5 <= parameters.feedback_ms <= 250
        and 1 <= parameters.duration_s <= 3600
        and 100 <= parameters.sub_interval_ms <= 10_000
        and parameters.rate.possible
    )
    if not possible:
        raise EngineError(f"{host} answers with parameters that RFC 9946 does not allow; use another server")


def _carried_out(
    made: socket.socket, parameters: Activation, ipv6: bool, came_to: Callable[[int], None]
) -> CapacityTest:
    came_to(0)
    effort, found = Effort(), list[ObservedStatus]()
    began_ns = time.monotonic_ns()
    end: SendingEnd | ReceivingEnd
    over_s = 0

    def learn(now_ns: int, status: Status) -> None:
        nonlocal over_s
        if (now_s := (now_ns - began_ns) // 1_000_000_000) > over_s:
            over_s = now_s
            came_to(over_s)
        found.append(
            ObservedStatus(
                at_ns=now_ns - began_ns,
                status=status,
                waited_ns=effort.waited_ns,
                missed_ns=end.missed_ns if isinstance(end, SendingEnd) else 0,
                unsent=effort.unsent,
                sent=end.sent if isinstance(end, SendingEnd) else 0,
                dropped=0 if isinstance(end, SendingEnd) else drops(made),
            )
        )

    if parameters.command == pdu.ACTIVATE_UP:
        end = SendingEnd(parameters, began_ns, wall_ns(), ipv6=ipv6, told=learn)
    else:
        end = ReceivingEnd(parameters, began_ns, wall_ns(), told=learn)
    carry_out(end, made, effort)
    return CapacityTest(parameters, found, ipv6, end.silent)
