"""A stack of headers as a user writes it in Scapy's notation: 'Ether()/Dot1Q(vlan=5)/IPv6()/UDP()'.

The text is read as a syntax tree of layers, '/' and literal values. It is never evaluated as code.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from keisoku.errors import PlanError
from keisoku.ground.frame import field as fields
from keisoku.ground.frame.layers import layer_class
from keisoku.ground.frame.rates import TAG_BYTES

ALIASES = {
    "ethernet": "Ether()",
    "ipv4": "Ether()/IP()/UDP()",
    "ipv6": "Ether()/IPv6()/UDP()",
    "mpls": "Ether()/MPLS(s=1)/IP()/UDP()",
}
"""Short names for the commonest stacks."""
TAGGED = ("Dot1Q(", "Dot1AD(")
"""How the layers of a VLAN tag begin."""

_WHERE = "headers"
_EXAMPLE = "write for example 'Ether()/Dot1Q(vlan=5)/IPv6()/UDP()'"
_MAX_CHARACTERS = 4000
_MAX_LAYERS = 64


def added_bytes(headers: object) -> int:
    """What the VLAN tags of a stack make a frame longer than the same one without them."""
    return TAG_BYTES * sum(str(headers).count(layer) for layer in TAGGED)


@dataclass(frozen=True)
class Stack:
    """Headers without addresses; `text` is their canonical form, `layers` their Scapy classes."""

    text: str
    tree: ast.expr = field(compare=False, repr=False)

    def packet(self) -> Any:
        """A new Scapy packet of these headers, without payload, that the caller may change."""
        layers = [_layer(call) for call in _calls(self.tree)]
        packet = layers[0]
        for layer in layers[1:]:
            packet = packet / layer
        return packet

    @property
    def user_fields(self) -> list[set[str]]:
        """Names of the fields that the user set, layer by layer; Scapy itself mixes some defaults with them."""
        return [
            {str(keyword.arg) for keyword in call.keywords} for call in _calls(self.tree) if isinstance(call, ast.Call)
        ]

    @property
    def tag_bytes(self) -> int:
        """Of an outer 802.1Q tag, which an interface's MTU does not count (Linux: `VLAN_HLEN`); 0 without one."""
        calls = [call for call in _calls(self.tree) if isinstance(call, ast.Call)]
        tagged = len(calls) > 1 and isinstance(calls[1].func, ast.Name) and calls[1].func.id == "Dot1Q"
        return TAG_BYTES if tagged and "type" not in self.user_fields[0] else 0

    @property
    def ip_version(self) -> Literal[4, 6] | None:
        """IP version of the outermost IP header, which the first router goes by; None without any."""
        from scapy.layers.inet import IP
        from scapy.layers.inet6 import IPv6

        for layer in layers_of(self.packet()):
            if isinstance(layer, IP | IPv6):
                return 4 if isinstance(layer, IP) else 6
        return None


@lru_cache(maxsize=64)
def parse(text: str) -> Stack:
    """The stack that a text or a short name stands for. Raises PlanError if it is invalid."""
    written = ALIASES.get(text.strip(), text.strip())
    if len(written) > _MAX_CHARACTERS:
        raise PlanError(_WHERE, f"{len(written)} characters are too many", f"use at most {_MAX_CHARACTERS}")
    try:
        tree = ast.parse(written, mode="eval").body
        calls = _calls(tree)
        layers = [_layer(call) for call in calls]
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise PlanError(_WHERE, f"'{_short(text)}' is not a stack of layers", _EXAMPLE) from error
    if type(layers[0]).__name__ != "Ether":
        first = type(layers[0]).__name__
        raise PlanError(
            _WHERE, f"the stack begins with {first}, but a port sends Ethernet frames", "begin with Ether()"
        )
    stack = Stack("/".join(ast.unparse(call) for call in calls), tree)
    _check_in_place(stack)
    return stack


def layers_of(packet: Any) -> list[Any]:
    """The layers of a packet from the outermost, without what is below them."""
    from scapy.packet import NoPayload

    layers = []
    while not isinstance(packet, NoPayload):
        layers.append(packet)
        packet = packet.payload
    return layers


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"


def _calls(tree: ast.expr) -> list[ast.expr]:
    calls: list[ast.expr] = []
    while isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Div):
        calls.append(tree.right)
        tree = tree.left
    calls.append(tree)
    if len(calls) > _MAX_LAYERS:
        raise PlanError(_WHERE, f"{len(calls)} layers are too many", f"use at most {_MAX_LAYERS}")
    return calls[::-1]


def _layer(call: ast.expr) -> Any:
    written = _short(ast.unparse(call))
    if isinstance(call, ast.Name):
        raise PlanError(
            _WHERE, f"'{written}' is a name without parentheses", f"write {written}(), or one of {', '.join(ALIASES)}"
        )
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise PlanError(_WHERE, f"'{written}' is not a layer", _EXAMPLE)
    layer = layer_class(call.func.id)
    if call.args or any(keyword.arg is None for keyword in call.keywords):
        raise PlanError(_WHERE, f"'{written}' has a value without a name", "write each as name=value")
    blank = layer()
    values: dict[str, Any] = {}
    for keyword in call.keywords:
        name = str(keyword.arg)
        fields.named(_WHERE, blank, name)
        values[name] = _value(keyword.value)
    for name, value in values.items():
        # A field's meaning may depend on the others (ARP's addresses), so all are set when it is checked.
        fields.check(_WHERE, _with(layer, values, name, call), name, value)
    return _with(layer, values, None, call)


def _with(layer: Any, values: dict[str, Any], but: str | None, call: ast.expr) -> Any:
    plain = {name: value for name, value in values.items() if name != but}
    try:
        return layer(**plain)
    except Exception as error:
        # One of the others is wrong; its own check reports it more precisely.
        if but is not None:
            return layer()
        raise PlanError(_WHERE, f"Scapy cannot build {ast.unparse(call)}: {error}", "correct its values") from error


def _value(tree: ast.expr) -> Any:
    match tree:
        case ast.Constant(value=value) if not isinstance(value, complex) and value is not ...:
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return [_value(element) for element in elements]
        case ast.Call():  # an option inside a header: IP(options=[IPOption_Router_Alert()])
            return _layer(tree)
    raise PlanError(
        _WHERE,
        f"'{ast.unparse(tree)}' is no literal value",
        "use numbers, texts and lists of them, and --modify for values that vary",
    )


def _check_in_place(stack: Stack) -> None:
    """Refuses a value in a field that is absent because of the other values: it would never be sent."""
    from scapy.fields import ConditionalField

    for layer, given in zip(layers_of(stack.packet()), stack.user_fields, strict=True):
        for name in sorted(given):
            field = layer.get_field(name)
            if isinstance(field, ConditionalField) and not field._evalcond(layer):
                full = f"{type(layer).__name__}.{name}"
                raise PlanError(_WHERE, f"{full} does not occur in this header", "set the flag that enables it")
