"""One field of a Scapy layer: its possible values, as numbers and as text. Builds no frame.

Values are checked here because Scapy truncates a number that is too large, resolves names over the network and takes
a list for many packets.
"""

from __future__ import annotations

import difflib
import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, Literal

from keisoku.errors import PlanError

Kind = Literal["number", "MAC", "IPv4", "IPv6"]
_EXAMPLES: dict[Kind, str] = {
    "number": "1024",
    "MAC": "02:00:00:00:00:01",
    "IPv4": "198.18.0.1",
    "IPv6": "2001:2:0:1::1",
}
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}", re.IGNORECASE)


def named(where: str, layer: Any, name: str) -> Any:
    """The field of a layer. Raises PlanError with the nearest name; `where` is the option."""
    known = [str(field.name) for field in layer.fields_desc]
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
        remedy = f"did you mean {close[0]}?" if close else f"it has {', '.join(known) or 'none'}"
        raise PlanError(where, f"{type(layer).__name__} has no field '{name}'", remedy)
    return layer.get_field(name)


def plain(field: Any, layer: Any) -> Any:
    """The field inside Scapy's conditions, marks of emphasis and choices."""
    while True:
        if hasattr(field, "_find_fld_pkt"):
            field = field._find_fld_pkt(layer)
        elif hasattr(field, "fld"):
            field = field.fld
        else:
            return field


def kind(field: Any) -> Kind | None:
    """Kind of a field's values; None if neither number nor address."""
    from scapy.fields import Field, IP6Field, IPField, LEMACField, MACField

    if isinstance(field, LEMACField) or getattr(field, "islist", False):
        return None
    for of, meaning in ((MACField, "MAC"), (IPField, "IPv4"), (IP6Field, "IPv6")):
        if isinstance(field, of):
            return meaning  # type: ignore[return-value]
    is_number = _is_bits(field) or (isinstance(field, Field) and str(field.fmt)[-1:] in "BHIQ")
    return "number" if is_number else None


def width_bits(field: Any, layer: Any) -> int:
    """Bits that a number or an address occupies."""
    if _is_bits(field):
        return int(field.size)
    # Not `field.sz`: that is 4 for a field of three bytes.
    zero = of_number(field, 0)
    return 8 * len(field.addfield(layer, b"", field.any2i(layer, zero)))


def of_number(field: Any, number: int) -> Any:
    """A number as Scapy takes it for this field: a MAC or IP address as text."""
    match kind(field):
        case "MAC":
            return number.to_bytes(6, "big").hex(":")
        case "IPv4":
            return str(IPv4Address(number))
        case "IPv6":
            return str(IPv6Address(number))
        case _:
            return number


def number(where: str, meaning: Kind, text: str) -> int:
    """A value as a user writes it, as a number. Raises PlanError naming the option `where`."""
    try:
        match meaning:
            case "MAC":
                return int.from_bytes(bytes.fromhex(mac(text).replace(":", "")), "big")
            case "IPv4":
                return int(IPv4Address(text))
            case "IPv6":
                return int(IPv6Address(text))
            case _:
                return int(text, 0)
    except ValueError as error:
        what = "number" if meaning == "number" else f"{meaning} address"
        raise PlanError(where, f"'{text}' is no {what}", f"write it as {_EXAMPLES[meaning]}") from error


def mac(text: str) -> str:
    """A MAC address with colons; raises ValueError otherwise."""
    if not _MAC.fullmatch(text):
        raise ValueError(f"'{text}' is not a MAC address")
    return text


def check(where: str, layer: Any, name: str, value: Any) -> None:
    """Raises PlanError if Scapy would not carry exactly this value in this field."""
    if value is None:  # Scapy fills the field
        return
    described = named(where, layer, name)
    field = plain(described, layer)
    full = f"{type(layer).__name__}.{name}"
    try:
        for choice, _ in getattr(described, "flds", ()):
            if kind(choice) in ("IPv4", "IPv6"):
                ip_address(value)
        _check_value(field, layer, value)
    except Exception as error:  # Scapy's fields may raise any exception
        remedy = _remedy(field, layer)
        if isinstance(value, list | tuple) and not getattr(field, "islist", False):
            remedy = f"give one value, and --modify '{full}=list(…)' to vary it"
        raise PlanError(where, f"{value!r} is no value for {full}", remedy) from error


def _check_value(field: Any, layer: Any, value: Any) -> None:
    from scapy.fields import IP6Field, IPField

    if isinstance(value, list | tuple) and not getattr(field, "islist", False):
        raise TypeError("a list would mean many packets")
    # Addresses first, here and before: Scapy would look a name up over the network.
    elements = value if isinstance(value, list | tuple) else [value]
    inner = getattr(field, "field", None)
    for element in elements:
        if isinstance(field, IPField) or isinstance(inner, IPField):
            IPv4Address(str(element))
        is_ipv6 = isinstance(field, IP6Field) or isinstance(inner, IP6Field) or type(field).__name__ == "IP6ListField"
        if is_ipv6 and IPv6Address(str(element)).scope_id is not None:
            raise ValueError("a frame cannot contain the scope of an address")
    if kind(field) == "MAC":
        mac(str(value))
    internal = field.any2i(layer, value)
    if _is_bits(field):
        if not 0 <= int(internal) < 1 << field.size:
            raise ValueError("it does not fit")
        return
    data = field.addfield(layer, b"", internal)
    # Three-byte fields truncate what is too large.
    if isinstance(internal, int) and int(field.getfield(layer, data)[1]) != internal:
        raise ValueError("it does not fit")


def _remedy(field: Any, layer: Any) -> str:
    meaning = kind(field)
    if meaning == "number":
        return f"use 0 to {(1 << width_bits(field, layer)) - 1}"
    return "correct this value" if meaning is None else f"write it as {_EXAMPLES[meaning]}"


def _is_bits(field: Any) -> bool:
    from scapy.fields import _BitField

    return isinstance(field, _BitField)
