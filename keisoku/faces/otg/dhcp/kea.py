"""A DHCP server in the words of Kea's configuration. Opens nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from keisoku.faces.otg.dhcp.servers import DhcpServer, Pool, ServedNetwork

T1_PERCENT, T2_PERCENT = {4: 0.5, 6: 0.5}, {4: 0.875, 6: 0.8}
"""Of a lease's time, when clients renew it and when they ask any server (RFC 2131, §4.4.5; RFC 8415, §21.4)."""
_NAME_SERVERS = {4: "domain-name-servers", 6: "dns-servers"}


def text(server: DhcpServer, kernel_name: str, hook: str) -> str:
    """What its Kea reads, at an interface of the kernel of this name; `hook` is the part that tells leases."""
    version = server.version
    networks = [_network(server, one, number, kernel_name) for number, one in enumerate(server.networks, 1)]
    several = len(networks) > 1
    whole: dict[str, Any] = {
        "interfaces-config": {"interfaces": [kernel_name], "re-detect": False},
        "lease-database": {"type": "memfile", "persist": False},
        "control-socket": {"socket-type": "unix", "socket-name": "socket"},
        "hooks-libraries": [{"library": hook}],
        "calculate-tee-times": True,
        "t1-percent": T1_PERCENT[version],
        "t2-percent": T2_PERCENT[version],
        "store-extended-info": True,
        "option-data": _options(server),
        # Of several networks at an interface Kea chooses only within a shared one.
        f"subnet{version}": [] if several else networks,
        "shared-networks": [{"name": "all", "interface": kernel_name, f"subnet{version}": networks}] if several else [],
        "loggers": [
            {"name": f"kea-dhcp{version}", "severity": "INFO", "output_options": [{"output": "stdout", "flush": True}]}
        ],
    }
    if version == 6:
        whole |= {"data-directory": ".", "server-id": {"type": "LL", "persist": False}}
    return json.dumps({f"Dhcp{version}": whole})


def _network(server: DhcpServer, one: ServedNetwork, number: int, kernel_name: str) -> dict[str, Any]:
    version = server.version
    found: dict[str, Any] = {
        "id": number,
        "subnet": one.network,
        "interface": kernel_name,
        "valid-lifetime": one.lease_s,
        "pools": [
            {"pool": f"{first} - {last}", "option-data": _pool_options(pool, version)}
            for pool in one.pools
            for first, last in pool.ranges
        ],
    }
    if version == 6:
        found |= {
            "preferred-lifetime": one.lease_s,
            "rapid-commit": server.rapid,
            "pd-pools": [_delegated(prefix) for pool in one.pools for prefix in pool.prefixes],
        }
    return found


def _delegated(prefix: str) -> dict[str, Any]:
    address, _, length = prefix.partition("/")
    return {"prefix": address, "prefix-len": int(length), "delegated-len": int(length)}


def _pool_options(pool: Pool, version: int) -> list[dict[str, str]]:
    found = _option(_NAME_SERVERS[version], pool.name_servers)
    return found + ([] if pool.router is None else _option("routers", [pool.router]))


def _options(server: DhcpServer) -> list[dict[str, str]]:
    found = _option(_NAME_SERVERS[server.version], server.name_servers)
    found += [] if server.boot_file is None else _option("bootfile-url", [server.boot_file.replace(",", "\\,")])
    parameters = [each.encode() for each in server.boot_parameters]
    return found + ([_packed("bootfile-param", parameters)] if parameters else [])


def _packed(name: str, texts: Sequence[bytes]) -> dict[str, Any]:
    """Each text after its length (RFC 5970, §3.2)."""
    data = b"".join(len(each).to_bytes(2, "big") + each for each in texts)
    return {"name": name, "csv-format": False, "data": data.hex()}


def _option(name: str, values: Sequence[str]) -> list[dict[str, str]]:
    return [{"name": name, "data": ", ".join(values)}] if values else []
