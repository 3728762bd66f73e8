"""OTG's OpenAPI document as far as snappi's model classes tell of it, narrowed to values that lead somewhere.

OTG's own is 1.9 MB and in no package; what snappi's classes know of a field (type, format, limits, alternatives) is
the same. Ports, names and rates are drawn from short lists, for of random ones hardly any would pass the first check.
"""

from __future__ import annotations

from typing import Any

import snappi.snappi as model

_PATHS = {
    ("post", "/config"): "Config",
    ("get", "/config"): None,
    ("patch", "/config"): "ConfigUpdate",
    ("patch", "/config/append"): "ConfigAppend",
    ("patch", "/config/delete"): "ConfigDelete",
    ("post", "/control/state"): "ControlState",
    ("post", "/control/action"): "ControlAction",
    ("post", "/monitor/metrics"): "MetricsRequest",
    ("post", "/monitor/states"): "StatesRequest",
    ("post", "/monitor/capture"): "CaptureRequest",
    ("get", "/capabilities/version"): None,
}
_DEEP = {"Lag", "DeviceBgpRouter", "DeviceIsisRouter", "LldpInterface", "StatefulFlow", "EgressOnlyTracking", "Event"}
_KNOWN = {"ethernet", "vlan", "ipv4", "ipv6", "udp", "icmp", "custom"}
_DEEP |= {told["type"] for name, told in model.FlowHeader._TYPES.items() if name not in _KNOWN | {"choice"}}
"""Models that are left empty: what the server refuses whatever is in it, and headers that are built like the others.
OTG's own document has them all."""
_LIKELY: dict[str, list[Any]] = {
    "location": ["sim:gs908e#1", "sim:gs908e#2", "sim:gs908e#9", "sim:nothing#1", "nowhere"],
    "name": ["p1", "p2", "f1", "f2", "d1"],
    "tx_name": ["p1", "p2"],
    "port_name": ["p1", "p2", "p3"],
    "rx_names": ["p1", "p2"],
    "tx_names": ["p1", "d1"],
    "port_names": ["p1", "p2"],
    "flow_names": ["f1", "f2"],
    "pps": ["1", "1000", 0, 10**7],
    "packets": [1, 10, 1000],
    "fixed": [63, 64, 128, 1518, 20_000],
}
_FORMATS = {
    "mac": "^([0-9a-f]{2}:){5}[0-9a-f]{2}$",
    "ipv4": r"^198\.1[89]\.[0-9]{1,2}\.[0-9]{1,2}$",
    "ipv6": "^2001:2::[0-9a-f]{1,4}$",
    "hex": "^[0-9a-f]{2,16}$",
}


def document() -> dict[str, Any]:
    """OpenAPI 3.1."""
    schemas: dict[str, Any] = {}
    paths: dict[str, dict[str, Any]] = {}
    answers = {"200": {"description": "done"}, "400": {"description": "refused"}}
    for (method, path), kind in _PATHS.items():
        operation: dict[str, Any] = {"operationId": f"{method}{path.replace('/', '_')}", "responses": answers}
        if kind is not None:
            _add(kind, schemas)
            content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{kind}"}}}
            operation["requestBody"] = {"required": True, "content": content}
        paths.setdefault(path, {})[method] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "OTG", "version": "1"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _add(kind: str, schemas: dict[str, Any]) -> None:
    if kind in schemas:
        return
    schemas[kind] = {"type": "object"}
    if kind in _DEEP:
        return
    known = getattr(model, kind)
    properties = {name: _field(name, told, schemas) for name, told in known._TYPES.items()}
    schemas[kind] |= {"properties": properties, "required": list(known._REQUIRED), "additionalProperties": False}


def _field(name: str, told: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    kind = told["type"]
    if isinstance(kind, str):
        one = kind.removesuffix("Iter")
        _add(one, schemas)
        reference = {"$ref": f"#/components/schemas/{one}"}
        return reference if one == kind else {"type": "array", "items": reference, "maxItems": 3}
    if kind is list:
        items = {"enum": _LIKELY[name]} if name in _LIKELY else _scalar(told.get("itemtype", str), told, "itemformat")
        return {"type": "array", "items": items, "maxItems": 4}
    if name in _LIKELY:
        return {"enum": _LIKELY[name]}
    return _scalar(kind, told, "format")


def _scalar(kind: type, told: dict[str, Any], of: str) -> dict[str, Any]:
    if "enum" in told:
        return {"enum": told["enum"]}
    if kind is bool:
        return {"type": "boolean"}
    if kind in (int, float):
        limits = {name: told[name] for name in ("minimum", "maximum") if told.get(name) is not None}
        return {"type": "integer" if kind is int else "number", **limits}
    pattern = _FORMATS.get(str(told.get(of, "")))
    return {"type": "string", **({"pattern": pattern} if pattern else {})}


def holds(document: Any, path: str) -> bool:
    """Whether the path of a refusal leads to a part of a configuration, which the document or the model has."""
    kind: Any = model.Config
    for step in path.replace("[", ".[").split("."):
        if step.startswith("["):
            document = document[int(step[1:-1])] if isinstance(document, list) else None
            continue
        told = getattr(kind, "_TYPES", {}).get(step)
        if told is None:
            return isinstance(document, dict) and step in document and path.endswith(step)
        document = document.get(step) if isinstance(document, dict) else None
        kind = getattr(model, told["type"].removesuffix("Iter")) if isinstance(told["type"], str) else None
    return True
