"""Certificates for a cluster, by Dask's own configuration. Only names of files pass here, never what is in them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from keisoku.errors import PlanError

if TYPE_CHECKING:
    from distributed import Security

_TLS = "distributed.comm.tls"
_FILES = ("ca-file", "client.cert", "client.key")


def security(address: str) -> Security:
    """What a client of the scheduler at `address` proves itself by, and knows the scheduler by.

    Raises PlanError if the address asks for TLS and the configuration names no certificates, or none that can be used.
    """
    import dask
    from distributed import Security

    found = Security()
    if not address.startswith("tls://"):
        return found
    for name in _FILES:
        file = dask.config.get(f"{_TLS}.{name}")
        if file is None and name == "client.key":  # it may be in the file of the certificate
            continue
        if file is None:
            remedy = f"name {', '.join(_FILES)} there, or in the environment: see docs/campaigns.md"
            raise PlanError("cluster", f"{address} needs {_TLS}.{name} in Dask's configuration", remedy)
        try:
            Path(file).read_bytes()
        except OSError as error:
            problem = f"{file}, which is {_TLS}.{name} of Dask's configuration, cannot be read ({error.strerror})"
            raise PlanError("cluster", problem, "name a file in PEM format") from error
    try:
        found.get_connection_args("client")
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        said = str(getattr(error, "reason", None) or error).replace("_", " ").lower()
        problem = f"the files of {_TLS} in Dask's configuration cannot be used ({said})"
        raise PlanError("cluster", problem, "name a certificate and its own key, in PEM format") from error
    return found
