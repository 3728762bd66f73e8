"""The job of Kubernetes: its image is this version's, keisoku takes its arguments, and its schema allows it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from keisoku.faces.cli.main import keisoku

ROOT = Path(__file__).parents[2]
JOB: dict[str, Any] = yaml.safe_load((ROOT / "packaging" / "kubernetes-job.yaml").read_text())
(CONTAINER,) = JOB["spec"]["template"]["spec"]["containers"]


def test_the_image_is_of_this_version() -> None:
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert CONTAINER["image"] == f"keisoku:{version}"


def test_keisoku_takes_the_arguments_and_keeps_the_run_where_the_volume_is() -> None:
    name, *arguments = CONTAINER["args"]
    command = keisoku.get_command(click.Context(keisoku), name)
    assert command is not None
    given = command.make_context(name, arguments).params
    assert str(given["out"]).startswith(CONTAINER["volumeMounts"][0]["mountPath"])
    assert given["require"]


def test_the_schema_of_kubernetes_allows_the_job() -> None:
    kubernetes_validate = pytest.importorskip("kubernetes_validate")
    kubernetes_validate.validate(JOB, kubernetes_validate.latest_version(), strict=True)
