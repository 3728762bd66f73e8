"""DHCP clients and servers of a script: what daemons are told, what is refused, and what passed, without daemons."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.dhcp import BOOTP, DHCP
from scapy.layers.dhcp6 import (
    DHCP6_Advertise,
    DHCP6_RelayForward,
    DHCP6_Reply,
    DHCP6_Solicit,
    DHCP6OptIA_NA,
    DHCP6OptRapidCommit,
    DHCP6OptRelayMsg,
    DHCP6OptStatusCode,
)
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from support.otg_dhcp import client_device, serve_four, serve_six, server_device
from support.otg_server import two_ports

from keisoku.errors import EngineError, PlanError
from keisoku.faces.otg.configuration import Configuration, configuration
from keisoku.faces.otg.control.controller import Controller
from keisoku.faces.otg.dhcp import clients, kea
from keisoku.faces.otg.dhcp.clients import DhcpClient
from keisoku.faces.otg.dhcp.leased import leased
from keisoku.faces.otg.dhcp.states import Lease, interface_state, leases_state
from keisoku.faces.otg.reading.conformance import checked
from keisoku.faces.otg.telemetry import Telemetry
from keisoku.ground.lab.dhcp_count import ERROR, RAPID_REPLY, RAPID_SOLICIT, REFUSED, kinds_of

_MAC = "02:00:00:00:05:01"


def understood(config: Any) -> Configuration:
    document = json.loads(config.serialize("json"))
    return configuration(checked(document), document, lambda _: 1e9, lambda _: None)


def refused(config: Any) -> PlanError:
    with pytest.raises(PlanError) as caught:
        understood(config)
    return caught.value


def script() -> Any:
    """A client of each version at one interface, and a server of each at another."""
    config = two_ports()
    ethernet = client_device(config)
    ethernet.dhcpv4_interfaces.add(name="c4")
    ethernet.dhcpv6_interfaces.add(name="c6")
    server = server_device(config)
    serve_four(server)
    serve_six(server)
    return config


def test_dhcpcd_is_told_what_a_client_asks_for() -> None:
    config = script()
    four, six = config.devices[0].ethernets[0].dhcpv4_interfaces[0], config.devices[0].ethernets[0].dhcpv6_interfaces[0]
    four.choice, four.server_address, four.broadcast = "server_address", "198.18.1.1", True
    four.parameters_request_list.router = False
    six.rapid_commit, six.ia_type.choice = True, "ianapd"
    six.duid_type.en.enterprise_id, six.duid_type.en.vendor_id = 9, 258
    six.options_request.associated_dhcp_messages.choice = "all"
    six.options_request.request.add().choice = "name_servers"
    six.options_request.request.add().custom.type = 200
    one, other = understood(config).dhcp_clients
    told = clients.text(one, "e0").splitlines()
    assert {"whitelist 198.18.1.1", "broadcast", "nooption routers", "interface e0"} <= set(told)
    assert "nooption subnet_mask" not in told and "ia_na 1" not in told
    told = clients.text(other, "e0").splitlines()
    assert "duid 00:02:00:00:00:09:00:00:01:02" in told
    assert {"option dhcp6_rapid_commit", "option dhcp6_keisoku_23", "option dhcp6_keisoku_200"} <= set(told)
    assert told[-3:] == ["interface e0", "ia_na 1", "ia_pd 2"]


def test_kea_is_told_of_pools_by_their_networks() -> None:
    config = script()
    pools = config.devices[1].dhcp_server.ipv4_interfaces[0].address_pools
    pools[0].options.router_address, pools[0].options.primary_dns_server = "198.18.1.1", "198.18.1.9"
    pools.add(name="odd", lease_time=600, start_address="198.18.1.200", count=3, step=2)
    pools.add(name="far", lease_time=60, start_address="198.18.7.10", count=2)
    server = understood(config).dhcp_servers[0]
    told = json.loads(kea.text(server, "e0", "/hook"))["Dhcp4"]
    near, far = told["shared-networks"][0]["subnet4"]
    assert (near["subnet"], near["valid-lifetime"], far["subnet"], far["valid-lifetime"]) == (
        "198.18.1.0/24",
        600,
        "198.18.7.0/24",
        60,
    )
    assert [pool["pool"] for pool in near["pools"]] == [
        "198.18.1.100 - 198.18.1.109",
        *(f"198.18.1.{each} - 198.18.1.{each}" for each in (200, 202, 204)),
    ]
    assert near["pools"][0]["option-data"] == [
        {"name": "domain-name-servers", "data": "198.18.1.9"},
        {"name": "routers", "data": "198.18.1.1"},
    ]


def test_steps_of_ipv6_are_counted_in_networks_of_the_given_length() -> None:
    config = script()
    lease = config.devices[1].dhcp_server.ipv6_interfaces[0].leases[0].ia_type.ianapd
    lease.iana.prefix_len, lease.iana.size, lease.iana.step = 64, 3, 2
    lease.iapd.configured_prefix_len, lease.iapd.advertised_prefix_len, lease.iapd.prefix_size = 60, 56, 20
    (network,) = understood(config).dhcp_servers[1].networks
    assert [first for pool in network.pools for first, _ in pool.ranges] == [
        "2001:2::100",
        "2001:2:0:2::100",
        "2001:2:0:4::100",
    ]
    assert network.network == "2001:2::/61"
    # Sixteen steps of 60 bits are one prefix of 56.
    assert [prefix for pool in network.pools for prefix in pool.prefixes] == ["2001:2:1::/56", "2001:2:1:100::/56"]


def _two_clients(config: Any) -> None:
    config.devices[0].ethernets[0].dhcpv4_interfaces.add(name="other")


def _with_address(config: Any) -> None:
    config.devices[0].ethernets[0].ipv4_addresses.add(name="own", address="198.18.1.9", gateway="198.18.1.1")


def _two_times(config: Any) -> None:
    config.devices[1].dhcp_server.ipv4_interfaces[0].address_pools.add(start_address="198.18.1.50", lease_time=90)


def _beyond(config: Any) -> None:
    config.devices[1].dhcp_server.ipv4_interfaces[0].address_pools[0].count = 200


def _temporary(config: Any) -> None:
    config.devices[1].dhcp_server.ipv6_interfaces[0].leases[0].ia_type.iata.start_address = "2001:2::5"


def _no_address(config: Any) -> None:
    config.devices[1].dhcp_server.ipv4_interfaces[0].ipv4_name = "s6"


def _same_name(config: Any) -> None:
    config.devices[1].dhcp_server.ipv4_interfaces[0].name = "c4"


_CLIENT, _SERVER = "devices[0].ethernets[0]", "devices[1].dhcp_server"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (_two_clients, f"{_CLIENT}.dhcpv4_interfaces"),
        (_with_address, f"{_CLIENT}.dhcpv4_interfaces"),
        (_two_times, f"{_SERVER}.ipv4_interfaces[0].address_pools[1].lease_time"),
        (_beyond, f"{_SERVER}.ipv4_interfaces[0].address_pools[0].count"),
        (_temporary, f"{_SERVER}.ipv6_interfaces[0].leases[0].ia_type.iata"),
        (_no_address, f"{_SERVER}.ipv4_interfaces[0].ipv4_name"),
        (_same_name, f"{_SERVER}.ipv4_interfaces[0].name"),
    ],
)
def test_what_the_daemons_cannot_do_is_refused_with_its_path(change: Any, field: str) -> None:
    config = script()
    change(config)
    assert refused(config).field == field


def test_simulated_ports_are_refused() -> None:
    controller = Controller()
    try:
        with pytest.raises(PlanError, match=r"dhcpv6_interfaces\[0\].*DHCP is spoken at interfaces"):
            controller.set_config(json.loads(script().serialize("json")))
    finally:
        controller.close()


def _flow(config: Any, tx: str, rx: str) -> Any:
    flow = config.flows.flow(name="f")[-1]
    flow.tx_rx.device.tx_names, flow.tx_rx.device.rx_names = [tx], [rx]
    return flow


def _same(lease: Lease, _: DhcpClient) -> Lease:
    return lease


def test_a_flow_has_the_address_that_its_client_has_when_it_starts() -> None:
    config = script()
    _flow(config, "c4", "s4")
    (flow,) = understood(config).flows
    with pytest.raises(EngineError, match="c4 has no lease"):
        leased(flow, lambda _: None)
    for lease, gateway, why in (
        (Lease("198.18.1.105", 24, "198.18.1.254"), "198.18.1.1", "it is in the network"),
        (Lease("198.18.9.105", 24, "198.18.9.254"), "198.18.9.254", "the router leads there"),
        (Lease("198.18.9.105", 24, None), "198.18.1.1", "there is no router"),
    ):
        ((transmit, receive),) = leased(flow, partial(_same, lease)).ways
        assert (transmit.ips, receive.ips) == ((lease.ip,), ("198.18.1.1",))
        assert transmit.address is not None and transmit.address.gateway == gateway, why


def test_addresses_of_dhcp_need_a_client_of_that_version() -> None:
    config = script()
    flow = _flow(config, "s4", "c6")
    flow.packet.ethernet().ipv4()[-1].dst.auto.choice = "dhcp"
    assert refused(config).field == "flows[0].packet[1].ipv4.dst"
    flow.tx_rx.device.rx_names = ["c4"]
    ((_, receive),) = understood(config).flows[0].ways
    assert receive.client is not None and receive.client.name == "c4"


def _four(kind: str, mac: str = _MAC) -> bytes:
    message = BOOTP(chaddr=bytes.fromhex(mac.replace(":", ""))) / DHCP(options=[("message-type", kind), "end"])
    return bytes(Ether() / IP(src="0.0.0.0", dst="255.255.255.255") / UDP(sport=68, dport=67) / message)


def _six(*layers: Any) -> bytes:
    frame = Ether() / IPv6(src="fe80::1", dst="ff02::1:2") / UDP(sport=546, dport=547)
    for layer in layers:
        frame /= layer
    return bytes(frame)


@pytest.mark.parametrize(
    ("frame", "found"),
    [
        *((_four(kind), (4, [kind])) for kind in ("discover", "offer", "request", "decline", "ack", "nak", "release")),
        (_four("offer", "02:00:00:00:05:02"), (4, [])),
        (_six(DHCP6_Solicit(), DHCP6OptRapidCommit()), (6, ["solicit", RAPID_SOLICIT])),
        (_six(DHCP6_Reply(), DHCP6OptRapidCommit()), (6, ["reply", RAPID_REPLY])),
        (_six(DHCP6_Reply(), DHCP6OptStatusCode(statuscode=3)), (6, ["reply", ERROR])),
        (_six(DHCP6_Reply(), DHCP6OptStatusCode(statuscode=0)), (6, ["reply"])),
        (
            _six(DHCP6_Advertise(), DHCP6OptIA_NA(ianaopts=[DHCP6OptStatusCode(statuscode=2)])),
            (6, ["advertise", REFUSED]),
        ),
        (
            _six(DHCP6_RelayForward(), DHCP6OptRelayMsg(message=DHCP6_Solicit())),
            (6, ["relay-forward", "solicit"]),
        ),
    ],
)
def test_messages_are_known_by_what_is_in_them(frame: bytes, found: tuple[int, list[str]]) -> None:
    assert kinds_of(frame, bytes.fromhex(_MAC.replace(":", ""))) == found


@given(st.binary(max_size=400), st.sampled_from([b"\x08\x00", b"\x86\xdd"]))
def test_damaged_messages_are_counted_as_none_or_as_they_are(rest: bytes, kind: bytes) -> None:
    version, found = kinds_of(bytes(12) + kind + rest)
    assert version == (6 if kind == b"\x86\xdd" else 4) and all(isinstance(each, str) for each in found)


def test_states_are_in_the_words_of_otg_and_of_its_models() -> None:
    one, other = understood(script()).dhcp_clients
    told = {"new_ip_address": "198.18.1.100", "new_subnet_cidr": "24", "new_dhcp_lease_time": "600"}
    told |= {"new_routers": "198.18.1.1 198.18.1.2"}
    four = interface_state(one, told, None)
    assert four == {
        "dhcp_client_name": "c4",
        "ipv4_address": "198.18.1.100",
        "prefix_length": 24,
        "gateway_address": "198.18.1.1",
        "lease_time": 600,
        "renew_time": 300,
        "rebind_time": 525,
    }
    told = {
        f"new_dhcp6_ia_{kind}": value
        for kind, value in (("na1_ia_addr1", "2001:2::100"), ("pd1_prefix1", "2001:2:1::"))
    }
    told |= {"new_dhcp6_ia_na1_ia_addr1_vltime": "600", "new_dhcp6_ia_pd1_prefix1_vltime": "500"}
    six = interface_state(other, told | {"new_dhcp6_ia_pd1_prefix1_length": "64"}, "fe80::9")
    assert six["ia_addresses"] == [{"address": "2001:2::100", "gateway": "fe80::9", "lease_time": 600}]
    assert six["iapd_addresses"] == [{"address": "2001:2:1::", "prefix_length": 64, "lease_time": 500}]
    said = {"ip-address": "198.18.1.100", "valid-lft": 600, "client-id": "01:02:00", "hw-address": _MAC}
    relayed = {"user-context": {"ISC": {"relay-agent-info": {"sub-options": "0x0102AABB0201CC"}}}}
    leases = leases_state(understood(script()).dhcp_servers[0], [said | relayed])
    assert leases["leases"] == [
        {"address": "198.18.1.100", "valid_time": 600, "renew_time": 300, "rebind_time": 525, "client_id": "010200"}
        | {"circuit_id": "aabb", "remote_id": "cc"}
    ]
    found = Telemetry(
        protocols={"dhcpv4_interfaces": [four], "dhcpv6_interfaces": [six], "dhcpv4_leases": [leases]}
        | {"dhcpv4_client": [{"name": "c4", "discovers_sent": 2}]}
    ).leaves()
    leaves = {"/".join(name for name, _ in path): value for path, value in found.items()}
    assert leaves["dhcpv4-clients/dhcpv4-client/state/counters/discovers-sent"] == 2
    assert leaves["dhcpv4-clients/dhcpv4-client/state/interface/gateway_address"] == "198.18.1.1"
    assert leaves["dhcpv4-servers/dhcpv4-server/state/leases/leases-states/hosts/state/valid-time"] == 600
    assert leaves["dhcpv6-clients/dhcpv6-client/state/interface/iapd-addresses/iapd-address"] == (
        {"address": "2001:2:1::", "prefix-length": 64, "lease-time": 500},
    )
