"""The OpenAPI document of keisoku's own paths, made from the table of operations and their types."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from pydantic import BaseModel, TypeAdapter

from keisoku import __version__
from keisoku.faces.service.document import Problem
from keisoku.faces.service.operation import BASE, OPERATIONS, Operation

_PROBLEMS = {
    400: "What is wrong with the request",
    401: "No token that is known",
    403: "No key of this server",
    404: "There is no such run",
    409: "The ports are in use",
}
_JSON = "application/json"


@cache
def openapi() -> dict[str, Any]:
    """OpenAPI 3.1, whose schemas are JSON Schema 2020-12 as pydantic writes them."""
    types: list[Any] = []
    for operation in OPERATIONS:
        types += [kind for kind in (operation.answer, operation.body) if kind not in (None, str)]
    adapters = [(number, "validation", TypeAdapter(kind)) for number, kind in enumerate([*types, Problem])]
    schemas, shared = TypeAdapter.json_schemas(adapters, ref_template="#/components/schemas/{model}")  # type: ignore[arg-type]
    known = {repr(kind): schemas[number, "validation"] for number, kind in enumerate([*types, Problem])}
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(BASE + operation.path, {})[operation.method.lower()] = _described(operation, known)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "keisoku",
            "version": __version__,
            "description": "Runs of methods, and results of traffic that the Open Traffic Generator API does not have.",
        },
        "paths": paths,
        "components": {
            "schemas": shared.get("$defs", {}),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "named": {"type": "http", "scheme": "basic"},
            },
        },
        "security": [{}, {"token": []}, {"named": []}],
    }


def _described(operation: Operation, known: dict[str, Any]) -> dict[str, Any]:
    media = {"text/html": {"schema": {"type": "string"}}}
    if operation.answer is not str:
        media = {_JSON: {"schema": known[repr(operation.answer)]}}
    answers: dict[str, Any] = {str(operation.status): {"description": operation.summary, "content": media}}
    for code, text in _PROBLEMS.items():
        if (code != 404 or "{run}" in operation.path) and (code not in (403, 409) or operation.changes):
            answers[str(code)] = {"description": text, "content": {_JSON: {"schema": known[repr(Problem)]}}}
    found: dict[str, Any] = {"operationId": operation.name, "summary": operation.summary, "responses": answers}
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in re.findall(r"{(\w+)}", operation.path)
    ]
    if operation.query is not None:
        parameters += _query(operation.query)
    if operation.changes:
        found["security"] = [{"token": []}, {"named": []}]
    if parameters:
        found["parameters"] = parameters
    if operation.body is not None:
        found["requestBody"] = {"required": True, "content": {_JSON: {"schema": known[repr(operation.body)]}}}
    return found


def _query(kind: type[BaseModel]) -> list[dict[str, Any]]:
    properties = kind.model_json_schema()["properties"]
    return [
        {
            "name": name,
            "in": "query",
            "required": False,
            "description": schema.pop("description", ""),
            "schema": schema,
        }
        for name, schema in properties.items()
    ]
