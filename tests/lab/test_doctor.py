"""`keisoku doctor` says what stands in the way of measurements on this host's ports, and how to mend it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from keisoku.ground.host import governor, interface, undo
from keisoku.ground.host.checkup.finding import Finding, Mend
from keisoku.ground.host.checkup.mending import mend
from keisoku.ground.host.ethtool import PAUSE_NEGOTIATED, PAUSE_SENT

pytestmark = pytest.mark.lab

NEAR, FAR, AWAY = f"doc-a{os.getpid()}", f"doc-b{os.getpid()}", f"doc-far{os.getpid()}"
"""Interfaces of the host itself and a namespace: another process of these tests may be here, too."""


def doctor(*before: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*before, sys.executable, "-m", "keisoku", "doctor"], capture_output=True, text=True, check=False
    )


def part(text: str, about: str) -> str:
    """What was said about the host or an interface: the indented lines under its name."""
    lines = text.splitlines()
    begin = lines.index(about) + 1
    end = next((place for place in range(begin, len(lines)) if not lines[place].startswith(" ")), len(lines))
    return "\n".join(lines[begin:end])


@pytest.fixture
def veth() -> Iterator[tuple[str, str]]:
    subprocess.run(["ip", "link", "add", NEAR, "type", "veth", "peer", "name", FAR], check=True)
    yield NEAR, FAR
    subprocess.run(["ip", "link", "del", NEAR], check=False)


def test_a_port_that_is_down_is_named_with_the_command_that_mends_it(veth: tuple[str, str]) -> None:
    said = doctor()
    assert "· it is down" in part(said.stdout, NEAR)
    assert f"sudo ip link set {NEAR} up" in part(said.stdout, NEAR)


def test_a_port_without_a_carrier_is_named_and_one_that_has_it_is_not(veth: tuple[str, str]) -> None:
    subprocess.run(["ip", "link", "set", NEAR, "up"], check=True)
    assert "no carrier" in part(doctor().stdout, NEAR)
    subprocess.run(["ip", "link", "set", FAR, "up"], check=True)
    seen = part(doctor().stdout, NEAR)
    assert "✗" not in seen
    assert "engine xdp is expected, because the driver supports native XDP" in seen
    assert "driver veth" in seen


def test_the_other_end_of_a_veth_that_does_not_poll_is_named_with_the_command_that_makes_it(
    veth: tuple[str, str],
) -> None:
    """`keisoku cost` once refused a bridge of the user's own in a namespace, and doctor expected the engine xdp."""
    home = ["ip", "netns", "exec", AWAY]
    subprocess.run(["ip", "netns", "add", AWAY], check=True)
    try:
        subprocess.run(["ip", "link", "set", FAR, "netns", AWAY], check=True)
        subprocess.run(["ip", "link", "set", NEAR, "up"], check=True)
        subprocess.run([*home, "ip", "link", "set", FAR, "up"], check=True)
        seen = part(doctor().stdout, NEAR)
        remedy = f"sudo ip netns exec {AWAY} ethtool -K {FAR} gro on"
        assert "the engine xdp cannot send here" in seen and remedy in seen
        subprocess.run(remedy.split()[1:], check=True)
        seen = part(doctor().stdout, NEAR)
        assert "engine xdp is expected" in seen and "cannot send here" not in seen
    finally:
        subprocess.run(["ip", "netns", "del", AWAY], check=False)


def test_a_user_without_rights_is_told_which_are_absent() -> None:
    said = doctor(
        "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"
    )
    if "keisoku" in said.stderr and "Permission" in said.stderr:
        pytest.skip("another user may not read this tree")
    assert said.returncode == 2
    assert "CAP_NET_ADMIN, CAP_NET_RAW, CAP_PERFMON, CAP_BPF absent" in part(said.stdout, "host")


def test_a_command_runs_while_what_can_be_mended_is_and_its_exit_code_is_ours() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "keisoku", "doctor", "--fix", "sh", "-c", "exit 7"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 7, ended.stderr


def test_what_is_mended_is_set_back_from_the_journal(veth: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    found = PAUSE_SENT + PAUSE_NEGOTIATED
    pauses = {name: found for name in veth}  # no veth has pause frames

    def set_pauses(name: str, wanted: int) -> bool:
        pauses[name] = wanted
        return True

    monkeypatch.setattr(interface, "_LINE", {"pause": (pauses.get, set_pauses)})
    entries = mend([Finding(NEAR, "problem", "", mend=Mend("pause", 0, "")), Finding(FAR, "note", "")])
    assert pauses == {NEAR: 0, FAR: found}
    assert undo.undo(*entries) == [f"set {NEAR} back"]
    assert pauses == {NEAR: found, FAR: found}


def test_governors_that_differ_are_set_back_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {name: tmp_path / name / "cpufreq" / "scaling_governor" for name in ("cpu0", "cpu1")}
    for file, now in zip(files.values(), ("powersave", "schedutil"), strict=True):
        file.parent.mkdir(parents=True)
        file.write_text(f"{now}\n")
    monkeypatch.setattr(governor, "CPUS", tmp_path)
    entries = mend([Finding("host", "problem", "", mend=Mend("governor", "performance", ""))])
    assert [file.read_text() for file in files.values()] == ["performance", "performance"]
    assert undo.undo(*entries) == ["set the CPUs' governors back"]
    assert [file.read_text() for file in files.values()] == ["powersave", "schedutil"]


def test_what_can_be_measured_is_said_first(veth: tuple[str, str]) -> None:
    assert NEAR not in part(doctor().stdout, "what can be measured")  # the host may have other ports
    for name in veth:
        subprocess.run(["ip", "link", "set", name, "up"], check=True)
    said = part(doctor().stdout, "what can be measured")
    assert "a device between two of these ports: " in said
    assert NEAR in said and FAR in said
    assert "kinds: 'keisoku lab --kinds' lists them" in said
