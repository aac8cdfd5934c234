"""What the interface offers, as data: a path and a method, what goes in, what comes out, who answers.

Routes and the OpenAPI document are both made from these declarations, so neither can say what the other
does not do. An operation answers with one of its declared types; everything else is a `Refusal`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import msgspec

from mainstem.admin.errors import BAD_REQUEST, Refusal
from mainstem.admin.node import Node

OK: Final = 200
CREATED: Final = 201
NO_CONTENT: Final = 204

JSON: Final = "application/json"


class Parameter(NamedTuple):
    """Of the path or of the query; text unless it has bounds."""

    name: str
    description: str
    place: str = "query"
    minimum: int | None = None
    maximum: int | None = None
    default: str | None = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """One request, checked against the operation's declaration."""

    node: Node
    path: Mapping[str, str]
    query: Mapping[str, str]
    body: Any = None

    def number(self, parameter: Parameter) -> int:
        text = self.query.get(parameter.name, parameter.default or "")
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            raise _bad_parameter(parameter, text, "is not a whole number")
        value = int(text)
        if parameter.minimum is not None and value < parameter.minimum:
            raise _bad_parameter(parameter, text, f"is below {parameter.minimum}")
        if parameter.maximum is not None and value > parameter.maximum:
            raise _bad_parameter(parameter, text, f"is above {parameter.maximum}")
        return value

    def choice(self, parameter: Parameter) -> str:
        text = self.query.get(parameter.name, parameter.default or "")
        if text not in parameter.choices:
            raise _bad_parameter(parameter, text, f"is none of {', '.join(parameter.choices)}")
        return text


def _bad_parameter(parameter: Parameter, text: str, problem: str) -> Refusal:
    return Refusal(
        BAD_REQUEST, "bad_parameter", f"{parameter.name}={text!r} {problem}.", parameter.description
    )


@dataclass(frozen=True, slots=True)
class Answer:
    """`content` is encoded as JSON unless it is text, or comes as chunks of bytes."""

    content: msgspec.Struct | str | AsyncIterator[bytes] | Mapping[str, Any] | None
    status: int = OK
    location: str | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    method: str
    path: str  # {name} for one segment, {name:path} for the rest
    summary: str
    answer: Callable[[Call], Awaitable[Answer]]
    answers: Mapping[int, Any]  # status -> type of the JSON; None: no content
    media_type: str = JSON
    body: type[msgspec.Struct] | None = None
    parameters: tuple[Parameter, ...] = ()
    errors: tuple[int, ...] = field(default=())
    tag: str = "node"
