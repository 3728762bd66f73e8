"""The gateways of the tester's hosts, asked for together: one that is absent takes seconds. Changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from keisoku.errors import EngineError
from keisoku.faces.otg.device.device import Address

_AT_ONCE = 64


@dataclass(frozen=True)
class GatewayQuestion:
    """An address of an interface, and what asks for the MAC address of its gateway."""

    interface: str
    address: Address
    ask: Callable[[], str | None] | None
    """Returns None where nobody needs to be asked, raises EngineError without an answer; None: nobody can ask now."""


def neighbour_states(questions: Sequence[GatewayQuestion]) -> list[dict[str, Any]]:
    """OTG's states of these neighbours, in their order; those that do not answer have no MAC address."""
    return [_state(question, mac) for question, mac in zip(questions, macs(questions), strict=True)]


def macs(questions: Sequence[GatewayQuestion]) -> list[str | None]:
    """The MAC addresses of these neighbours, in their order; None for those that do not answer or are not asked."""
    if not questions:
        return []
    with ThreadPoolExecutor(min(len(questions), _AT_ONCE), "keisoku-gateways") as pool:
        return list(pool.map(_mac, questions))


def _mac(question: GatewayQuestion) -> str | None:
    with suppress(EngineError):
        return None if question.ask is None else question.ask()
    return None


def _state(question: GatewayQuestion, mac: str | None) -> dict[str, Any]:
    state = {"ethernet_name": question.interface, f"ipv{question.address.version}_address": question.address.gateway}
    return state if mac is None else state | {"link_layer_address": mac}
