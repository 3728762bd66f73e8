"""What was found of a line's NAT or firewall, as rows and in words. It does no I/O."""

from __future__ import annotations

from dataclasses import dataclass

from keisoku.ground.report import digits
from keisoku.ground.run.result import Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase
from keisoku.subjects.path.nat.behaviour import LEAST_NS, Behaviour, Dependence, Ports, Timeout

NAT, KEPT = phrase("NAT"), phrase("Binding of UDP")
ANSWERED, UNANSWERED = phrase("with answers"), phrase("without an answer")
DEPENDENCE: dict[Dependence, str] = {
    "independent": phrase("endpoint-independent"),
    "address": phrase("address-dependent"),
    "address-and-port": phrase("address- and port-dependent"),
    "not-port": phrase("endpoint-independent or address-dependent"),
    "varies": phrase("not the same for every binding"),
}
"""In the words of RFC 4787; what is unknown has none."""
MEANS: dict[Dependence, str] = {
    "independent": phrase("one outer port for all destinations (RFC 4787 REQ-1)"),
    "address": phrase("another outer port for each address, against RFC 4787 REQ-1"),
    "address-and-port": phrase(
        "another outer port for each destination, against RFC 4787 REQ-1; connections between peers may need a relay"
    ),
}
LETS_IN: dict[Dependence, str] = {
    "independent": phrase("lets in what anybody sends to an open port"),
    "address": phrase("lets in what an address sends that was sent to"),
    "address-and-port": phrase("lets in what an address and port sends that was sent to"),
}
ONE_ADDRESS = phrase(
    "which of the two is not known from one address of the far end ('keisoku stream serve --other-address')"
)
PORTS: dict[Ports, str] = {
    "preserved": phrase("the same outside"),
    "changed": phrase("changed"),
    "some": phrase("the same outside for some bindings, changed for others"),
}


@dataclass(frozen=True)
class Nat:
    """What both ends know of it."""

    found: Behaviour
    from_elsewhere: int = 0
    """Number of datagrams that reached the far end from another address than the connection over TCP."""


def nat_rows(nat: Nat) -> list[Row]:
    """Its kind in words, and how long it keeps a binding."""
    found, said = nat.found, [(phrase("kind"), _kind(nat))]
    if found.translation == "address":
        said.append((phrase("mapping"), _explained(found.mapping, MEANS)))
        said.append((phrase("ports"), PORTS.get(found.ports, "")))
        said.append((phrase("outer address"), _addresses(nat)))
        if found.hairpins is not None:
            said.append((phrase("hairpinning"), _hairpins(found.hairpins)))
    if found.translation in ("address", "firewall"):
        said.append((phrase("filtering"), _explained(found.filtering, LETS_IN)))
    rows = [Row(case=case, figures={}, group=NAT, remark=text) for case, text in said if text]
    return rows + [
        Row(case=case, figures={"timeout": timeout.quantity}, group=KEPT, remark=_judged(timeout))
        for case, timeout in _timeouts(found)
    ]


def nat_sentences(nat: Nat) -> list[str]:
    """For somebody who reads nothing else."""
    found, said = nat.found, [sentence(_kind(nat))]
    if found.translation == "address" and found.mapping in DEPENDENCE and found.filtering in DEPENDENCE:
        said.append(
            phrase(
                "Its mapping of UDP is {mapping}, its filtering {filtering}.",
                mapping=DEPENDENCE[found.mapping],
                filtering=DEPENDENCE[found.filtering],
            )
        )
    for case, timeout in _timeouts(found):
        said.append(phrase("An idle binding of UDP {case} is kept {time}.", case=case, time=kept_text(timeout)))
    return said


def sentence(text: str) -> str:
    """As one of its own."""
    return phrase("UDP: {text}.", text=text)


def kept_text(timeout: Timeout) -> str:
    """'between 28.9 s and 31.1 s': each end is rounded away from the other."""
    quantity = timeout.quantity
    if quantity.bound or timeout.open_ns is None or timeout.closed_ns is None:
        return digits.text(quantity)
    lower = digits.digits(Quantity(value=timeout.open_ns, unit="ns", bound="at least"))
    upper = digits.digits(Quantity(value=timeout.closed_ns, unit="ns", bound="at most"))
    ends = {name: f"{end.value} {end.unit}" for name, end in (("lower", lower), ("upper", upper))}
    return phrase("between {lower} and {upper}", **ends)


def _kind(nat: Nat) -> str:
    match nat.found.translation:
        case "address":
            return phrase("a NAT translates addresses")
        case "firewall":
            return phrase("no NAT, but a firewall lets in answers only")
        case "none":
            return phrase("neither a NAT nor a firewall that keeps state")
    if nat.from_elsewhere and not nat.found.bindings:
        return phrase(
            "a NAT gives UDP another outer address than TCP, which RFC 4787 REQ-2 advises against; the far end answers "
            "the one of TCP only"
        )
    if not nat.found.bindings:
        return phrase("no answer to any datagram, so whether there is a NAT is not known")
    return phrase("no NAT; whether there is a firewall is not known")


def _explained(one: Dependence, means: dict[Dependence, str]) -> str:
    meaning = ONE_ADDRESS if one == "not-port" else means.get(one, "")
    return join_texts("; ", [part for part in (DEPENDENCE.get(one, ""), meaning) if part])


def _addresses(nat: Nat) -> str:
    known = ", ".join(nat.found.addresses)
    if nat.from_elsewhere:
        return phrase(
            "{known}; UDP also leaves from other addresses, which RFC 4787 REQ-2 advises against", known=known
        )
    return known


def _hairpins(reaches: bool) -> str:
    if reaches:
        return phrase("hosts behind it reach each other by its outer address")
    return phrase("hosts behind it do not reach each other by its outer address, against RFC 4787 REQ-9")


def _timeouts(found: Behaviour) -> list[tuple[str, Timeout]]:
    if found.translation not in ("address", "firewall"):
        return []
    both = (ANSWERED, found.answered), (UNANSWERED, found.unanswered)
    return [(case, timeout) for case, timeout in both if timeout is not None]


def _judged(timeout: Timeout) -> str:
    parts = []
    if timeout.differs:
        parts.append(phrase("not the same for every binding"))
    if timeout.closed_ns is not None and timeout.closed_ns < LEAST_NS:
        parts.append(phrase("shorter than the two minutes of RFC 4787 REQ-5"))
    elif timeout.open_ns is not None and timeout.open_ns >= LEAST_NS:
        parts.append(phrase("not shorter than the two minutes of RFC 4787 REQ-5"))
    else:
        parts.append(phrase("two minutes, which RFC 4787 REQ-5 wants, were not waited for"))
    return join_texts("; ", parts)
