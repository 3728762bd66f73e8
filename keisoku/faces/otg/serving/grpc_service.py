"""OTG over gRPC: the same documents as over HTTP, in the messages of snappi's own protocol file."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import grpc
from google.protobuf import json_format
from snappi import otg_pb2 as messages
from snappi import otg_pb2_grpc as service

from keisoku.errors import KeisokuError, Occupied
from keisoku.faces.otg.control.controller import Controller, Document
from keisoku.faces.otg.serving.grpc_listening import listening
from keisoku.faces.service.body import MOST_BODY_BYTES

_log = logging.getLogger(__name__)
_THREADS = 8


class Service(service.OpenapiServicer):  # type: ignore[misc]  # generated without types
    """Maps each call to one of the controller. Calls that are missing here return UNIMPLEMENTED."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    def _ask(self, context: grpc.ServicerContext, call: Callable[..., Document]) -> Callable[..., Document]:
        """A call of the controller for the client's address without its port, as over HTTP."""
        peer = str(context.peer())
        who = peer.partition(":")[2].rpartition(":")[0]
        program = dict(context.invocation_metadata()).get("user-agent")
        return partial(self._controller.ask, who, call, changes=True, connection=peer, program=program)

    def SetConfig(self, request: Any, context: grpc.ServicerContext) -> Any:
        """OTG's set_config."""
        call = self._ask(context, self._controller.set_config)
        return _answer(context, lambda: messages.SetConfigResponse(), "warning", call, request.config)

    def streamSetConfig(self, request_iterator: Iterable[Any], context: grpc.ServicerContext) -> Any:
        """The same in pieces, for answers that are longer than a message."""
        whole = bytearray()
        for part in request_iterator:
            whole += part.datum
            if len(whole) > MOST_BODY_BYTES:
                _fail(
                    context,
                    grpc.StatusCode.RESOURCE_EXHAUSTED,
                    400,
                    f"a configuration may have at most {MOST_BODY_BYTES >> 20} MiB",
                )
        try:
            config = messages.Config.FromString(bytes(whole))
        except Exception as error:  # protobuf's DecodeError, of any implementation
            _fail(context, grpc.StatusCode.INVALID_ARGUMENT, 400, f"no configuration: {error}")
        call = self._ask(context, self._controller.set_config)
        return _answer(context, lambda: messages.SetConfigResponse(), "warning", call, config)

    def GetConfig(self, request: Any, context: grpc.ServicerContext) -> Any:
        """OTG's get_config."""
        return _answer(context, lambda: messages.GetConfigResponse(), "config", self._controller.get_config)

    def UpdateConfig(self, request: Any, context: grpc.ServicerContext) -> Any:
        """OTG's update_config."""
        call = self._ask(context, self._controller.update_config)
        return _answer(context, lambda: messages.UpdateConfigResponse(), "warning", call, request.config_update)

    def AppendConfig(self, request: Any, context: grpc.ServicerContext) -> Any:
        """OTG's append_config."""
        call = self._ask(context, self._controller.append_config)
        return _answer(context, lambda: messages.AppendConfigResponse(), "warning", call, request.config_append)

    def DeleteConfig(self, request: Any, context: grpc.ServicerContext) -> Any:
        """OTG's delete_config."""
        call = self._ask(context, self._controller.delete_config)
        return _answer(context, lambda: messages.DeleteConfigResponse(), "warning", call, request.config_delete)

    def SetControlState(self, request: Any, context: grpc.ServicerContext) -> Any:
        """OTG's set_control_state."""
        call = self._ask(context, self._controller.set_control_state)
        return _answer(context, lambda: messages.SetControlStateResponse(), "warning", call, request.control_state)

    def GetMetrics(self, request: Any, context: grpc.ServicerContext) -> Any:
        """OTG's get_metrics."""
        call = self._controller.get_metrics
        return _answer(
            context, lambda: messages.GetMetricsResponse(), "metrics_response", call, request.metrics_request
        )

    def GetStates(self, request: Any, context: grpc.ServicerContext) -> Any:
        """OTG's get_states."""
        call = self._controller.get_states
        return _answer(context, lambda: messages.GetStatesResponse(), "states_response", call, request.states_request)

    def GetCapture(self, request: Any, context: grpc.ServicerContext) -> Any:
        """OTG's get_capture."""
        document = json_format.MessageToDict(request.capture_request, preserving_proto_field_name=True)
        try:
            return messages.GetCaptureResponse(response_bytes=self._controller.get_capture(document))
        except KeisokuError as error:
            return _fail(context, grpc.StatusCode.INVALID_ARGUMENT, 400, str(error), "validation")

    def GetVersion(self, request: Any, context: grpc.ServicerContext) -> Any:
        """OTG's get_version."""
        return _answer(context, lambda: messages.GetVersionResponse(), "version", self._controller.get_version)


class GrpcServer:
    """Listens on an address and a port (0: any free one) until it is closed. Raises EngineError if it cannot."""

    def __init__(self, controller: Controller, address: str, port: int) -> None:
        options = [("grpc.max_receive_message_length", MOST_BODY_BYTES), ("grpc.so_reuseport", 0)]
        self._server = grpc.server(ThreadPoolExecutor(_THREADS, "keisoku-grpc"), options=options)
        service.add_OpenapiServicer_to_server(Service(controller), self._server)
        self.port, self.location = listening(self._server, address, port)

    def close(self) -> None:
        """Waits for the end of running calls."""
        self._server.stop(grace=1.0).wait()


def _answer(
    context: grpc.ServicerContext,
    make: Callable[[], Any],
    field: str,
    call: Callable[..., Document],
    *arguments: Any,
) -> Any:
    documents = [json_format.MessageToDict(each, preserving_proto_field_name=True) for each in arguments]
    try:
        found = call(*documents)
        response = make()
        inner = getattr(response, field)
        inner.SetInParent()
        json_format.ParseDict(found, inner)
        return response
    except Occupied as error:
        return _fail(context, grpc.StatusCode.FAILED_PRECONDITION, 409, str(error), "validation")
    except KeisokuError as error:
        return _fail(context, grpc.StatusCode.INVALID_ARGUMENT, 400, str(error), "validation")
    except Exception as error:
        _log.error("%s failed", field, exc_info=error)
        return _fail(context, grpc.StatusCode.INTERNAL, 500, f"{type(error).__name__}: see the server's log")


def _fail(context: grpc.ServicerContext, status: Any, code: int, problem: str, kind: str = "internal") -> Any:
    """OTG's Error as JSON in the details of the status. Raises the exception that ends the call."""
    context.abort(status, json.dumps({"code": code, "kind": kind, "errors": [problem]}))
