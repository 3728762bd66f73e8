"""Tokens and ownership, without a server and without a clock."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisoku.errors import PlanError
from keisoku.faces.otg.control.access import Ownership, Tokens
from keisoku.faces.service.configured import OWNER_S

ALICE, BOB = "a" * 16, "b" * 20
TOKENS = Tokens.parse(f"# who may\nalice:{ALICE}\n\nbob:{BOB}\n")


def basic(user: str, token: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{token}".encode()).decode()


def test_a_token_comes_as_a_password_or_as_a_bearer() -> None:
    assert TOKENS.name(basic("alice", ALICE)) == "alice"
    assert TOKENS.name(f"Bearer {BOB}") == "bob"
    assert TOKENS.name(basic("bob", ALICE)) is None
    assert TOKENS.name(None) is None


@given(st.text(max_size=40))
def test_nothing_else_is_let_in(header: str) -> None:
    assert TOKENS.name(header) is None
    assert TOKENS.name(f"Basic {header}") is None
    assert TOKENS.name(f"Bearer {header}") is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no token"),
        ("alice", "line 1 is not NAME:TOKEN"),
        ("\nalice:short", "the token of alice is shorter"),
        (f"a:{ALICE}\na:{BOB}", "a has two tokens"),
    ],
)
def test_a_file_without_good_tokens_is_refused(text: str, problem: str) -> None:
    with pytest.raises(PlanError, match=problem):
        Tokens.parse(text)


def test_one_controller_owns_the_ports() -> None:
    ownership = Ownership()
    ownership.check("alice", 0.0, traffic=False)
    ownership.changed("alice", 0.0, ports=True)
    ownership.check("alice", 1.0, traffic=True)
    with pytest.raises(PlanError, match="belong to alice, whose last request was 1 s ago"):
        ownership.check("bob", 1.0, traffic=False)
    ownership.changed("alice", 2.0, ports=False)
    ownership.check("bob", 2.0, traffic=False)


def test_who_falls_silent_loses_them_but_not_while_traffic_runs() -> None:
    ownership = Ownership()
    ownership.changed("alice", 0.0, ports=True)
    ownership.note_request("bob", 50.0)
    ownership.note_request("alice", 100.0)
    with pytest.raises(PlanError):
        ownership.check("bob", 99.0 + OWNER_S, traffic=False)
    with pytest.raises(PlanError):
        ownership.check("bob", 101.0 + OWNER_S, traffic=True)
    ownership.check("bob", 101.0 + OWNER_S, traffic=False)
