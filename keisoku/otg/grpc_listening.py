"""Where a gRPC server listens: OTG's and gNMI's."""

from __future__ import annotations

import grpc

from keisoku.errors import EngineError


def listening(server: grpc.Server, address: str, port: int) -> tuple[int, str]:
    """Starts the server on an address and a port (0: any free one); the port, and both as a client writes them.

    Raises EngineError if it cannot.
    """
    host = f"[{address}]" if ":" in address else address
    try:
        found = int(server.add_insecure_port(f"{host}:{port}"))
    except RuntimeError as error:
        raise EngineError(f"cannot listen on {address} port {port}: {error}") from error
    server.start()
    return found, f"{host}:{found}"
