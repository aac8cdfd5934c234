"""The OpenAPI document, from the declarations of the operations and nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from mainstem import __version__
from mainstem.admin.errors import BAD_REQUEST, INTERNAL, TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, ErrorAnswer
from mainstem.admin.operations import JSON, Operation, Parameter

_REFERENCES: Final = "#/components/schemas/{name}"
_BODY_ERRORS: Final = (BAD_REQUEST, TOO_LARGE, UNSUPPORTED_MEDIA_TYPE)
_MEANINGS: Final[Mapping[int, str]] = {
    200: "Done",
    201: "Created",
    204: "Done; no content",
    400: "The request is not well formed, or asks for what cannot be",
    404: "There is no such thing",
    409: "The present state does not allow it",
    413: "The body is too large",
    415: "The body is not JSON",
    500: "A defect of the broker",
    503: "Not at this moment",
}


def document(operations: Sequence[Operation]) -> dict[str, Any]:
    types = _types(operations)
    schemas, components = msgspec.json.schema_components(types, ref_template=_REFERENCES)
    by_type = dict(zip(types, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        path = re.sub(r"{(\w+):path}", r"{\1}", operation.path)
        paths.setdefault(path, {})[operation.method.lower()] = _operation(operation, by_type)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Mainstem admin interface",
            "version": __version__,
            "description": "Metrics, health and administration of one Mainstem node. "
            "What answers GET answers HEAD as well, without content.",
        },
        "paths": paths,
        "components": {"schemas": components},
    }


def _types(operations: Sequence[Operation]) -> list[Any]:
    found: dict[Any, None] = {ErrorAnswer: None}
    for operation in operations:
        for answer in operation.answers.values():
            if answer is not None:
                found[answer] = None
        if operation.body is not None:
            found[operation.body] = None
    return list(found)


def _operation(operation: Operation, by_type: Mapping[Any, Any]) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    for status, answer in operation.answers.items():
        content = None if answer is None else {operation.media_type: {"schema": by_type[answer]}}
        answers[str(status)] = _response(status, content)
    error = {JSON: {"schema": by_type[ErrorAnswer]}}
    for status in sorted({*operation.errors, *(_BODY_ERRORS if operation.body else ()), INTERNAL}):
        answers.setdefault(str(status), _response(status, error))
    answers["default"] = {"description": "Any other refusal", "content": error}
    described: dict[str, Any] = {
        "operationId": operation.answer.__name__,
        "summary": operation.summary,
        "tags": [operation.tag],
        "responses": answers,
    }
    if operation.parameters:
        described["parameters"] = [_parameter(each) for each in operation.parameters]
    if operation.body is not None:
        described["requestBody"] = {
            "required": True,
            "content": {JSON: {"schema": by_type[operation.body]}},
        }
    return described


def _response(status: int, content: dict[str, Any] | None) -> dict[str, Any]:
    response: dict[str, Any] = {"description": _MEANINGS[status]}
    if content is not None:
        response["content"] = content
    return response


def _parameter(parameter: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    if parameter.minimum is not None or parameter.maximum is not None:
        schema = {"type": "integer", "minimum": parameter.minimum, "maximum": parameter.maximum}
        if parameter.default is not None:
            schema["default"] = int(parameter.default)
    else:
        if parameter.choices:
            schema["enum"] = list(parameter.choices)
        if parameter.default is not None:
            schema["default"] = parameter.default
    return {
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.place == "path",
        "description": parameter.description,
        "schema": schema,
    }
