"""Changes of a part of an OTG configuration, as a new whole document, which `configuration` then reads.

A change never alters the given document.
"""

from __future__ import annotations

import copy
from typing import Any

from keisoku.errors import PlanError

Document = dict[str, Any]


def updated(document: Document, change: Document) -> Document:
    """`PATCH /config`: the named properties (rate, size) of some flows. Other properties of those flows are
    not changed, even if they are in the request: this is the meaning of OTG's `property_names`.

    Raises PlanError for a change of anything but flows.
    """
    _only(change, "config_update", {"choice", "flows"})
    flows = change.get("flows")
    if change.get("choice", "flows") != "flows" or flows is None:
        raise PlanError("config_update.choice", "only flows can be updated", "use flows")
    _only(flows, "config_update.flows", {"property_names", "flows"})
    new = copy.deepcopy(document)
    known = _by_name(new)
    for place, flow in enumerate(flows["flows"]):
        own = _named(known, flow["name"], f"config_update.flows.flows[{place}].name")
        for name in flows["property_names"]:
            if flow.get(name) is None:
                own.pop(name, None)
            else:
                own[name] = copy.deepcopy(flow[name])
    return new


def appended(document: Document, change: Document) -> Document:
    """`PATCH /config/append`: more flows."""
    _only(change, "config_append", {"config_append_list"})
    new = copy.deepcopy(document)
    for place, resources in enumerate(change.get("config_append_list") or []):
        _only(resources, f"config_append_list[{place}]", {"choice", "flows"})
        new.setdefault("flows", []).extend(copy.deepcopy(resources.get("flows") or []))
    return new


def deleted(document: Document, change: Document) -> Document:
    """`PATCH /config/delete`: fewer flows, by name."""
    _only(change, "config_delete", {"config_delete_list"})
    new = copy.deepcopy(document)
    for place, resources in enumerate(change.get("config_delete_list") or []):
        path = f"config_delete_list[{place}]"
        _only(resources, path, {"choice", "flows"})
        known = _by_name(new)
        gone = [_named(known, name, f"{path}.flows") for name in resources.get("flows") or []]
        new["flows"] = [flow for flow in new.get("flows") or [] if flow not in gone]
    return new


def _by_name(document: Document) -> dict[str, Document]:
    return {flow["name"]: flow for flow in document.get("flows") or []}


def _named(known: dict[str, Document], name: str, path: str) -> Document:
    if name not in known:
        raise PlanError(path, f"there is no flow {name}", "name one of the configuration")
    return known[name]


def _only(given: Document, path: str, fields: set[str]) -> None:
    other = next((name for name in given if name not in fields and given[name] is not None), None)
    if other is not None:
        raise PlanError(f"{path}.{other}", "is not supported by keisoku", "leave it out")
