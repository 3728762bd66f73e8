"""Findings about the ports of this host: what each can measure, and which of its settings would distort that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keisoku.errors import PlanError
from keisoku.ground.host import ethtool
from keisoku.ground.host.checkup.finding import Finding, Mend
from keisoku.ground.host.veth import far_end
from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.device.testbed.host_port import PortAddress
from keisoku.subjects.device.testbed.host_port_list import HostPort
from keisoku.subjects.device.testbed.host_ports import wired_ports

_MERGING = {"GRO": "gro", phrase("TCP segmentation"): "tso", phrase("generic segmentation"): "gso"}
"""Offloads that merge or split segments of TCP, with their names in ethtool."""
_WHY = {
    "xdp": phrase("the driver supports native XDP, where a program's timestamp is nearest to the wire"),
    "afxdp": phrase("the driver supports native XDP"),
    "packet": phrase("the driver has no native XDP"),
}
_GATHERING_US = 1
"""An interrupt that waits for longer is worth a word."""


def port_findings(ports: Sequence[HostPort]) -> list[Finding]:
    """Of Ethernet interfaces of this namespace; of those that take no device together, in one."""
    found = [finding for port in ports if port.takes_a_device for finding in _of(port)]
    others = [port.name for port in ports if not port.takes_a_device]
    if others:
        said = phrase("no device can be connected: nothing is at the other end")
        found.append(Finding(", ".join(others), "note", said))
    return found


def _of(port: HostPort) -> Iterator[Finding]:
    if port.default_route:
        said = phrase("it carries the default route: keisoku refuses to send test frames there without --force")
        yield Finding(port.name, "note", said, phrase("use another port, or leave this machine's own connection alone"))
    yield from _engine(port)
    yield from _line(port)
    yield from _settings(port)


def _engine(port: HostPort) -> Iterator[Finding]:
    driver = phrase("driver {driver}", driver=port.driver or phrase("unknown"))
    try:
        engine = next(iter(wired_ports(PortAddress(None, port.name), port, True)))
    except PlanError as error:
        yield Finding(
            port.name,
            "problem",
            phrase("{driver}: no engine can use it: {problem}", driver=driver, problem=error.problem),
            error.remedy,
        )
        return
    xdp = (
        phrase("the kernel does not say what it offers to XDP")
        if port.xdp is None
        else join_texts(", ", port.xdp) or phrase("no native XDP")
    )
    queues = ethtool.receive_queues(port.name)
    said = join_texts("", [driver, " (", xdp, "), ", _queues(queues)])
    proposed = phrase(
        "engine {engine} is expected, because {why}; nothing was sent: each run decides by a self-test of a second",
        engine=engine,
        why=_WHY[engine],
    )
    if engine == "xdp" and (found := _without_polling(port, said)):
        yield found
    else:
        yield Finding(port.name, "good", join_texts(": ", [said, proposed]))
    stamps = port.stamps.text()
    if "hardware" in stamps:
        yield Finding(port.name, "good", phrase("stamps: {stamps}", stamps=stamps))
    else:
        said = phrase(
            "stamps: {stamps}; latencies include this machine's own part, which 'keisoku calibrate' measures",
            stamps=stamps,
        )
        yield Finding(port.name, "note", said)


def _without_polling(port: HostPort, about: str) -> Finding | None:
    """A veth drops XDP frames whose other end does not poll, which GRO or an XDP program there makes it do. A tester's
    own port at that end has one."""
    if port.driver != "veth" or port.xdp is None or "transmit" in port.xdp:
        return None
    end = far_end(port.name)
    if end is not None and end.namespace is None and not end.enslaved:
        return None
    where = phrase("its other end") if end is None else phrase("its other end, {name},", name=end.name)
    text = phrase(
        "the engine xdp cannot send here, and 'keisoku cost' measures nothing, until {where} has GRO or an XDP program",
        where=where,
    )
    remedy = (
        phrase("switch GRO on at the other end, by ethtool -K")
        if end is None
        else end.command("ethtool", "-K", end.name, "gro", "on")
    )
    return Finding(port.name, "note", join_texts(": ", [about, text]), remedy)


def _line(port: HostPort) -> Iterator[Finding]:
    if not port.up:
        yield Finding(port.name, "note", phrase("it is down"), f"sudo ip link set {port.name} up")
    elif not port.carrier:
        yield Finding(
            port.name,
            "note",
            phrase("it has no carrier"),
            phrase("plug in the cable, or start what is at its other end"),
        )
    if port.half_duplex:
        remedy = f"sudo ethtool -s {port.name} duplex full, at both ends"
        yield Finding(port.name, "problem", phrase("its line is half duplex: frames wait for each other"), remedy)
    if port.speed_mbps is None and port.carrier:
        yield Finding(
            port.name, "note", phrase("its line rate is not known: loads cannot be given as a percentage of it")
        )


def _settings(port: HostPort) -> Iterator[Finding]:
    if ethtool.pauses(port.name):
        said = phrase("pause frames are on: a device that is too slow stops the tester instead of losing frames")
        yield Finding(
            port.name,
            "problem",
            said,
            f"sudo ethtool -A {port.name} autoneg off rx off tx off",
            _mend(port, Mend("pause", 0, phrase("pause frames off"))),
        )
    if ethtool.saves_energy(port.name):
        said = phrase("Energy-Efficient Ethernet is on: the first frame after a pause waits until the line wakes up")
        mend = _mend(port, Mend("energy", 0, phrase("Energy-Efficient Ethernet off")))
        yield Finding(port.name, "problem", said, f"sudo ethtool --set-eee {port.name} eee off", mend)
    gathers_us = ethtool.gathers_us(port.name) or 0
    if gathers_us > _GATHERING_US:
        said = phrase(
            "the card keeps interrupts back for up to {gathers_us} µs: latencies at low loads contain that",
            gathers_us=gathers_us,
        )
        yield Finding(port.name, "note", said, f"sudo ethtool -C {port.name} adaptive-rx off rx-usecs 0")
    yield from _offloads(port)


def _offloads(port: HostPort) -> Iterator[Finding]:
    if ethtool.joins_segments(port.name):
        said = phrase(
            "the card joins TCP segments (LRO): a program for XDP may be refused, and frames would not be the device's"
        )
        yield Finding(port.name, "problem", said, f"sudo ethtool -K {port.name} lro off")
    if port.removes_tags:
        said = phrase(
            "the card takes VLAN tags out of received frames; keisoku knows them, captures of other programs may not"
        )
        yield Finding(port.name, "note", said, f"sudo ethtool -K {port.name} rxvlan off")
    merging = [name for name in _MERGING if port.offloads.get(name)]
    if merging and port.driver != "veth":  # which drops XDP frames without GRO
        said = phrase(
            "offloads are on: {merging}; they merge and split segments of TCP, UDP frames pass as they are",
            merging=join_texts(", ", merging),
        )
        off = " ".join(f"{_MERGING[name]} off" for name in merging)
        remedy = phrase("where the test frames are TCP's: sudo ethtool -K {name} {off}", name=port.name, off=off)
        yield Finding(port.name, "note", said, remedy)


def _mend(port: HostPort, wanted: Mend) -> Mend | None:
    """None for the machine's own connection, whose line some drivers reset when this changes."""
    return None if port.default_route else wanted


def _queues(count: int | None) -> str:
    if count is None:
        return phrase("an unknown number of receive queues")
    return plural("{count} receive queue", "{count} receive queues", count=count)
