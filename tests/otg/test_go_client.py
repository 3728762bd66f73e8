"""A client in Go that is generated from OTG's protos and follows the pointer to every number, as gosnappi does.

Needs Go and its module proxy; skipped by name without them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import snappi
from google.protobuf.compiler.plugin_pb2 import CodeGeneratorRequest, CodeGeneratorResponse
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto
from snappi import otg_pb2
from support.otg_lag import lag_of, three_ports
from support.otg_server import set_traffic, udp_flow

from keisoku.faces.otg.control.controller import Controller
from keisoku.faces.otg.serving.server import Listening, Server

pytestmark = pytest.mark.long
_SOURCE = Path(__file__).parents[1] / "support/otg_go"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("go") is None:
        pytest.skip("needs Go")
    folder = tmp_path_factory.mktemp("go") / "client"
    shutil.copytree(_SOURCE, folder)
    generator, program = folder / "protoc-gen-go", folder / "client"
    _go(folder, "build", "-o", str(generator), "google.golang.org/protobuf/cmd/protoc-gen-go", fetches=True)
    request = CodeGeneratorRequest(file_to_generate=["otg.proto"], parameter="paths=source_relative")
    request.proto_file.append(_protos())
    done = subprocess.run([generator], input=request.SerializeToString(), stdout=subprocess.PIPE, check=True)
    (made,) = CodeGeneratorResponse.FromString(done.stdout).file
    (folder / "otg").mkdir()
    (folder / "otg" / made.name).write_text(made.content)
    _go(folder, "mod", "tidy", fetches=True)
    _go(folder, "build", "-o", str(program), ".")
    return program


def _go(folder: Path, *words: str, fetches: bool = False) -> None:
    how = os.environ | {"GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local"}
    done = subprocess.run(["go", *words], cwd=folder, env=how, capture_output=True, text=True, check=False)
    if fetches and done.returncode and "proxy" in done.stderr:
        pytest.skip(f"Go's modules cannot be fetched: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr


def _protos() -> FileDescriptorProto:
    """Of OTG's protos, the messages of metrics alone, as all of them take minutes to compile."""
    whole = FileDescriptorProto()
    otg_pb2.DESCRIPTOR.CopyToProto(whole)
    known = {message.name: message for message in whole.message_type}
    wanted: dict[str, DescriptorProto] = {}

    def take(name: str) -> None:
        if name not in wanted:
            wanted[name] = known[name]
            for message in (known[name], *known[name].nested_type):
                for field in message.field:
                    if field.type_name:
                        take(field.type_name.split(".")[2])

    take("GetMetricsRequest")
    take("GetMetricsResponse")
    found = FileDescriptorProto(name="otg.proto", package="otg", syntax="proto3", message_type=wanted.values())
    found.options.go_package = "client/otg"
    return found


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(Listening(http_port=0, grpc_port=0), Controller(seed=1)) as found:
        yield found


@pytest.mark.parametrize("transport", ["http", "grpc"])
def test_every_number_is_there_before_and_while_traffic_runs(client: Path, server: Server, transport: str) -> None:
    config = three_ports("sim:gs908e")
    lag_of(config).protocol.static.lag_id = 1
    flow = udp_flow(config, tx="lag", rx="p3", packets=3000)
    flow.size.increment.start, flow.size.increment.end, flow.size.increment.step = 64, 80, 16
    api = snappi.api(location=server.url)
    api.set_config(config)
    location = server.url if transport == "http" else str(server.grpc_location)
    with subprocess.Popen(
        [client, transport, location], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdin is not None and program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        set_traffic(api, "start")
        program.stdin.write("\n")
        program.stdin.flush()
        found = json.loads(program.stdout.readline())
    assert found["f1"]["FramesTx"] == found["lag"]["FramesTx"] == 3000
    assert found["f1"]["FramesRx"] == found["p3"]["FramesRx"] == 3000
    assert found["lag"]["MemberPortsUp"] == 2 and found["f1"]["BytesTx"] == 3000 * 72
