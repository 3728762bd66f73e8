"""Largest datagram that a path's MTU allows, from the kernel's path MTU (ip(7), IP_MTU). It sends nothing."""

from __future__ import annotations

import socket

from keisoku.errors import EngineError
from keisoku.ground.host.address import family, socket_address
from keisoku.ground.host.place import Place

_IP_MTU, _IPV6_MTU = 14, 24
_HEADERS = {socket.AF_INET: 28, socket.AF_INET6: 48}
_ANY_PORT = 9


def payload_bytes(place: Place) -> int:
    """Of the longest UDP datagram that goes unfragmented. Raises EngineError if there is no route."""
    for address in place.addresses():
        of = family(address)

        def asked(address: str = address, of: socket.AddressFamily = of) -> int:
            with socket.socket(of, socket.SOCK_DGRAM) as probe:
                probe.connect(socket_address(address, _ANY_PORT))
                if of == socket.AF_INET6:
                    return probe.getsockopt(socket.IPPROTO_IPV6, _IPV6_MTU)
                return probe.getsockopt(socket.IPPROTO_IP, _IP_MTU)

        try:
            # A loopback's is longer than the longest datagram.
            return min(place.inside(asked), 65_535) - _HEADERS[of]
        except OSError as error:
            problem = error
    raise EngineError(f"there is no route to {place.host}: {problem.strerror}; check the routes") from problem
