"""Every measurement with a far end, by addresses of one link only: they lost their interface on the way."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from pyroute2 import IPRoute
from support.veth_pair import VethPair, veth_pair

from keisoku.ground.host.namespace import run_in_namespace
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.far_end import FarEnd
from keisoku.subjects.path.nat.behaviour import behaviour
from keisoku.subjects.path.nat.sockets import NatProbing
from keisoku.subjects.path.one_packet.probing.sockets import HopSockets
from keisoku.subjects.path.stamp.sender import DelaySender
from keisoku.subjects.path.stamp.settings import DelaySettings
from keisoku.subjects.path.train.probe import TrainPlan
from keisoku.subjects.path.train.session import TrainSession
from keisoku.subjects.stream.capacity import near
from keisoku.subjects.stream.capacity.pdu import Activation
from keisoku.subjects.stream.path_mtu import payload_bytes
from keisoku.subjects.stream.session import StreamSession
from keisoku.subjects.stream.transaction.near import carry_out_trial
from keisoku.subjects.stream.transaction.trial import TransactionTrial
from keisoku.subjects.stream.trial import StreamTrial

pytestmark = pytest.mark.lab


_NO_DUPLICATES_LOOKED_FOR = 0x02


@pytest.fixture(scope="module")
def pair() -> Iterator[VethPair]:
    with veth_pair() as made:
        for namespace, interface, address in ((made.near, "near", "fe80::7:1"), (made.far, "far", "fe80::7:2")):
            run_in_namespace(Path(namespace), partial(_add, interface, address))
        yield made


@pytest.fixture(scope="module")
def far(pair: VethPair) -> Place:
    """The far end as the near one writes it, with its own interface's name."""
    return Place("fe80::7:2%near", pair.near)


def _add(interface: str, address: str) -> None:
    with IPRoute() as route:
        index = route.link_lookup(ifname=interface)[0]
        route.addr("add", index=index, address=address, prefixlen=64, flags=_NO_DUPLICATES_LOOKED_FOR)


def test_probes_and_their_answers_keep_the_interface(pair: VethPair, far: Place) -> None:
    with FarEnd("reflect", Place("::", pair.far)) as reflector:
        wanted = DelaySettings(host=far.host, port=reflector.port, packets=5, interval_s=0.01, wait_s=5.0)
        assert DelaySender(far, wanted).measure()["answers"].to_pylist() == [1] * 5
    assert payload_bytes(far) == 1500 - 48
    with HopSockets(far, 33434) as hop:
        assert hop.mtu_bytes == 1500 and hop.destination == far.addresses()[0]


def test_trains_keep_the_interface(pair: VethPair, far: Place) -> None:
    with FarEnd("path", Place("::", pair.far)) as server, TrainSession(far, server.port) as session:
        for direction in ("forward", "reverse"):
            (train,) = session.run([TrainPlan("probe", direction, 200, 3)], 0.001).trains()
            assert train.complete


def test_streams_keep_the_interface(pair: VethPair, far: Place) -> None:
    with FarEnd("stream", Place("::", pair.far)) as server, StreamSession(far, server.port) as session:
        for protocol in ("tcp", "udp"):
            trial = StreamTrial(protocol=protocol, message_bytes=1000, duration_s=0.3, warm_up_s=0.1, bps=1e6)
            (row,) = session.measure(trial)
            assert not row["error"] and row["settled_bytes"]
        for kind in ("rr", "crr", "udp-rr"):
            rows, _ = carry_out_trial(session, TransactionTrial(kind=kind, duration_s=0.2), 1)
            assert rows.num_rows
        told, _ = session.control.ask({"do": "nat"})
        probing = NatProbing(session.place, session.local, session.remote, told, 10.0)
        probing.settle()
        probing.finish()
        probing.wait()
        assert session.control.ask({"do": "nat-end"})[0] == {"from_elsewhere": 0}
    found = behaviour(probing.drain())
    assert (found.translation, found.mapping, found.filtering) == ("none", "not-port", "not-port")


def test_a_test_of_capacity_keeps_the_interface(pair: VethPair, far: Place) -> None:
    with FarEnd("stream", Place("::", pair.far), "--capacity=0") as server:
        for command in (1, 2):
            found = near.measure(far, server.ports[1], Activation(command=command, duration_s=1))
            assert found.ipv6 and found.seen and not found.silent


def test_the_address_of_a_listener_may_be_of_one_link(pair: VethPair, far: Place) -> None:
    own = Place("fe80::7:2%far", pair.far)
    for service, *options in (["path"], ["reflect"], ["stream", "--capacity=0"]):
        with FarEnd(service, own, *options) as listener:
            assert all(listener.ports)
