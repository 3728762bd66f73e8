"""Files that name real ports: what is read, and what is refused in a sentence before anything is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from keisoku.errors import PlanError
from keisoku.subjects.system.network.net_file import governed_ports, read_net
from keisoku.subjects.system.network.remote_system import RemoteSystem
from keisoku.subjects.system.opening import from_afar, open_system

FILE = """
title = "two offices"
server_line_bps = 1e9

[[client]]
name = "north"
interface = "lo"
line_bps = 1e8

[[client]]
name = "south"
interface = "lo"
address = "192.0.2.7"
line_bps = 1e8
seen = { interface = "nothing0", line_bps = 2e7 }
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "ports.toml"
    path.write_text(text)
    return path


def test_ports_are_read_with_their_places_and_rates(tmp_path: Path) -> None:
    file = read_net(write(tmp_path, FILE))
    north, south = governed_ports(file)
    assert (north.watched.name, north.place.interface, north.line_bps, north.watched.before) == (
        "north",
        "lo",
        1e8,
        None,
    )
    assert south.place.address == "192.0.2.7"
    assert (south.watched.interface, south.watched.line_bps) == ("nothing0", 2e7)
    assert south.watched.before is not None and south.watched.before.line_bps == 1e8
    system = open_system(f"net:{tmp_path / 'ports.toml'}")
    assert dict(system.ports) == {"north": 1e8, "south": 1e8} and system.facts()["system"] == "two offices"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('name = "south"', 'name = "north"', "two have the name 'north'"),
        ('interface = "nothing0"', 'interface = "lo"', "two clients are seen at lo"),
        ("192.0.2.7", "2001:db8::7", "no IPv4 address"),
        ("line_bps = 1e8\n\n", "line_bps = 0\n\n", r"client 1\.line_bps: 0 is not above 0"),
        ("line_bps = 1e8\n\n", "rate = 1\n\n", r"client 1\.rate: there is no such setting"),
        ("line_bps = 1e8\n\n", "\n\n", "lo does not say how fast it is"),
        ('interface = "lo"\nline', 'interface = "nothing1"\nline', "there is no interface nothing1"),
        ('title = "two offices"', "host = 'here'", "no host to reach by ssh"),
        ('title = "two offices"', "hosts = 'here'", "hosts: there is no such setting"),
        ("[[client]]", "[client", "not valid TOML"),
    ],
)
def test_files_that_cannot_be_are_refused_in_a_sentence(tmp_path: Path, old: str, new: str, problem: str) -> None:
    with pytest.raises(PlanError, match=problem):
        governed_ports(read_net(write(tmp_path, FILE.replace(old, new, 1))))


def test_a_port_with_the_default_route_is_refused_unless_forced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keisoku.subjects.system.network.net_file.has_default_route", lambda name: True)
    with pytest.raises(PlanError, match="lo carries the default route"):
        governed_ports(read_net(write(tmp_path, FILE)))
    assert len(governed_ports(read_net(write(tmp_path, f"force = true\n{FILE}")))) == 2


def test_a_host_makes_it_remote_and_no_client_of_the_server_may_name_a_file(tmp_path: Path) -> None:
    path = write(tmp_path, f'host = "ssh://root@192.0.2.1:22"\n{FILE}')
    system = open_system(f"net:{path}")
    assert isinstance(system, RemoteSystem)
    with pytest.raises(PlanError, match="this host's command line"):
        from_afar({"system": f"net:{path}"})
    with pytest.raises(PlanError, match=r"use net:FILE\.toml"):
        open_system("net:ports")
