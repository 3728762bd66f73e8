"""What dhcpcd and Kea say, and what passed, in the words of OTG: metrics and leases. Asks nobody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keisoku.faces.otg.dhcp.clients import DhcpClient
from keisoku.faces.otg.dhcp.kea import T1_PERCENT, T2_PERCENT
from keisoku.faces.otg.dhcp.servers import DhcpServer
from keisoku.ground.lab.dhcp_count import ERROR, RAPID_REPLY, RAPID_SOLICIT, REFUSED

Document = dict[str, Any]
Counts = Mapping[tuple[bool, str], int]
_SENT, _RECEIVED = True, False
CLIENT = {
    4: {
        "discovers_sent": (_SENT, "discover"),
        "offers_received": (_RECEIVED, "offer"),
        "requests_sent": (_SENT, "request"),
        "acks_received": (_RECEIVED, "ack"),
        "nacks_received": (_RECEIVED, "nak"),
        "releases_sent": (_SENT, "release"),
        "declines_sent": (_SENT, "decline"),
    },
    6: {
        "solicits_sent": (_SENT, "solicit"),
        "advertisements_received": (_RECEIVED, "advertise"),
        "advertisements_ignored": (_RECEIVED, REFUSED),
        "requests_sent": (_SENT, "request"),
        "nacks_received": (_RECEIVED, ERROR),
        "replies_received": (_RECEIVED, "reply"),
        "information_requests_sent": (_SENT, "information-request"),
        "renews_sent": (_SENT, "renew"),
        "rebinds_sent": (_SENT, "rebind"),
        "releases_sent": (_SENT, "release"),
        "reconfigures_received": (_RECEIVED, "reconfigure"),
        "rapid_commit_solicits_sent": (_SENT, RAPID_SOLICIT),
        "rapid_commit_replies_received": (_RECEIVED, RAPID_REPLY),
    },
}
"""What clients of each version count, by OTG's names."""
SERVER = {
    4: {
        "discovers_received": (_RECEIVED, "discover"),
        "offers_sent": (_SENT, "offer"),
        "requests_received": (_RECEIVED, "request"),
        "acks_sent": (_SENT, "ack"),
        "nacks_sent": (_SENT, "nak"),
        "releases_received": (_RECEIVED, "release"),
        "declines_received": (_RECEIVED, "decline"),
    },
    6: {
        "solicits_received": (_RECEIVED, "solicit"),
        "advertisements_sent": (_SENT, "advertise"),
        "requests_received": (_RECEIVED, "request"),
        "nacks_sent": (_SENT, ERROR),
        "confirms_received": (_RECEIVED, "confirm"),
        "renewals_received": (_RECEIVED, "renew"),
        "rebinds_received": (_RECEIVED, "rebind"),
        "replies_sent": (_SENT, "reply"),
        "releases_received": (_RECEIVED, "release"),
        "declines_received": (_RECEIVED, "decline"),
        "information_requests_received": (_RECEIVED, "information-request"),
        "relay_forwards_received": (_RECEIVED, "relay-forward"),
        "relay_replies_sent": (_SENT, "relay-reply"),
        "reconfigures_sent": (_SENT, "reconfigure"),
    },
}
"""What servers of each version count."""
_RELAY_PARTS = {4: {1: "circuit_id", 2: "remote_id"}, 6: {18: "interface_id", 37: "remote_id"}}
"""What a relay adds to messages (RFC 3046; RFC 8415, §21.18; RFC 4649)."""


@dataclass(frozen=True)
class Lease:
    """An address that a client has."""

    ip: str
    prefix: int
    router: str | None


def client_metric(client: DhcpClient, counts: Counts) -> Document:
    """A metric of a client, of what passed its interface."""
    return {"name": client.name} | {name: counts.get(key, 0) for name, key in CLIENT[client.version].items()}


def server_metric(server: DhcpServer, counts: Counts) -> Document:
    """A metric of a server, of what passed its interface."""
    found: Document = {name: counts.get(key, 0) for name, key in SERVER[server.version].items()}
    if server.version == 6:
        answered = found["advertisements_sent"] + counts.get((_SENT, RAPID_REPLY), 0)
        found["solicits_ignored"] = max(0, found["solicits_received"] - answered)
    return {"name": server.name} | found


