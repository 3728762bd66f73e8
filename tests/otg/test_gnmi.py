"""gNMI by pygnmi, a client of others: the same counters as `/monitor/metrics`, once, by poll and as a stream."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import snappi
from hypothesis import given
from hypothesis import strategies as st
from support.certificate import self_signed, token_file
from support.otg_server import set_traffic, two_ports, udp_flow, until_stopped

from keisoku.faces.otg.control.controller import Controller
from keisoku.faces.otg.leaf import Path as TreePath
from keisoku.faces.otg.leaf import Value
from keisoku.faces.otg.serving.gnmi_path import covers, meets, subtrees, tree
from keisoku.faces.otg.serving.server import Listening, Server
from keisoku.faces.otg.telemetry import PARTS

pygnmi = pytest.importorskip("pygnmi.client", reason="pygnmi is not installed")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(Listening(http_port=0, grpc_port=0, gnmi_port=0), Controller(seed=1)) as running:
        yield running


@pytest.fixture(scope="module")
def api(server: Server) -> Any:
    return snappi.api(location=server.url, transport="http")


@pytest.fixture
def gnmi(server: Server) -> Iterator[Any]:
    host, _, port = str(server.gnmi_location).rpartition(":")
    with pygnmi.gNMIclient(target=(host, port), insecure=True, skip_gnmi_connectivity=True) as client:
        yield client


@pytest.fixture
def metric(api: Any) -> Any:
    """Of a flow that has ended, tagged by what was sent and by what arrived."""
    config = two_ports()
    flow = udp_flow(config, packets=90)
    flow.packet[2].dst_port.values = [6000, 6001, 6002]
    flow.packet[2].dst_port.metric_tags.metrictag(name="port", offset=12, length=4)
    flow.egress_packet.ethernet().ipv4()[1].time_to_live.metric_tags.metrictag(name="hops")
    flow.metrics.latency.enable, flow.metrics.latency.mode = True, "cut_through"
    flow.metrics.timestamps = True
    api.set_config(config)
    set_traffic(api, "start")
    return until_stopped(api)[0]


_TAGS = (("port", "0x0"), ("hops", "0x40"))


def values(answer: Any) -> dict[str, Any]:
    """Leaves by their paths, as pygnmi reads an answer to a subscription."""
    return {each["path"]: each["val"] for each in answer["update"]["update"]}


def number(text: str) -> float:
    (found,) = struct.unpack(">f", base64.b64decode(text))
    return float(found)


def counters(metric: Any, frames: str = "pkts") -> dict[str, str]:
    return {
        "out-octets": str(metric.bytes_tx),
        "in-octets": str(metric.bytes_rx),
        f"out-{frames}": str(metric.frames_tx),
        f"in-{frames}": str(metric.frames_rx),
    }


@pytest.mark.parametrize("encoding", ["json", "json_ietf"])
def test_a_flow_has_the_counters_of_the_metrics(gnmi: Any, metric: Any, encoding: str) -> None:
    (answer,) = gnmi.get(path=["/flows/flow[name=f1]/state"], encoding=encoding)["notification"]
    (update,) = answer["update"]
    assert update["path"] == "flows/flow[name=f1]/state"
    found = {name.rpartition(":")[2]: value for name, value in update["val"].items()}
    assert all(name.startswith("open-traffic-generator-flow:") == (encoding == "json_ietf") for name in update["val"])
    assert found["counters"] == counters(metric)
    assert (found["name"], found["transmit"], number(found["loss-pct"])) == ("f1", False, 0.0)
    assert int(found["average-latency"]) == round(metric.latency.average_ns)
    assert float(found["first-timestamp"]) == metric.timestamps.first_timestamp_ns


def test_tagged_metrics_have_their_names_and_values(gnmi: Any, metric: Any) -> None:
    path = "/flows/flow[name=f1]/tagged-metrics/tagged-metric"
    (answer,) = gnmi.get(path=[path], encoding="json")["notification"]
    found = {each["val"]["name-value-pairs"]: each["val"]["state"] for each in answer["update"]}
    wanted = {
        "&".join(sorted(f"{tag.name}={tag.value.hex}" for tag in each.tags)): counters(each)
        for each in metric.tagged_metrics
    }
    assert {name: state["counters"] for name, state in found.items()} == wanted
    # IPv4's time to live is what udp_flow leaves to OTG, 64, on a device that does not route.
    assert found["hops=0x40&port=0x0"]["counters"]["in-pkts"] == "30"
    tags = {tag["tag-name"]: tag["tag-value"] for tag in found["hops=0x40&port=0x0"]["tags"]}
    assert tags == {name: {"value-type": "HEX", "value-as-hex": f"0x{at}"} for name, at in (("hops", 40), ("port", 0))}


@pytest.mark.parametrize("encoding", ["PROTO", "JSON", "JSON_IETF"])
def test_a_list_without_keys_is_json_of_what_is_around_it_or_of_each_entry(
    server: Server, metric: Any, encoding: str
) -> None:
    """OpenConfig's client (ygot) finds no entry of such a list by a path, and takes no array of them at the list's."""
    wanted = [{"tag-name": name, "tag-value": {"value-type": "HEX", "value-as-hex": at}} for name, at in _TAGS]
    flow: tuple[tuple[str, dict[str, str]], ...] = (("flows", {}), ("flow", {"name": "f1"}), ("tagged-metrics", {}))
    within = [*flow, ("tagged-metric", {"name-value-pairs": "hops=0x40&port=0x0"})]
    tags = [*within, ("state", {}), ("tags", {})]
    with grpc.insecure_channel(str(server.gnmi_location)) as channel:
        around = once(channel, flow, encoding)
        alone = once(channel, (*flow, ("tagged-metric", {}), ("state", {}), ("tags", {})), encoding)
    assert [value for path, value in around if path == within] == [{"state": {"tags": wanted}}]
    assert not [path for path, _ in around if path[: len(tags)] == tags]
    assert [value for path, value in alone if path == tags] == wanted


def once(channel: grpc.Channel, asked: Iterable[tuple[str, dict[str, str]]], encoding: str) -> list[tuple[Any, Any]]:
    """What a subscription gives as JSON, by paths; names at the top are without their module."""
    from pygnmi.spec.v080 import gnmi_pb2 as messages
    from pygnmi.spec.v080 import gnmi_pb2_grpc as service

    path = messages.Path(elem=[messages.PathElem(name=name, key=keys) for name, keys in asked])
    subscribed = messages.SubscriptionList(
        mode=messages.SubscriptionList.ONCE,
        encoding=messages.Encoding.Value(encoding),
        subscription=[messages.Subscription(path=path)],
    )
    answers = service.gNMIStub(channel).Subscribe(iter([messages.SubscribeRequest(subscribe=subscribed)]))
    found = []
    for update in (each for answer in answers for each in answer.update.update):
        if text := update.val.json_ietf_val or update.val.json_val:
            value = json.loads(text)
            if isinstance(value, dict):
                value = {name.removeprefix("open-traffic-generator-flow:"): inner for name, inner in value.items()}
            found.append(([(each.name, dict(each.key)) for each in update.path.elem], value))
    return found


def test_ports_and_all_that_is_there_by_one_subscription(gnmi: Any, api: Any, metric: Any) -> None:
    wanted = [{"path": "/ports/port/state/counters"}, {"path": "/lags"}, {"path": "/lldps"}]
    stream = gnmi.subscribe2({"subscription": wanted, "mode": "once", "encoding": "json_ietf"})
    found = values(next(stream))
    request = snappi.MetricsRequest()
    request.port.port_names = []
    ports = api.get_metrics(request).port_metrics
    assert found == {
        f"ports/port[name={port.name}]/state/counters/{name}": value
        for port in ports
        for name, value in counters(port, "frames").items()
    }
    assert next(stream) == {"sync_response": True}


def test_a_poll_reads_again(gnmi: Any, api: Any, metric: Any) -> None:
    wanted = {"subscription": [{"path": "/flows/flow[name=f1]/state/counters/out-pkts"}], "mode": "poll"}
    stream = gnmi.subscribe_poll(wanted | {"encoding": "json_ietf"})
    for _ in range(2):
        assert values(stream.get_update(30)) == {"flows/flow[name=f1]/state/counters/out-pkts": "90"}
    stream.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # of pygnmi, when it is closed
@pytest.mark.parametrize("mode", ["on_change", "sample"])
def test_a_stream_follows_traffic_until_the_flow_is_gone(gnmi: Any, api: Any, mode: str) -> None:
    config = two_ports()
    udp_flow(config, packets=50)
    api.set_config(config)
    one = {"path": "/flows/flow/state/counters/in-pkts", "mode": mode, "sample_interval": 50_000_000}
    stream = gnmi.subscribe2({"subscription": [one], "mode": "stream", "encoding": "json_ietf"})
    path = "flows/flow[name=f1]/state/counters/in-pkts"
    assert values(next(stream)) == {path: "0"}
    set_traffic(api, "start")
    until_stopped(api)
    seen = [values(next(stream))[path]]
    while seen[-1] != "50":
        seen.append(values(next(stream))[path])
    assert seen == sorted(seen, key=int)
    assert mode == "sample" or len(set(seen)) == len(seen)
    api.set_config(snappi.Config())
    while not (answer := next(stream)["update"]).get("delete"):
        pass
    assert [each["path"] for each in answer["delete"]] == [path]
    stream.close()


def test_a_path_that_nobody_has_is_an_error(gnmi: Any, metric: Any) -> None:
    with pytest.raises(Exception, match="ask for flows, ports"):
        gnmi.get(path=["/interfaces-of-another-model"])
    with pytest.raises(Exception, match="nothing is at /flows/flow\\[name=f2\\]"):
        gnmi.get(path=["/flows/flow[name=f2]"])
    with pytest.raises(Exception, match="set a configuration by OTG"):
        gnmi.set(update=[("/flows", {})])


_names = st.sampled_from(["a", "b"])
_paths = st.lists(
    st.tuples(_names, st.lists(st.tuples(st.just("k"), _names), max_size=1).map(tuple)), min_size=1, max_size=4
).map(tuple)


@given(leaf=_paths, length=st.integers(0, 4), stars=st.sets(st.integers(0, 3)))
def test_a_path_covers_what_is_below_it_also_with_wildcards(leaf: Any, length: int, stars: set[int]) -> None:
    asked = tuple(("*" if place in stars else name, keys) for place, (name, keys) in enumerate(leaf[:length]))
    assert covers(asked, leaf)
    assert covers((("...", ()), *asked[1:]), leaf)
    assert not covers((*asked, *leaf[length:], ("c", ())), leaf)
    assert not covers((*asked[:-1], ("c", ())), leaf)


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("/flows", set()),
        ("/", set(PARTS)),
        ("/*", set(PARTS)),
        ("/.../prefix", set(PARTS)),
        ("/bgp-peers/bgp-peer[name=p1]/state/session-state", {"bgp"}),
        ("/bgp-peers/bgp-peer[name=*]/unicast-ipv6-prefixes", {"prefixes"}),
        ("/isis-routers", {"isis", "lsps", "adjacencies"}),
        ("/isis-routers/isis-router[name=r]/state/counters/level2", {"isis"}),
        ("/ospfv2-routers/ospfv2-router[name=r]/state", {"ospfv2", "lsas"}),
        ("/isis-routers/isis-router[name=r]/state/link-state-database/lsp-states/lsps/tlvs", {"lsps"}),
    ],
)
def test_what_a_path_needs_is_asked_for_and_nothing_else(path: str, parts: set[str]) -> None:
    asked = tuple((each.partition("[")[0], ()) for each in path.strip("/").split("/") if each)
    assert {name for name, part in PARTS.items() if meets(asked, part)} == parts


def test_with_tls_and_tokens_only_those_who_show_one_are_answered(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path)
    tokens = token_file(tmp_path, "alice:0123456789abcdef")
    listening = Listening("127.0.0.1", 0, None, certificate, key, tokens=tokens, gnmi_port=0)
    with Server(listening, Controller(seed=1)) as server:
        host, _, port = str(server.gnmi_location).rpartition(":")
        shown = {"target": (host, port), "path_root": str(certificate), "skip_gnmi_connectivity": True}
        with pygnmi.gNMIclient(**shown, username="alice", password="0123456789abcdef") as client:
            assert client.capabilities()["gnmi_version"] == "0.8.0"
        with (
            pytest.raises(Exception, match="give a name and its token"),
            pygnmi.gNMIclient(**shown, username="alice", password="another") as client,
        ):
            client.get(path=["/flows"])
        with (
            pytest.raises(grpc.FutureTimeoutError),  # of pygnmi, whose connection without TLS is refused
            pygnmi.gNMIclient(target=(host, port), insecure=True, gnmi_timeout=1),
        ):
            pass


def test_a_tree_is_the_json_of_its_leaves() -> None:
    entry: TreePath = (("flows", ()), ("flow", (("name", "x"),)))
    leaves: dict[TreePath, Value] = {(*entry, ("name", ())): "x", (*entry, ("state", ()), ("sent", ())): 3}
    ((at, below),) = subtrees((("flows", ()),), leaves).items()
    assert at == (("flows", ()),)
    assert json.dumps(tree(below, str)) == '{"flow": [{"name": "x", "state": {"sent": "3"}}]}'
