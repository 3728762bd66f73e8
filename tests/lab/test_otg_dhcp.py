"""DHCP clients and servers of OTG's devices: with each other through a bridge, and with daemons of others."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.lab_passages import needs
from support.otg_bgp import protocols
from support.otg_dhcp import (
    await_states,
    client_device,
    dhcp_metrics,
    dhcp_states,
    serve_four,
    serve_six,
    server_device,
)
from support.otg_killed import KilledTester
from support.otg_server import otg_client, set_traffic, two_ports, until_stopped

from keisoku.ground.host.program import Program
from keisoku.ground.lab.tester_dhcp import DHCPCD, KEA

DNSMASQ, DHCLIENT = Program("dnsmasq", "dnsmasq-base"), Program("dhclient", "isc-dhcp-client")
pytestmark = [pytest.mark.lab, needs(DHCPCD, *KEA.values())]
FAR = f"keisoku-test-{os.getpid()}"
"""A namespace with a port p1 of the tester's, and at its other end d1, where others' daemons are."""


def both(one: str, other: str) -> Any:
    """A client and a server of each version."""
    config = two_ports(one, other)
    ethernet = client_device(config)
    ethernet.dhcpv4_interfaces.add(name="c4")
    ethernet.dhcpv6_interfaces.add(name="c6").ia_type.choice = "ianapd"
    server = server_device(config)
    serve_four(server).options.router_address = "198.18.1.1"
    serve_six(server)
    return config


def _flow(config: Any, tx: str, rx: str) -> Any:
    flow = config.flows.flow(name=f"{tx} {rx}")[-1]
    flow.tx_rx.device.tx_names, flow.tx_rx.device.rx_names = [tx], [rx]
    flow.rate.pps, flow.duration.fixed_packets.packets, flow.metrics.enable = 1000, 50, True
    return flow


def _counted(api: Any, kind: str, name: str) -> dict[str, int]:
    """What is not 0 of a metric."""
    metric = dhcp_metrics(api, kind)[name].serialize("dict")
    return {key: int(value) for key, value in metric.items() if key != "name" and int(value)}


def test_clients_and_servers_meet_through_a_bridge_and_flows_have_the_leases() -> None:
    config = both("lab:bridge#1", "lab:bridge#2")
    for ends in (("c4", "s4"), ("s4", "c4"), ("c6", "s6"), ("s6", "c6")):
        _flow(config, *ends)
    up = config.flows[0].packet.ethernet().ipv4()[-1]
    up.src.auto.choice = "dhcp"
    with otg_client() as api:
        api.set_config(config)
        assert dhcp_states(api, "dhcpv4_interfaces")["c4"].serialize("dict") == {"dhcp_client_name": "c4"}
        with pytest.raises(Exception, match="c4 has no lease"):
            set_traffic(api, "start")
        protocols(api, "start")
        four = await_states(api, "dhcpv4_interfaces", lambda found: found["c4"].ipv4_address is not None)["c4"]
        six = await_states(api, "dhcpv6_interfaces", lambda found: len(found["c6"].ia_addresses) > 0)["c6"]
        assert (four.ipv4_address, four.prefix_length, four.gateway_address) == ("198.18.1.100", 24, "198.18.1.1")
        assert (four.lease_time, four.renew_time, four.rebind_time) == (600, 300, 525)
        assert [each.address for each in six.ia_addresses] == ["2001:2::100"]
        assert [(each.address, each.prefix_length) for each in six.iapd_addresses] == [("2001:2:1::", 64)]
        (given,) = dhcp_states(api, "dhcpv4_leases")["server4"].leases
        assert (given.address, given.valid_time) == (four.ipv4_address, 600)
        leases = {lease.address: lease for lease in dhcp_states(api, "dhcpv6_leases")["server6"].leases}
        assert set(leases) == {"2001:2::100", "2001:2:1::"}
        assert {lease.preferred_time for lease in leases.values()} == {600}
        # Both ends counted the same messages, each at its own interface.
        sent, heard = _counted(api, "dhcpv4_client", "c4"), _counted(api, "dhcpv4_server", "server4")
        assert sent["acks_received"] == heard["acks_sent"] == 1
        assert sent["discovers_sent"] == heard["discovers_received"] >= 1
        assert sent["requests_sent"] == heard["requests_received"] >= 1
        sent, heard = _counted(api, "dhcpv6_client", "c6"), _counted(api, "dhcpv6_server", "server6")
        assert sent["replies_received"] == heard["replies_sent"] >= 1
        assert sent["solicits_sent"] == heard["solicits_received"] >= 1
        set_traffic(api, "start")
        assert [(metric.frames_tx, metric.frames_rx) for metric in until_stopped(api)] == [(50, 50)] * 4
        protocols(api, "stop")
        assert dhcp_states(api, "dhcpv4_interfaces")["c4"].ipv4_address is None
        assert len(dhcp_states(api, "dhcpv4_leases")["server4"].leases) == 0
        protocols(api, "start")
        await_states(api, "dhcpv4_interfaces", lambda found: found["c4"].ipv4_address is not None)


def test_rapid_commit_takes_two_messages_and_a_chosen_server_is_the_only_one() -> None:
    config = both("lab:bridge#1", "lab:bridge#2")
    client, server = config.devices[0].ethernets[0], config.devices[1].dhcp_server
    client.dhcpv6_interfaces[0].rapid_commit = server.ipv6_interfaces[0].rapid_commit = True
    client.dhcpv4_interfaces[0].choice = "server_address"
    client.dhcpv4_interfaces[0].server_address = "198.18.1.7"
    with otg_client() as api:
        api.set_config(config)
        protocols(api, "start")
        await_states(api, "dhcpv6_interfaces", lambda found: len(found["c6"].ia_addresses) > 0)
        counted = _counted(api, "dhcpv6_client", "c6")
        assert counted["rapid_commit_replies_received"] >= 1 and "requests_sent" not in counted
        while _counted(api, "dhcpv4_client", "c4").get("offers_received", 0) < 1:
            pass
        assert dhcp_states(api, "dhcpv4_interfaces")["c4"].ipv4_address is None, "the offer is of another server"


@pytest.fixture
def far(tmp_path: Path) -> Iterator[Path]:
    """The far end, and a folder for what runs there, which is ended."""
    ip = ["ip", "-n", FAR]
    subprocess.run(["ip", "netns", "add", FAR], check=True)
    try:
        words: tuple[str, ...] = "link add p1 type veth peer name d1", "link add p2 type veth peer name d2"
        words += tuple(f"link set {name} up" for name in ("p1", "p2", "d1", "d2", "lo"))
        for line in words:
            subprocess.run([*ip, *line.split()], check=True)
        yield tmp_path
    finally:
        for file in tmp_path.glob("*.pid"):
            subprocess.run(["kill", file.read_text().strip()], check=False)
        subprocess.run(["ip", "netns", "del", FAR], check=True)


def _run(*command: str) -> None:
    subprocess.run(["ip", "netns", "exec", FAR, *command], check=True, capture_output=True)


@needs(DNSMASQ)
def test_a_client_has_what_another_server_gives(far: Path) -> None:
    config = two_ports(f"packet:p1@{FAR}", f"packet:p2@{FAR}")
    ethernet = client_device(config)
    ethernet.dhcpv4_interfaces.add(name="c4")
    ethernet.dhcpv6_interfaces.add(name="c6")
    for address in ("198.18.3.1/24", "2001:2:3::1/64"):
        _run("ip", "addr", "add", address, "dev", "d1", *(["nodad"] if ":" in address else []))
    _run(
        *("dnsmasq", "--conf-file=/dev/null", "--port=0", "--interface=d1", "--bind-interfaces", "--enable-ra"),
        *("--dhcp-range=198.18.3.50,198.18.3.59,255.255.255.0,10m", "--dhcp-range=2001:2:3::50,2001:2:3::59,64,10m"),
        *(
            "--dhcp-option=option:router,198.18.3.9",
            f"--dhcp-leasefile={far / 'leases'}",
            f"--pid-file={far / 'd.pid'}",
        ),
        *("--user=root", "--dhcp-sequential-ip"),
    )
    with otg_client() as api:
        api.set_config(config)
        protocols(api, "start")
        found = await_states(api, "dhcpv4_interfaces", lambda states: states["c4"].ipv4_address is not None)["c4"]
        assert (found.ipv4_address, found.gateway_address, found.lease_time) == ("198.18.3.50", "198.18.3.9", 600)
        six = await_states(api, "dhcpv6_interfaces", lambda states: len(states["c6"].ia_addresses) > 0)["c6"]
        (given,) = six.ia_addresses
        assert given.address.startswith("2001:2:3::5") and given.lease_time == 600
        await_states(
            api, "dhcpv6_interfaces", lambda states: (states["c6"].ia_addresses[0].gateway or "").startswith("fe80::")
        )
        assert found.ipv4_address in (far / "leases").read_text()
        protocols(api, "stop")
        while found.ipv4_address in (far / "leases").read_text():  # the client gave it back
            pass


@needs(DHCLIENT)
@pytest.mark.parametrize("version", [4, 6])
def test_another_client_has_what_the_server_gives(far: Path, version: int) -> None:
    config = two_ports(f"packet:p2@{FAR}", f"packet:p1@{FAR}")
    server = server_device(config)
    serve_four(server)
    serve_six(server)
    # Its address of the link is ready when the kernel has looked for others.
    while "tentative" in subprocess.run(["ip", "-n", FAR, "addr"], capture_output=True, text=True, check=True).stdout:
        pass
    with otg_client() as api:
        api.set_config(config)
        protocols(api, "start")
        files = "-lf", str(far / "leases"), "-pf", str(far / "c.pid"), "-sf", "/bin/true"
        _run("dhclient", f"-{version}", *files, "d1")
        (lease,) = dhcp_states(api, f"dhcpv{version}_leases")[f"server{version}"].leases
        assert lease.address in (far / "leases").read_text()
        assert lease.address == {4: "198.18.1.100", 6: "2001:2::100"}[version]
        counted = _counted(api, f"dhcpv{version}_server", f"server{version}")
        offered = {4: "offers_sent", 6: "advertisements_sent"}[version]
        assert counted["requests_received"] >= 1 and counted[offered] >= 1


def test_daemons_end_with_a_killed_tester() -> None:
    killed = KilledTester(both("lab:bridge#1", "lab:bridge#2"))
    with otg_client() as api:
        api.set_config(two_ports("lab:bridge#1", "lab:bridge#2"))
        killed.await_nothing_left()
