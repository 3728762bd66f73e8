"""gNMI: the counters and states of OTG, read and subscribed to. Changes nothing; knows no metric.

Changes are found by looking five times a second, so a value that changes back in between is not seen.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import grpc
from pygnmi.spec.v080 import gnmi_pb2 as messages
from pygnmi.spec.v080 import gnmi_pb2_grpc as service

from keisoku.errors import KeisokuError
from keisoku.faces.otg import telemetry
from keisoku.faces.otg.control.access import Tokens
from keisoku.faces.otg.control.controller import Controller
from keisoku.faces.otg.leaf import Entries, Item, Names, Path, Value, float32, rfc7951
from keisoku.faces.otg.serving.gnmi_path import absolute, below, enclosing, meets, subtrees, tree
from keisoku.faces.otg.serving.grpc_listening import Certificates, listening

_log = logging.getLogger(__name__)
_STREAMS = 32
"""Most requests at a time, each of which has a thread."""
_MOST_PATHS = 128
_LOOK_S = 0.2
_SAMPLE_S = 1.0
"""Interval of samples where a client leaves it to the target."""
_LEAST_SAMPLE_S = 0.05
_NS_PER_S = 1_000_000_000


class Service(service.gNMIServicer):  # type: ignore[misc]  # generated without types
    """Maps each call to the controller's telemetry."""

    def __init__(self, controller: Controller, closing: threading.Event, tokens: Tokens | None) -> None:
        """`tokens`: what clients must show, as user and password of their metadata; None: nothing."""
        self._controller, self._closing, self._tokens = controller, closing, tokens

    def Capabilities(self, request: Any, context: grpc.ServicerContext) -> Any:
        """The models and encodings."""
        self._who(context)
        return messages.CapabilityResponse(
            supported_models=[
                messages.ModelData(
                    name=telemetry.MODULE + name, organization="OpenTrafficGenerator working group", version=version
                )
                for name, version in telemetry.MODELS.items()
            ],
            supported_encodings=[messages.JSON, messages.JSON_IETF, messages.PROTO],
            gNMI_version="0.8.0",
        )

    def Get(self, request: Any, context: grpc.ServicerContext) -> Any:
        """The values at each path: leaves with PROTO, else one JSON value for each path without wildcards."""
        self._who(context)
        write = _writer(request.encoding, context)
        if request.type == messages.GetRequest.CONFIG:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "type: the configuration is OTG's; ask for STATE")
        paths = [_path(request.prefix, each, context) for each in request.path] or [()]
        leaves = self._leaves(paths, context)
        found = []
        for path in paths:
            values = below(path, leaves) if request.encoding == messages.PROTO else subtrees(path, leaves)
            if not values and path:
                context.abort(grpc.StatusCode.NOT_FOUND, f"path: nothing is at {_text(path)}")
            updates = [messages.Update(path=_written(at), val=write(value, at)) for at, value in values.items()]
            found.append(
                messages.Notification(timestamp=time.time_ns(), prefix=_target(request.prefix), update=updates)
            )
        return messages.GetResponse(notification=found)

    def Set(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Refused: the model is state only."""
        self._who(context)
        context.abort(grpc.StatusCode.UNIMPLEMENTED, "the models have state only; set a configuration by OTG")

    def Subscribe(self, request_iterator: Iterable[Any], context: grpc.ServicerContext) -> Iterator[Any]:
        """Once, by poll, or as a stream of samples and changes."""
        self._who(context)
        requests = iter(request_iterator)
        first = next(requests, None)
        if first is None or not first.HasField("subscribe"):
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "subscribe: the first message must have it")
            return
        wanted = first.subscribe
        write = _writer(wanted.encoding, context)
        if not 0 < len(wanted.subscription) <= _MOST_PATHS:
            problem = f"subscribe.subscription: has {len(wanted.subscription)} paths; use 1 to {_MOST_PATHS}"
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, problem)
        subscribed = [_subscribed(wanted, each, context) for each in wanted.subscription]
        paths = [each.path for each in subscribed]

        def updates(asked: Path, changed: Mapping[Path, Value]) -> Iterator[Any]:
            for leaf, value in changed.items():
                if not isinstance(value, Entries):
                    yield messages.Update(path=_written(leaf), val=write(value, leaf))
                    continue
                # Clients read such a list from JSON of what is around it, or each of its entries by itself.
                at = enclosing(asked, leaf)
                for one in [{leaf[len(at) :]: value}] if at != leaf else map(Item, value):
                    yield messages.Update(path=_written(at), val=write(one, at))

        def response(updates: Iterable[Any], gone: Sequence[Path] = ()) -> Any:
            update = messages.Notification(
                timestamp=time.time_ns(),
                prefix=_target(wanted.prefix),
                update=updates,
                delete=[_written(path) for path in gone],
            )
            return messages.SubscribeResponse(update=update)

        def whole() -> Iterator[Any]:
            leaves = self._leaves(paths, context)
            now_s = time.monotonic()
            changed = [update for each in subscribed for update in updates(each.path, each.take(leaves, now_s)[0])]
            if changed and not wanted.updates_only:
                yield response(changed)
            yield messages.SubscribeResponse(sync_response=True)

        yield from whole()
        if wanted.mode == messages.SubscriptionList.POLL:
            for request in requests:
                if not request.HasField("poll"):
                    context.abort(grpc.StatusCode.INVALID_ARGUMENT, "poll: nothing else may follow a subscription")
                for each in subscribed:
                    each.forget()
                yield from whole()
        elif wanted.mode == messages.SubscriptionList.STREAM:
            while self._waits(min(each.due_s for each in subscribed), context):
                now_s = time.monotonic()
                due = [each for each in subscribed if each.due_s <= now_s]
                leaves = self._leaves([each.path for each in due], context)
                for each in due:
                    changed, gone = each.take(leaves, now_s)
                    if changed or gone:
                        yield response(updates(each.path, changed), gone)

    def _waits(self, until_s: float, context: grpc.ServicerContext) -> bool:
        """Until a time; False once nobody listens any more."""
        while context.is_active() and not self._closing.is_set():
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                return True
            self._closing.wait(min(left_s, _LOOK_S))
        return False

    def _leaves(self, paths: Sequence[Path], context: grpc.ServicerContext) -> dict[Path, Value]:
        """All leaves at one moment. FRR and gateways are only asked where their states are wanted."""
        parts = {name for name, part in telemetry.PARTS.items() if any(meets(path, part) for path in paths)}
        try:
            found = self._controller.ask(self._who(context), lambda: self._controller.telemetry(parts))
        except KeisokuError as error:
            context.abort(grpc.StatusCode.INTERNAL, str(error))
        except Exception as error:
            _log.error("gNMI failed", exc_info=error)
            context.abort(grpc.StatusCode.INTERNAL, f"{type(error).__name__}: see the server's log")
        return found.leaves()

    def _who(self, context: grpc.ServicerContext) -> str:
        """The client: by its token, or without tokens by its address."""
        if not self._tokens:
            return str(context.peer()).partition(":")[2].rpartition(":")[0]
        shown = dict(context.invocation_metadata())
        found = self._tokens.named(shown.get("username"), str(shown.get("password", "")))
        if found is None:
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "give a name and its token as user and password")
        return str(found)


@dataclass
class _Subscribed:
    """One path of a subscription, and what its client knows of it."""

    path: Path
    interval_s: float
    only_changes: bool
    heartbeat_s: float | None
    due_s: float = 0.0
    _whole_s: float = 0.0
    """When all values are to be sent again."""
    _known: dict[Path, Value] = field(default_factory=dict)

    def take(self, leaves: Mapping[Path, Value], now_s: float) -> tuple[dict[Path, Value], list[Path]]:
        """What is to be sent now, and what is no longer there."""
        own = below(self.path, leaves)
        beats = self.heartbeat_s is not None and now_s >= self._whole_s
        if not self._known or beats:
            self._whole_s = now_s + (self.heartbeat_s or 0.0)
        gone = [path for path in self._known if path not in own]
        everything = not self.only_changes or beats
        changed = {path: value for path, value in own.items() if everything or self._known.get(path) != value}
        self._known, self.due_s = own, now_s + self.interval_s
        return changed, gone

    def forget(self) -> None:
        """A poll wants all values."""
        self._known = {}


def _subscribed(wanted: Any, one: Any, context: grpc.ServicerContext) -> _Subscribed:
    path = _path(wanted.prefix, one.path, context)
    sampled = one.mode == messages.SAMPLE and wanted.mode == messages.SubscriptionList.STREAM
    interval_s = one.sample_interval / _NS_PER_S or _SAMPLE_S
    if sampled and interval_s < _LEAST_SAMPLE_S:
        problem = f"sample_interval: is {interval_s:g} s; use {_LEAST_SAMPLE_S} s or more"
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, problem)
    heartbeat_s = one.heartbeat_interval / _NS_PER_S or None
    only_changes = not sampled or one.suppress_redundant
    return _Subscribed(path, interval_s if sampled else _LOOK_S, only_changes, heartbeat_s)


class GnmiServer:
    """Listens on an address and a port (0: any free one) until it is closed. Raises EngineError if it cannot."""

    def __init__(
        self,
        controller: Controller,
        address: str,
        port: int,
        certificates: Certificates | None = None,
        tokens: Tokens | None = None,
    ) -> None:
        self._closing = threading.Event()
        self._server = grpc.server(
            ThreadPoolExecutor(_STREAMS, "keisoku-gnmi"),
            options=[("grpc.so_reuseport", 0)],
            maximum_concurrent_rpcs=_STREAMS,
        )
        service.add_gNMIServicer_to_server(Service(controller, self._closing, tokens), self._server)
        self.port, self.location = listening(self._server, address, port, certificates)

    def close(self) -> None:
        """Ends streams, and waits for the end of running calls."""
        self._closing.set()
        self._server.stop(grace=1.0).wait()


def _path(prefix: Any, path: Any, context: grpc.ServicerContext) -> Path:
    found = absolute(
        [(each.name, each.key) for each in prefix.elem],
        [(each.name, each.key) for each in path.elem],
    )
    if found and found[0][0] not in (*telemetry.ROOTS, "*", "..."):
        problem = f"path: keisoku has nothing at {_text(found[:1])}; ask for {', '.join(telemetry.ROOTS)}"
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, problem)
    return found


def _written(path: Path) -> Any:
    return messages.Path(elem=[messages.PathElem(name=name, key=dict(keys)) for name, keys in path])


def _target(prefix: Any) -> Any:
    """The prefix of an answer, whose paths begin at the root."""
    return messages.Path(target=prefix.target, origin=prefix.origin)


def _text(path: Path) -> str:
    return "".join(f"/{name}" + "".join(f"[{key}={value}]" for key, value in keys) for name, keys in path) or "/"


def _writer(encoding: int, context: grpc.ServicerContext) -> Any:
    """Writes a leaf, or the leaves below a path, as a TypedValue."""
    match encoding:
        case messages.PROTO:
            return _proto
        case messages.JSON:
            return lambda value, path: messages.TypedValue(json_val=_json(value, None))
        case messages.JSON_IETF:
            return lambda value, path: messages.TypedValue(json_ietf_val=_json(value, path))
    context.abort(grpc.StatusCode.UNIMPLEMENTED, "encoding: use JSON, JSON_IETF or PROTO")
    raise AssertionError("abort raises")


def _json(value: Value | dict[Path, Value], path: Path | None) -> bytes:
    """With a path as RFC 7951 wants it: members at the top have the name of their module."""
    found = tree(value if isinstance(value, dict) else {(): value}, rfc7951)
    if path is not None and isinstance(found, dict):
        named = {name: telemetry.module(path[0][0] if path else name) for name in found}
        found = {f"{named[name]}:{name}": inner for name, inner in found.items()}
    return json.dumps(found).encode()


def _proto(value: Value | dict[Path, Value], path: Path) -> Any:
    """A leaf as it is; lists without keys, which have no form of their own, as JSON."""
    if isinstance(value, dict | Entries | Item):
        return messages.TypedValue(json_ietf_val=_json(value, path))
    return _scalar(value)


def _scalar(value: Value) -> Any:
    match value:
        case bool():
            return messages.TypedValue(bool_val=value)
        case int():
            return messages.TypedValue(uint_val=value)
        case float():
            return messages.TypedValue(bytes_val=float32(value))
        case str():
            return messages.TypedValue(string_val=value)
        case Names():
            return messages.TypedValue(leaflist_val=messages.ScalarArray(element=[_scalar(each) for each in value]))
    assert isinstance(value, Decimal)
    return messages.TypedValue(decimal_val=messages.Decimal64(digits=int(value.scaleb(2)), precision=2))
