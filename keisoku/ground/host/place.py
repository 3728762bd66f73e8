"""Where one end of a path measurement is: a host or address, in this process's network namespace or a named one.

Written HOST or HOST@NAMESPACE; the latter may be container:NAME or pod:NAMESPACE/NAME. It resolves names and opens
TCP connections there.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from keisoku.errors import EngineError, PlanError
from keisoku.ground.host.address import address_text, family, socket_address
from keisoku.ground.host.container import namespace_of
from keisoku.ground.host.namespace import FOLDER, named, run_in_namespace

_Outcome = TypeVar("_Outcome")
_BACKLOG = 8


def split_port(field: str, text: str) -> tuple[str, int]:
    """HOST:PORT or HOST:PORT@NAMESPACE as the text of a place, and the port; an IPv6 address is in square brackets.

    Raises PlanError for this field if it is not so. Whether the namespace exists is not looked at.
    """
    at, _, namespace = text.partition("@")
    host, _, port = at.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        problem = f"'{text}' is no address with a port"
        raise PlanError(field, problem, "write for example 198.51.100.1:6343, or [2001:db8::1]:6343")
    return (f"{host}@{namespace}" if namespace else host), int(port)


@dataclass(frozen=True)
class Place:
    """`namespace` is a name in /run/netns or a path; None: the namespace of this process."""

    host: str
    namespace: str | None = None

    @classmethod
    def parse(cls, text: str) -> Place:
        """Raises PlanError for a namespace or a container that does not exist."""
        host, _, namespace = text.partition("@")
        namespace = namespace_of(namespace, "host")
        place = cls(host, namespace or None)
        if namespace and not (FOLDER / namespace).exists():
            raise PlanError("host", f"there is no namespace {namespace}", f"see the names in {FOLDER}")
        return place

    @property
    def path(self) -> str | None:
        """Path of the namespace's file."""
        path = named(self.namespace)
        return None if path is None else str(path)

    def inside(self, work: Callable[[], _Outcome]) -> _Outcome:
        """Calls `work` in the namespace."""
        return run_in_namespace(named(self.namespace), work)

    def addresses(self) -> list[str]:
        """The host's addresses, the preferred one first. Raises EngineError if its name cannot be resolved."""
        try:
            found = self.inside(lambda: socket.getaddrinfo(self.host, None, type=socket.SOCK_DGRAM))
        except OSError as error:
            name, _, port = self.host.rpartition(":")
            remedy = f"give --port {port}" if port.isdigit() and ":" not in name else "give a name or an address"
            raise EngineError(f"{self.host} is not known: {error.strerror}; {remedy}") from error
        return list(dict.fromkeys(address_text(one[4]) for one in found))

    def connect(self, port: int, timeout_s: float, server: str = "keisoku path serve") -> socket.socket:
        """A TCP connection to the first address of the host at which `server` runs.

        Raises EngineError with the remedy.
        """

        def connected(address: str) -> socket.socket:
            return self.inside(lambda: socket.create_connection((address, port), timeout_s))

        *others, last = self.addresses()
        for address in others:
            with contextlib.suppress(OSError):
                return connected(address)
        start = f"start '{server}' there"
        try:
            return connected(last)
        except TimeoutError as error:
            problem = f"{self.host} does not answer at TCP port {port} within {timeout_s:g} s"
            raise EngineError(f"{problem}; {start} and open that port in its firewall") from error
        except ConnectionRefusedError as error:
            raise EngineError(f"{self.host} refuses TCP port {port}; {start}") from error
        except OSError as error:
            raise EngineError(f"{self.host} cannot be reached at TCP port {port}: {error.strerror}; {start}") from error

    def listen(self, port: int) -> socket.socket:
        """A listening TCP socket at this address; at any one of both versions, where the kernel has both, without one.

        Raises EngineError if this is not possible.
        """

        def opened() -> socket.socket:
            if not self.host:
                both = socket.has_dualstack_ipv6()
                kind = socket.AF_INET6 if both else socket.AF_INET
                return socket.create_server(("", port), family=kind, backlog=_BACKLOG, dualstack_ipv6=both)
            listener = socket.socket(family(self.host), socket.SOCK_STREAM)
            try:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.bind(socket_address(self.host, port))
                listener.listen(_BACKLOG)
            except OSError:
                listener.close()
                raise
            return listener

        try:
            return self.inside(opened)
        except OSError as error:
            raise EngineError(
                f"cannot listen at {self.host} port {port}: {error.strerror}; choose another address or --port"
            ) from error
