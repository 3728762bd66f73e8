"""Schemathesis against both documents of the server, in short; `python tests/support/otg_fuzz.py` is the long form."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import otg_fuzz
from support.otg_document import document
from support.otg_fuzz import OTG_CHECKS, OWN_CHECKS, answers_still, fuzz, own_document, requests_of, some_run

from keisoku.faces.otg.control.controller import Controller
from keisoku.faces.otg.serving.server import Listening, Server
from keisoku.faces.service.openapi import openapi


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    runs = tmp_path_factory.mktemp("runs")
    with Server(Listening(http_port=0, grpc_port=None), Controller(runs=Path(runs))) as running:
        yield running


def test_whatever_otg_allows_gets_an_answer(server: Server) -> None:
    answers = fuzz(server, requests_of(document()), OTG_CHECKS, examples=5)
    assert {200, 400} <= answers.keys() and max(answers) < 500
    assert answers_still(server.url)


def test_our_own_paths_answer_as_their_document_says(server: Server) -> None:
    run = some_run(server)
    answers = fuzz(server, requests_of(own_document(run)), OWN_CHECKS, examples=16)
    answers += fuzz(server, requests_of(openapi()), OWN_CHECKS, examples=3)
    assert {200, 400, 404} <= answers.keys() and max(answers) < 500
    assert answers[201] + answers[409] > 0  # started, or the ports were in use by one that was
    assert answers_still(server.url)


def test_the_long_form_starts_as_its_text_says() -> None:
    """It found none of its own modules, and `make test-faults` ended there."""
    program = Path(otg_fuzz.__file__)
    done = subprocess.run([sys.executable, program, "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "--minutes" in done.stdout, done.stderr
