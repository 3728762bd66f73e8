"""Where a gRPC server listens: OTG's and gNMI's."""

from __future__ import annotations

from dataclasses import dataclass

import grpc

from keisoku.errors import EngineError


@dataclass(frozen=True)
class Certificates:
    """PEM of the server's certificate and key, and of the authorities of its clients' certificates, if any."""

    certificate: bytes
    key: bytes
    client_authority: bytes | None

    def credentials(self) -> grpc.ServerCredentials:
        """As gRPC takes them."""
        pair, needed = [(self.key, self.certificate)], self.client_authority is not None
        return grpc.ssl_server_credentials(pair, self.client_authority, needed)


def listening(
    server: grpc.Server, address: str, port: int, certificates: Certificates | None = None
) -> tuple[int, str]:
    """Starts the server on an address and a port (0: any free one); the port, and both as a client writes them.

    Raises EngineError if it cannot.
    """
    host = f"[{address}]" if ":" in address else address
    try:
        if certificates is None:
            found = int(server.add_insecure_port(f"{host}:{port}"))
        else:
            found = int(server.add_secure_port(f"{host}:{port}", certificates.credentials()))
    except RuntimeError as error:
        raise EngineError(f"grpc_port: cannot listen on {address} port {port}: {error}; choose another") from error
    server.start()
    return found, f"{host}:{found}"
