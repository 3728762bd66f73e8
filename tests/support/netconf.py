"""Datastores of the modules ietf-traffic-generator and ietf-traffic-analyzer, as a client writes them."""

from __future__ import annotations

from collections.abc import Mapping

from keisoku.faces.netconf.datastore import Datastore
from keisoku.faces.netconf.statistics import Counts

HEADER = "0200000000020200000000010800"
DATA = HEADER + "4500002E0000400040110000C6120002C6120003C0200007001A0000"
"""Ethernet, IPv4 and UDP, as in the example of RFC 2544, C.2.6.4."""
_GENERATOR = "urn:ietf:params:xml:ns:yang:ietf-traffic-generator"
_ANALYZER = "urn:ietf:params:xml:ns:yang:ietf-traffic-analyzer"
_INTERFACES = "urn:ietf:params:xml:ns:yang:ietf-interfaces"


def leaves(**values: object) -> str:
    return "".join(f"<{name.replace('_', '-')}>{value}</{name.replace('_', '-')}>" for name, value in values.items())


def generator(**values: object) -> str:
    """Frames of 64 octets, one in 125 µs on a line of 100 Mb/s, unless it says otherwise."""
    own = {"frame_size": 64, "interframe_gap": 1498, "frame_data": DATA} | values
    return leaves(**{name: value for name, value in own.items() if value is not None})


def datastore(generators: Mapping[str, str], analyzers: tuple[str, ...] = ()) -> str:
    """Interfaces with generators, and with analyzers."""
    found = ""
    for name in dict.fromkeys((*generators, *analyzers)):
        inner = f"<name>{name}</name>"
        inner += '<type xmlns:i="urn:ietf:params:xml:ns:yang:iana-if-type">i:ethernetCsmacd</type>'
        if name in generators:
            inner += f'<traffic-generator xmlns="{_GENERATOR}" xmlns:nttg="{_GENERATOR}">{generators[name]}'
            inner += "</traffic-generator>"
        if name in analyzers:
            inner += f'<traffic-analyzer xmlns="{_ANALYZER}"/>'
        found += f"<interface>{inner}</interface>"
    return f'<interfaces xmlns="{_INTERFACES}">{found}</interfaces>'


def plain(generators: Mapping[str, str], analyzers: tuple[str, ...] = ()) -> str:
    """The same as the agent gives it to the tester: without namespaces."""
    text = datastore(generators, analyzers)
    for name in (_GENERATOR, _ANALYZER, _INTERFACES):
        text = text.replace(f' xmlns="{name}"', "").replace(f' xmlns:nttg="{name}"', "")
    return f"<config>{text}</config>"


def until_sent(store: Datastore, interface: str) -> None:
    """A test's time limit ends it."""
    while store.generator(interface).transmitting:
        pass


def latencies(counts: Counts) -> tuple[int, float, float, float]:
    """Samples, least, most and mean in ns."""
    assert counts.latencies is not None
    found = counts.latencies
    return found.samples, found.least, found.most, found.total / found.samples
