"""The OpenAPI 3.1 document of the REST interface, made from the table of calls and the annotations of the records."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

from docmind import __version__
from docmind.client import API, ARRAYS, CALLS, IMAGES, OBJECTS, UNIONS, Call, hints_of, is_box, is_text
from docmind.records.documents import HandedIn
from docmind.records.query import Query
from docmind.records.values import Address, Bounds, FileName, Tags, bounds_of

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
_RUN, _STREAM, _BINARY = "/runs/{run_id}/events", "text/event-stream", "application/octet-stream"


def document() -> dict[str, Any]:
    """Return the document, as JSON can represent it."""
    schemas: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    for call in CALLS:
        paths.setdefault(call.path, {})[call.verb.lower()] = _operation(call, schemas)
    queued = _answers("202", "application/json", schema_of(HandedIn, schemas))
    tags = schema_of(Tags, schemas)
    paths["/uploads"] = {
        "post": {
            "operationId": "upload",
            "parameters": [
                _parameter("name", "query", schema_of(FileName, schemas), is_required=True),
                _parameter("tags", "query", tags, is_required=False, is_json=True),
                _parameter("replace", "query", {"type": "boolean"}, is_required=False, is_json=True),
            ],
            "requestBody": _content(_BINARY, {}),
            "responses": queued,
        }
    }
    page = {
        "type": "object",
        "properties": {"address": schema_of(Address, schemas), "tags": tags, "replace": {"type": "boolean"}},
        "required": ["address"],
    }
    paths["/uploads/web"] = {
        "post": {
            "operationId": "upload_web_page",
            "requestBody": _content("application/json", page),
            "responses": queued,
        }
    }
    paths[_RUN] = {
        "get": {
            "operationId": "conversations.events",
            "parameters": [_parameter("run_id", "path", {"type": "string"}, is_required=True)],
            "responses": _answers("200", _STREAM, {"type": "string"}),
        }
    }
    texts = {name: {"type": "string"} for name in ("kind", "message", "hint")}
    error = {"type": "object", "properties": {**texts, "exit_code": {"type": "integer"}}}
    schemas["Error"] = {"type": "object", "properties": {"error": error}, "required": ["error"]}
    return {
        "openapi": "3.1.0",
        "info": {"title": "DocMind", "version": __version__},
        "servers": [{"url": f"/{API}"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _operation(call: Call, schemas: dict[str, Any]) -> dict[str, Any]:
    params = {name: kind for name, kind in call.given.items() if name != call.body}
    told = (
        {one.name: {"description": one.metadata["about"]} for one in dataclasses.fields(Query)}
        if call.asks is not None
        else {}
    )
    made: dict[str, Any] = {"operationId": call.name, "parameters": []}
    members: dict[str, Any] = {}
    for name, kind in params.items():
        schema, is_required = schema_of(kind, schemas) | told.get(name, {}), name in call.required
        if name in call.in_path or call.in_query:
            where = "path" if name in call.in_path else "query"
            made["parameters"].append(
                _parameter(name.lstrip("*"), where, schema, is_required=is_required, is_json=not is_text(kind))
            )
        else:
            members[name] = schema
    if call.body is not None:
        made["requestBody"] = _content(_BINARY, {})
    elif members:
        required = [name for name in call.required if name in members]
        schema = {"type": "object", "properties": members, "additionalProperties": False}
        made["requestBody"] = _content("application/json", schema | ({"required": required} if required else {}))
    if call.result is None:
        made["responses"] = {"204": {"description": "Done."}, "default": _failed()}
    elif call.result is bytes:
        made["responses"] = _answers("200", "image/webp" if call.name in IMAGES else _BINARY, {})
    else:
        made["responses"] = _answers("200", "application/json", schema_of(call.result, schemas))
    return made


def _parameter(
    name: str, where: str, schema: dict[str, Any], *, is_required: bool, is_json: bool = False
) -> dict[str, Any]:
    """Return a parameter; in a query, what is no text is written as JSON."""
    made: dict[str, Any] = {"name": name, "in": where, "required": is_required}
    if where == "query" and is_json:
        return made | {"content": {"application/json": {"schema": schema}}}
    return made | {"schema": schema}


def _content(kind: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"required": True, "content": {kind: {"schema": schema}}}


def _answers(status: str, kind: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {status: {"description": "The result.", "content": {kind: {"schema": schema}}}, "default": _failed()}


def _failed() -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Error"}
    return {"description": "What is wrong.", "content": {"application/json": {"schema": schema}}}


def schema_of(declared: Any, schemas: dict[str, Any], at: str = "#/components/schemas") -> dict[str, Any]:
    """Return the JSON schema of a type; those of records go into `schemas`, which lies `at` this place.

    A field's metadata may have `about`, a description.
    """
    declared, bounds = bounds_of(declared)
    if bounds:
        made = schema_of(declared, schemas, at)
        return made | {name: limit for one in bounds for name, limit in _limits(made, one).items()}
    origin, inner = get_origin(declared), get_args(declared)
    if declared in _PLAIN:
        return {"type": _PLAIN[declared]}
    if origin is Literal:
        return {"enum": list(inner)}
    if origin in UNIONS:
        return {"anyOf": [schema_of(kind, schemas, at) for kind in inner]}
    if is_box(declared):
        return {"type": "array", "prefixItems": [schema_of(kind, schemas, at) for kind in hints_of(declared).values()]}
    if dataclasses.is_dataclass(declared):
        name = declared.__name__  # type: ignore[union-attr]
        if name not in schemas:
            schemas[name] = {}  # it may hold itself
            members = {one: schema_of(kind, schemas, at) for one, kind in hints_of(declared).items()}  # type: ignore[arg-type]
            for one in dataclasses.fields(declared):
                if one.name in members and "about" in one.metadata:
                    members[one.name] |= {"description": one.metadata["about"]}
            schemas[name] = {"type": "object", "properties": members, "required": list(members)}
        return {"$ref": f"{at}/{name}"}
    if origin in OBJECTS:
        return {"type": "object", "additionalProperties": schema_of(inner[1], schemas, at)}
    if origin in ARRAYS:
        if origin is tuple and inner[1:] != (Ellipsis,):
            return {"type": "array", "prefixItems": [schema_of(kind, schemas, at) for kind in inner]}
        return {"type": "array", "items": schema_of(inner[0], schemas, at)}
    raise TypeError(f"{declared} has no JSON form")


_LIMITS = {
    "integer": ("minimum", "maximum"), "number": ("minimum", "maximum"), "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"), "object": ("minProperties", "maxProperties"),
}  # fmt: skip


def _limits(schema: Mapping[str, Any], bounds: Bounds) -> dict[str, float]:
    names = _LIMITS[schema.get("type", "array" if "prefixItems" in schema else "object")]
    limits = ((name, limit) for name, limit in zip(names, (bounds.least, bounds.most), strict=True))
    return {name: limit for name, limit in limits if limit is not None}