def lease(client: DhcpClient, told: Mapping[str, str], router: str | None) -> Lease | None:
    """The address of a client, by what dhcpcd said of its lease, and the router that a DHCPv6 client heard of."""
    if client.version == 4:
        if "new_ip_address" not in told:
            return None
        routers = told.get("new_routers", "").split()
        return Lease(told["new_ip_address"], int(told.get("new_subnet_cidr", 32)), routers[0] if routers else None)
    address = next((each["address"] for each in _addresses(told)), None)
    return None if address is None else Lease(str(address), 128, router)


def interface_state(client: DhcpClient, told: Mapping[str, str], router: str | None) -> Document:
    """OTG's state of a client, with all that it has been given."""
    found: Document = {"dhcp_client_name": client.name}
    if client.version == 6:
        gateway = {} if router is None else {"gateway": router}
        return found | {
            "ia_addresses": [
                {"address": each["address"], **gateway, "lease_time": int(each["vltime"])} for each in _addresses(told)
            ],
            "iapd_addresses": [
                {"address": each["prefix"], "prefix_length": int(each["length"]), "lease_time": int(each["vltime"])}
                for each in _prefixes(told)
            ],
        }
    own = lease(client, told, router)
    if own is None:
        return found
    lease_s = int(told.get("new_dhcp_lease_time", 0))
    found |= {"ipv4_address": own.ip, "prefix_length": own.prefix, "lease_time": lease_s}
    found |= {} if own.router is None else {"gateway_address": own.router}
    # A client that does not ask for the times has those of RFC 2131, §4.4.5.
    for name, word, share in (("renew", "renewal", T1_PERCENT[4]), ("rebind", "rebinding", T2_PERCENT[4])):
        found[f"{name}_time"] = int(told.get(f"new_dhcp_{word}_time", int(lease_s * share)))
    return found


def _addresses(told: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
    for kind in ("na", "ta"):
        number = 1
        while (address := told.get(f"new_dhcp6_ia_{kind}1_ia_addr{number}")) is not None:
            yield {"address": address, "vltime": told[f"new_dhcp6_ia_{kind}1_ia_addr{number}_vltime"]}
            number += 1


def _prefixes(told: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
    number = 1
    while (prefix := told.get(f"new_dhcp6_ia_pd1_prefix{number}")) is not None:
        at = f"new_dhcp6_ia_pd1_prefix{number}"
        yield {"prefix": prefix, "length": told[f"{at}_length"], "vltime": told[f"{at}_vltime"]}
        number += 1


def leases_state(server: DhcpServer, leases: Sequence[Mapping[str, Any]]) -> Document:
    """OTG's state of a server, of Kea's account of each lease."""
    return {"dhcp_server_name": server.name, "leases": [_lease(server.version, each) for each in leases]}


def _lease(version: int, said: Mapping[str, Any]) -> Document:
    valid_s = int(said["valid-lft"])
    found: Document = {
        "address": str(said["ip-address"]),
        "valid_time": valid_s,
        "renew_time": int(valid_s * T1_PERCENT[version]),
        "rebind_time": int(valid_s * T2_PERCENT[version]),
    }
    if version == 6:
        found["preferred_time"] = int(said["preferred-lft"])
    own = said.get("duid" if version == 6 else "client-id") or said.get("hw-address", "")
    return found | {"client_id": str(own).replace(":", "")} | _relayed(version, said)


def _relayed(version: int, said: Mapping[str, Any]) -> Document:
    """What the relay said of the client."""
    extended = said.get("user-context", {}).get("ISC", {})
    if version == 4:
        told = extended.get("relay-agent-info", {})
        text = str(told.get("sub-options", "") if isinstance(told, dict) else told)
        width = 1
    else:
        relays = extended.get("relay-info", extended.get("relays", []))
        text, width = str(relays[0].get("options", "") if relays else ""), 2
    octets = bytes.fromhex(text.removeprefix("0x"))
    found, place = {}, 0
    while place + 2 * width <= len(octets):
        code = int.from_bytes(octets[place : place + width], "big")
        length = int.from_bytes(octets[place + width : place + 2 * width], "big")
        place += 2 * width
        if code in _RELAY_PARTS[version]:
            found[_RELAY_PARTS[version][code]] = octets[place : place + length].hex()
        place += length
    return found
